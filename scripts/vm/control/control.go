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

// Rank returns the rank of this machine, and Peers returns the addresses of all, by rank. They fail outside of the test
// bed.
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

// Cut drops everything that a machine sends and everything sent to it, until Restore.
func Cut(ctx context.Context, rank int) error { return disturb(ctx, VerbCut, rank) }

// Restore ends a Cut.
func Restore(ctx context.Context, rank int) error { return disturb(ctx, VerbRestore, rank) }

// Pause stops a machine until Resume. Its clock stops, too. A machine that pauses itself does not notice: another one
// has to resume it.
func Pause(ctx context.Context, rank int) error { return disturb(ctx, VerbPause, rank) }

// Resume ends a Pause.
func Resume(ctx context.Context, rank int) error { return disturb(ctx, VerbResume, rank) }

// Kill ends a machine as a power failure does. Its exit code no longer counts.
func Kill(ctx context.Context, rank int) error { return disturb(ctx, VerbKill, rank) }

func disturb(ctx context.Context, verb Verb, rank int) error {
	_, err := ask(ctx, Request{Verb: verb, Rank: rank})
	return err
}

// Meet waits until the machines of the given ranks, or all if none are given, have called it with this name, each once.
// It returns the values of all, by rank. It works without the network. It does not wait for a machine that has ended or
// was killed; the value of such a machine is empty.
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
