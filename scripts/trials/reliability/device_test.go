//go:build linux

package reliability

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// untilFailure is the length of a stream that ends with the connection.
const untilFailure = 1 << 30

// The removal of a device ends its connections. The kernel releases the device when no process has it open; with the
// CMA provider, a process has it open until it ends. So in the machine that loses it, only victims have it open.
func TestDeviceRemoved(t *testing.T) {
	if peers, err := control.Peers(); err == nil && len(peers) <= firstVictimRank {
		t.Skipf("there are %d machines, and none that the device could be removed from", len(peers))
	}
	if strings.HasPrefix(control.Device(), "siw") {
		return // its driver tells no process about the removal, and waits until all have closed the device
	}
	t.Run("receiver", func(t *testing.T) {
		playLosing(t, "the receiver's device is removed, in the middle of sends", keepSending, loseReceiving)
	})
	t.Run("sender", func(t *testing.T) {
		playLosing(t, "the sender's device is removed, in the middle of sends", keepReceiving, loseSending)
	})
}

// playLosing plays a scenario between near, which keeps its device, and a machine whose test process has no device
// open.
func playLosing(t *testing.T, what string, keep, lose func(s *scene)) {
	rank, err := control.Rank()
	if err != nil {
		t.Skip(err)
	}
	for _, provider := range udattest.Names(t) {
		if rank == nearRank {
			playOn(t, []string{provider}, firstVictimRank, what, keep)
		} else if rank == firstVictimRank {
			t.Run(provider, func(t *testing.T) { newScene(t, what, provider, firstVictimRank).play(lose) })
		}
	}
}

func keepSending(s *scene) {
	e := s.connectTo(s.peerService())
	result := s.send(e, untilFailure, s.inTheMiddle(func() { s.meet("now") }))
	s.tell(result.arrived)
	s.saw("%s", result.of(untilFailure))
	s.outcome(e)
	s.saw("the other side saw %s", s.meet(""))
	s.meet("the device is back")
	s.reconnect()
}

func loseReceiving(s *scene) {
	v := s.startListening(stageReceivingUntilLost)
	s.meet("")
	removed := s.removeDevice(v)
	text, received := v.account()
	if acknowledged := s.tell(0); received < acknowledged {
		s.Errorf("%d messages were acknowledged, %d have arrived", acknowledged, received)
	}
	s.endOfLoss(v, removed, text)
}

func keepReceiving(s *scene) {
	listener := udattest.Listen(s.T, s.ia)
	s.tell(int(listener.ConnQual))
	e := s.endpoint()
	r := s.receive(e)
	s.accept(listener, e)
	s.outcome(e)
	r.expect(s.tell(0))
	s.saw("everything acknowledged has arrived")
	s.saw("the other side saw %s", s.meet(""))
	s.meet("the device is back")
	s.reconnect()
}

func loseSending(s *scene) {
	v := s.startVictim(stageSendingUntilLost, s.peerService().String())
	v.expect("sending")
	removed := s.removeDevice(v)
	text, acknowledged := v.account()
	s.tell(acknowledged)
	s.endOfLoss(v, removed, text)
}

// untold is how long a victim of the socket CM provider does not learn that its device is gone. Soft-RoCE notifies only
// the connection manager of CMA.
const untold = 3 * time.Second

// removeDevice begins to remove the device that a victim has open. The removal ends when no process has the device
// open.
func (s *scene) removeDevice(v *victim) (removed <-chan error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	s.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- control.RemoveDevice(ctx) }()
	if strings.Contains(s.provider, "scm") {
		time.AfterFunc(untold, func() { v.in.Close() })
	}
	return done
}

// endOfLoss waits until the victim has reported and ended, attaches the device again, and shows that it works.
func (s *scene) endOfLoss(v *victim, removed <-chan error, text string) {
	s.Helper()
	v.wait()
	s.do(<-removed)
	s.meet(text)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s.do(control.AttachDevice(ctx))
	s.meet("")
	v = s.startListening(stageReceivingOne)
	s.meet("") // a victim that accepts has posted its receive
	v.wait()
	s.meet("")
}

// account is a victim's report at its end.
func (v *victim) account() (text string, messages int) {
	v.s.Helper()
	text = v.says()
	_, err := fmt.Sscan(v.says(), &messages)
	v.s.do(err)
	return text, messages
}

// wait waits for the victim's own end.
func (v *victim) wait() {
	v.s.Helper()
	for v.lines.Scan() {
		fmt.Println(v.lines.Text())
	}
	if err := v.cmd.Wait(); err != nil {
		v.s.Fatalf("the victim: %v", err)
	}
}

// notice waits until the victim learns that the device is gone: from the adapter, from the connection, or from its
// parent process, which closes its standard input.
func (s *scene) notice(e *udattest.Endpoint) (sign string) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	signs := make(chan string, 3)
	watch := func(evd *udat.EVD) {
		if event, err := evd.Wait(ctx); err == nil {
			signs <- event.Number.String()
		}
	}
	go watch(e.Connect)
	go watch(s.ia.AsyncEVD())
	go func() {
		os.Stdin.Read(make([]byte, 1))
		signs <- fmt.Sprintf("nothing for %v, until it was told to end", untold)
	}()
	select {
	case sign := <-signs:
		return sign
	case <-ctx.Done():
		s.Error("nothing reports that the device is gone")
		return ""
	}
}

// flushWithin is how long a victim waits for the disconnect to flush its operations. If the kernel removes the device
// before the disconnect reaches the queue pair, nothing flushes them, and no new queue pair can be made for a reset.
// Freeing the endpoint ends them, without completions.
const flushWithin = 10 * time.Second

// outlive is the part of a victim whose device is removed: when it notices that, it stops and frees everything.
func (s *scene) outlive(e *udattest.Endpoint, say func(format string, args ...any), transfer func() int) {
	noticed, ended := make(chan string), make(chan struct{})
	go func() {
		sign := s.notice(e)
		if err := e.Disconnect(udat.CloseAbrupt); err != nil {
			s.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(flushWithin):
			status, err := e.GetStatus()
			sign += fmt.Sprintf(", and had to free the endpoint (%+v, %v)", status, err)
			if err := e.EP.Free(); err != nil {
				s.Error(err)
			}
			if err := e.Recv.SetUnwaitable(); err != nil { // no receive completes any more
				s.Error(err)
			}
		}
		noticed <- sign
	}()
	messages := transfer()
	close(ended)
	say("%s", <-noticed)
	say("%d", messages)
}
