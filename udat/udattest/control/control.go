// Code generated from scripts/vm/control; DO NOT EDIT.

// Package control lets a program in the test bed disturb the machines of its run: their links, the packets, the
// machines themselves. It works only there, with several machines: testbed --machines.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Rank gives the rank of this machine, and Peers the addresses of all by rank. They fail elsewhere than in the test bed.
func Rank() (int, error) {
	rank, err := strconv.Atoi(os.Getenv("UDAT_TEST_RANK"))
	if err != nil {
		return 0, errors.New("there is no rank: start the program with testbed --machines")
	}
	return rank, nil
}

func Peers() ([]netip.Addr, error) {
	var peers []netip.Addr
	for text := range strings.SplitSeq(os.Getenv("UDAT_TEST_PEERS"), ",") {
		peer, err := netip.ParseAddr(text)
		if err != nil {
			return nil, errors.New("there are no peers: start the program with testbed --machines")
		}
		peers = append(peers, peer)
	}
	return peers, nil
}

// Cut loses what a machine sends and what is sent to it from now on, until Restore.
func Cut(ctx context.Context, rank int) error { return disturb(ctx, VerbCut, rank) }

// Restore ends a Cut.
func Restore(ctx context.Context, rank int) error { return disturb(ctx, VerbRestore, rank) }

// Pause lets a machine stand still until Resume. Its clock stands still, too. A machine that pauses itself does not hear
// of it: another one has to resume it.
func Pause(ctx context.Context, rank int) error { return disturb(ctx, VerbPause, rank) }

// Resume ends a Pause.
func Resume(ctx context.Context, rank int) error { return disturb(ctx, VerbResume, rank) }

// Kill ends a machine as a power failure does. Its exit code counts no more.
func Kill(ctx context.Context, rank int) error { return disturb(ctx, VerbKill, rank) }

func disturb(ctx context.Context, verb Verb, rank int) error {
	_, err := ask(ctx, Request{Verb: verb, Rank: rank})
	return err
}

// Meet waits until the machines of the given ranks, or all if none is given, have called it with this name, each once, and
// gives the values of all by rank. It does not need the  A machine that has ended, or was killed, is not waited for;
// its value is empty.
func Meet(ctx context.Context, name, value string, ranks ...int) ([]string, error) {
	reply, err := ask(ctx, Request{Verb: VerbMeet, Name: name, Value: value, Among: ranks})
	return reply.Values, err
}

func ask(ctx context.Context, request Request) (Reply, error) {
	fail := func(err error) (Reply, error) {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Reply{}, fmt.Errorf("ask the test bed to %s: %w", request.Verb, err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", Socket)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fail(err)
	}
	answer, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return fail(err)
	}
	var reply Reply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return fail(err)
	}
	if reply.Error != "" {
		return fail(errors.New(reply.Error))
	}
	return reply, nil
}
