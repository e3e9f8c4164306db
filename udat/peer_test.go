package udat_test

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// peerVariable tells this test program to be the peer process of a test: the
// adapter, the address and the connection qualifier to connect to.
const peerVariable = "UDAT_TEST_PEER"

func TestMain(m *testing.M) {
	if where := os.Getenv(peerVariable); where != "" {
		if err := peer(strings.Fields(where)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if os.Getenv("UDAT_TEST_IA") == "" {
		// Examples need a device as well, and cannot skip.
		skip := flag.Lookup("test.skip").Value
		if err := skip.Set("^Example|" + cmp.Or(skip.String(), "^Example")); err != nil {
			panic(err)
		}
	}
	udattest.Main(m)
}

// peer connects, posts a receive, says that it has, and lives until it is killed.
func peer(where []string) error {
	ia, err := udat.Open(where[0])
	if err != nil {
		return err
	}
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return err
	}
	dto, err := udat.CreateEVD(ia, 64, udat.EVDDTO)
	if err != nil {
		return err
	}
	connect, err := udat.CreateEVD(ia, 64, udat.EVDConnection)
	if err != nil {
		return err
	}
	ep, err := udat.CreateEP(ia, pz, dto, dto, connect, nil)
	if err != nil {
		return err
	}
	lmr, err := udat.AllocMemory(pz, 4096, udat.MemPrivAll)
	if err != nil {
		return err
	}
	segment, err := lmr.Segment(0, 4096)
	if err != nil {
		return err
	}
	if err := ep.PostRecv([]udat.Segment{segment}, 0, 0); err != nil {
		return err
	}
	qual, err := strconv.ParseUint(where[2], 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := ep.Connect(netip.MustParseAddr(where[1]), udat.ConnQual(qual), udattest.Patience, nil); err != nil {
		return err
	}
	event, err := connect.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(event.Number)
	_, err = connect.Wait(ctx)
	return err
}

// A peer process that is killed ends the connection, and what is outstanding.
func TestPeerKilled(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		ctx := udattest.Context(t)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v %d", peerVariable, ia.Name(), udattest.Address(t, ia), listener.ConnQual))
		stdout, err := cmd.StdoutPipe()
		want(t, err)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()

		request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		want(t, request.CR().Accept(e.EP, nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil || line != "DAT_CONNECTION_EVENT_ESTABLISHED\n" {
			t.Fatalf("the peer says %q, %v", line, err)
		}
		// One message arrives; the next ones have nobody to receive them, which ends a
		// connection of iWARP at once.
		sends := []udat.CompletionFlags{0, udat.CompletionSuppress, 0, udat.CompletionSuppress}
		if udattest.IWARP(t, ia) {
			sends = sends[:1]
		}
		for i, flags := range sends {
			want(t, e.PostSend(one(e.Segment(t, 0, 4096)), uint64(i), flags))
		}
		want(t, e.PostRecv(one(e.Segment(t, 0, 4096)), 7, 0))
		event := udattest.Expect(t, e.Request, udat.EventDTOCompletion)
		want(t, event.Err())

		want(t, cmd.Process.Kill())
		event = udattest.Wait(t, e.Connect)
		if n := event.Number; n != udat.EventConnectionDisconnected && n != udat.EventConnectionBroken {
			t.Errorf("the connection ended with %v", n)
		}
		for cookie := range uint64(len(sends) - 1) {
			event, err = e.Request.Dequeue()
			want(t, err)
			if event.Err() == nil || event.Cookie != cookie+1 {
				t.Errorf("the send %d to the dead peer completed as %+v", cookie+1, event)
			}
		}
		event = udattest.Expect(t, e.Recv, udat.EventDTOCompletion)
		want(t, event.Err(), udat.DTOErrFlushed)
		wantNoEvent(t, e.Request)
		if s := status(t, e.EP); !s.RequestIdle || !s.RecvIdle {
			t.Errorf("at the end the status is %+v", s)
		}
		want(t, e.Memory.Free())

		// The program goes on.
		want(t, e.Reset())
		again := udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, listener, again, e)
	})
}
