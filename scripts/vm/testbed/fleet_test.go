package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

func TestFleet(t *testing.T) {
	needMachine(t)
	b := newBed(t, "--machines", "2", "--memory", "512M", copySelf(t, t.TempDir()))
	b.cmd.Env = append(os.Environ(), roleVariable+"=fleet", "UDAT_TEST_ADDR=mine")
	b.runs(3)
	if got, want := b.stdout.String(), "[0] the survivor is done\n"; got != want {
		t.Errorf("standard output is %q, want %q; stderr: %s", got, want, b.stderr.String())
	}
}

// playFleet runs in two machines. The first disturbs the second, and watches it through an echo.
func playFleet() int {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	rank, err := control.Rank()
	if err == nil && rank == 0 {
		err = disturb(ctx)
	} else if err == nil {
		err = beDisturbed(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	fmt.Print("the survivor is done") // a line without an end
	return 3
}

const echoPort = 9999

func beDisturbed(ctx context.Context) error {
	peers, err := control.Peers()
	if err != nil {
		return err
	}
	// An address of this machine.
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(peers[1], echoPort)))
	if err != nil {
		return err
	}
	if _, err := control.Meet(ctx, "listening", "second"); err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	io.Copy(conn, conn)
	<-ctx.Done()
	return errors.New("the machine was not killed")
}

func disturb(ctx context.Context) error {
	values, err := control.Meet(ctx, "listening", "first")
	if err != nil || !slices.Equal(values, []string{"first", "second"}) {
		return fmt.Errorf("the meeting returns %q, %v", values, err)
	}
	peers, err := control.Peers()
	if err != nil {
		return err
	}
	conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(peers[1], echoPort)))
	if err != nil {
		return err
	}
	// echo sends a byte, and receives it back.
	echo := func(limit time.Duration) error {
		conn.SetDeadline(time.Now().Add(limit))
		if _, err := conn.Write([]byte{1}); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 1))
		return err
	}
	if err := echo(runLimit); err != nil {
		return err
	}
	type disturbance struct {
		name       string
		begin, end func() error
	}
	for _, d := range []disturbance{
		{"cut", func() error { return control.Cut(ctx, 1) }, func() error { return control.Restore(ctx, 1) }},
		{"own cut", func() error { return control.Cut(ctx, 0) }, func() error { return control.Restore(ctx, 0) }},
		{"pause", func() error { return control.Pause(ctx, 1) }, func() error { return control.Resume(ctx, 1) }},
		{"loss", func() error { return control.Impair(ctx, "loss", "100%") }, func() error { return control.Impair(ctx) }},
	} {
		if err := d.begin(); err != nil {
			return err
		}
		if err := echo(time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("%s: the echo returns %v", d.name, err)
		}
		if err := d.end(); err != nil {
			return err
		}
		conn.SetDeadline(time.Now().Add(runLimit))
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // the earlier byte
			return fmt.Errorf("%s: after its end: %w", d.name, err)
		}
	}
	if err := errors.Join(control.RemoveDevice(ctx), control.AttachDevice(ctx)); err != nil {
		return err
	}
	if err := control.Cut(ctx, 2); err == nil || !strings.Contains(err.Error(), "no machine 2") {
		return fmt.Errorf("cutting the link of a machine that does not exist returned %v", err)
	}
	if err := control.Kill(ctx, 1); err != nil {
		return err
	}
	values, err = control.Meet(ctx, "after", "first")
	if err != nil || !slices.Equal(values, []string{"first", ""}) {
		return fmt.Errorf("the survivors' meeting returns %q, %v", values, err)
	}
	return nil
}

// A machine hears the answer to a request, whatever was sent to it before: the job has the environment, which may not fit into
// the buffer of a terminal.
func TestAnswerAfterLongJob(t *testing.T) {
	needMachine(t)
	program := copySelf(t, t.TempDir())
	for _, processors := range []string{"1", "2"} {
		b := newBed(t, "--cpus", processors, "--memory", "512M", program)
		b.cmd.Env = append(os.Environ(), roleVariable+"=ask", "LONG="+strings.Repeat("x", 100_000))
		b.runs(0)
	}
}

func playAsk() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := control.Meet(ctx, "alone", ""); err == nil || !strings.Contains(err.Error(), "--machines") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestMeeting(t *testing.T) {
	f := newFleet(3, nil)
	replies := map[int]control.Reply{}
	meet := func(rank int, value string) {
		f.request(rank, encoded(t, control.Request{Verb: control.VerbMeet, Name: "here", Value: value}), func(r control.Reply) { replies[rank] = r })
	}
	meet(0, "a")
	meet(2, "c")
	if len(replies) > 0 {
		t.Errorf("%v was answered before all had come", replies)
	}
	meet(0, "again")
	if replies[0].Error == "" {
		t.Error("a machine could come twice")
	}
	f.ended(1)
	for _, rank := range []int{0, 2} {
		if got := replies[rank].Values; !slices.Equal(got, []string{"a", "", "c"}) {
			t.Errorf("machine %d gets %q", rank, got)
		}
	}
	f.request(2, encoded(t, control.Request{Verb: control.VerbMeet, Name: "alone", Among: []int{2}}), func(r control.Reply) { replies[2] = r })
	if got := replies[2].Values; !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("a meeting of one returned %q", got)
	}
	f.ended(2)
	meet(0, "alone")
	if got := replies[0].Values; !slices.Equal(got, []string{"alone", "", ""}) {
		t.Errorf("the last one gets %q", got)
	}
}

func encoded(t *testing.T, r control.Request) []byte {
	t.Helper()
	var stream bytes.Buffer
	conn := wire.NewConn(&stream)
	check(t, conn.SendValue(wire.KindRequest, r))
	_, payload, err := conn.Receive()
	check(t, err)
	return payload
}
