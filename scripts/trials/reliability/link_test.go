//go:build linux

package reliability

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// background is the context for disturbances, which the test bed confirms at once.
var background = context.Background()

// patience is shorter than the adapter's retries: a program may give up on its peer sooner.
const patience = 15 * time.Second

// transferRun is the scenario of a transfer.
type transferRun = func(s *scene, e *udattest.Endpoint, n int, disturb map[int]func()) sent

// eachTransfer plays a scenario with each kind of operation. The kind completes what, the description.
func eachTransfer(t *testing.T, what string, do func(s *scene, run transferRun)) {
	for _, transfer := range transfers {
		t.Run(transfer.name, func(t *testing.T) {
			play(t, fmt.Sprintf(what, transfer.name), func(s *scene) { do(s, transfer.run) })
		})
	}
}

// transferred is the length of a transfer that is disturbed.
const transferred = 300

// inTheMiddle disturbs a transfer.
func (s *scene) inTheMiddle(disturb func()) map[int]func() {
	return map[int]func(){50 + s.rand.IntN(200): disturb}
}

// delayed judges a transfer that a disturbance has delayed.
func (s *scene) delayed(result sent, n int, good bool) {
	s.Helper()
	if !s.near() {
		return
	}
	if !good {
		s.Errorf("%d of %d operations succeeded, then came %v", result.acknowledged, n, result.failure)
	}
	s.saw("%s; the longest pause was %v", result.of(n), rounded(result.slowest))
}

// cutFor cuts the link for a time.
func (s *scene) cutFor(length time.Duration) func() {
	return func() {
		s.do(control.Cut(background, s.peer))
		time.AfterFunc(length, func() { s.do(control.Restore(background, s.peer)) })
	}
}

// A link that fails for a second only causes a delay.
func TestLinkCutBriefly(t *testing.T) {
	eachTransfer(t, "the link is cut for a second, in the middle of %s", func(s *scene, run transferRun) {
		result := run(s, s.connect(), transferred, s.inTheMiddle(s.cutFor(time.Second)))
		s.delayed(result, transferred, result.acknowledged == transferred)
	})
}

// After ten seconds the connection may have ended, or may continue.
func TestLinkCutLong(t *testing.T) {
	eachTransfer(t, "the link is cut for ten seconds, in the middle of %s", func(s *scene, run transferRun) {
		result := run(s, s.connect(), transferred, s.inTheMiddle(s.cutFor(10*time.Second)))
		s.delayed(result, transferred, result.failure != nil || result.acknowledged == transferred)
		s.reconnect()
	})
}

// gaveUp shows that a transfer has failed whose peer cannot be reached any more.
func (s *scene) gaveUp(result sent, n int) {
	s.Helper()
	if result.failure == nil {
		s.Error("no operation failed")
	}
	s.saw("%s, after %v: the program disconnected", result.of(n), rounded(result.slowest))
}

// A link that stays cut ends the connection.
func TestLinkCutForGood(t *testing.T) {
	eachTransfer(t, "the link is cut for good, in the middle of %s", func(s *scene, run transferRun) {
		s.patience = patience
		result := run(s, s.connect(), transferred, s.inTheMiddle(func() { s.do(control.Cut(background, s.peer)) }))
		if s.near() {
			s.gaveUp(result, transferred)
			s.do(control.Restore(background, s.peer))
		}
		s.meet("")
		s.reconnect()
	})
}

// A disconnect that the peer cannot answer still ends, and soon.
func TestDisconnectUnanswered(t *testing.T) {
	play(t, "the link is cut, then a side disconnects gracefully", func(s *scene) {
		e := s.connect()
		s.meet("") // the other side may learn of the connection later
		if s.near() {
			s.do(control.Cut(background, s.peer))
			start := time.Now()
			s.do(e.Disconnect(udat.CloseGraceful))
			s.saw("Disconnect returns after %v", rounded(time.Since(start)))
			if event := s.outcome(e); event.Number != udat.EventConnectionDisconnected {
				s.Errorf("the connection ends with %v", event.Number)
			}
			s.do(control.Restore(background, s.peer))
		}
		s.meet("")
		s.reconnect()
	})
}

// The end of an endpoint whose peer is cut off may take the library a quarter of a second. Another endpoint on the same
// event dispatchers goes on meanwhile.
func TestFreeBesideCutPeer(t *testing.T) {
	play(t, "the link is cut, and a side frees the endpoint, beside another one on the same event dispatchers", func(s *scene) {
		e := s.connect()
		s.meet("") // the other side may learn of the connection later
		if s.near() {
			other, peer := *e, udattest.NewEndpoint(s.T, s.ia, nil)
			var err error
			other.EP, err = udat.CreateEP(s.ia, e.PZ, e.Recv, e.Request, e.Connect, nil)
			s.do(err)
			udattest.ConnectPair(s.T, udattest.Listen(s.T, s.ia), &other, peer)
			s.do(control.Cut(background, s.peer))
			freed, start, n := make(chan error, 1), time.Now(), 0
			go func() { freed <- e.EP.Free() }()
			for over := false; !over; {
				s.do(other.PostRDMAWrite(nil, 1, udat.RMRTriplet{}, 0))
				s.succeeded(udattest.Wait(s.T, e.Request))
				select {
				case err := <-freed:
					s.do(err)
					over = true
				default:
					n++
				}
			}
			took := time.Since(start)
			if took > 100*time.Millisecond && n < 3 {
				s.Errorf("%d writes of another endpoint completed within the %v that Free took", n, took)
			}
			s.saw("Free returns after %v; writes of the other one go on meanwhile", rounded(took))
			s.do(other.EP.Free())
			s.do(control.Restore(background, s.peer))
		}
		s.meet("")
		s.reconnect()
	})
}

// A connection may not survive that its address is taken away, although it comes back. The adapter can send nothing from
// it then, with CMA not even that the connection has ended.
func TestAddressTakenAway(t *testing.T) {
	play(t, "the sender's address is taken away for a moment", func(s *scene) {
		if s.iwarp {
			return // the addresses are those of TCP, which bears it
		}
		e := s.connect()
		s.do(e.PostRecv([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
		s.meet("")
		state := ""
		if s.near() {
			s.takeAddressAway()
			s.do(e.PostSend([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
			sent := udattest.Wait(s.T, e.Request)
			s.saw("the next send ends with %v", sent.Status)
			if sent.Err() != nil {
				s.outcome(e)
			}
			s.meet("")
		} else {
			s.meet("")
			status, err := e.GetStatus()
			s.do(err)
			state = status.State.String()
		}
		if peers := s.meet(state); s.near() {
			s.saw("the other side is in %s", peers)
		}
		s.do(e.EP.Free())
		s.reconnect()
	})
}

// takeAddressAway takes the adapter's address from its interface, and gives it back when the device has seen that.
func (s *scene) takeAddressAway() {
	s.Helper()
	attr, _, err := s.ia.Query()
	s.do(err)
	prefix := attr.Address.String() + "/24"
	if attr.Address.Is6() {
		prefix = attr.Address.String() + "/64"
	}
	change := func(verb, netdev string, there bool) {
		out, err := exec.Command("ip", "addr", verb, prefix, "dev", netdev).CombinedOutput()
		if err != nil {
			s.Fatalf("ip addr %s: %v: %s", verb, err, out)
		}
		s.eventually("the device follows ip addr "+verb, func() bool { return (s.interfaceOf(attr.Address) != "") == there })
	}
	netdev := s.interfaceOf(attr.Address)
	change("del", netdev, false)
	change("add", netdev, true)
}

// interfaceOf returns the interface by which a device of this machine has an address, "" if none has it.
func (s *scene) interfaceOf(address netip.Addr) string {
	s.Helper()
	devices, err := device.List()
	s.do(err)
	for _, d := range devices {
		for _, gid := range d.Ports[0].GIDs {
			if gid.Addr.Unmap() == address {
				return gid.Interface
			}
		}
	}
	return ""
}

// The adapters handle packets that are lost or reordered.
func TestLoss(t *testing.T) {
	for _, loss := range []string{"1%", "5%", "10%"} {
		t.Run(loss, func(t *testing.T) {
			play(t, loss+" of the packets are lost, some come late or twice", func(s *scene) {
				const n = 200
				s.do(control.Impair(background, "delay", "1ms", "loss", loss, "reorder", "75%", "50%", "duplicate", "1%"))
				defer func() { s.do(control.Impair(background)) }()
				result := s.deliver(s.connect(), n, nil)
				s.delayed(result, n, result.acknowledged == n)
			})
		})
	}
}

// A link whose delay changes carries connections all the time.
func TestDelayChanges(t *testing.T) {
	play(t, "the link's delay changes while connections are made and ended", func(s *scene) {
		const n = 20
		if s.near() {
			over, changed := make(chan struct{}), make(chan error)
			go func() { changed <- changeDelay(over) }()
			defer func() {
				close(over)
				s.do(<-changed)
			}()
		}
		for range n {
			e := s.connect()
			if s.near() {
				s.do(e.Disconnect(udat.CloseAbrupt))
			}
			udattest.Expect(s.T, e.Connect, udat.EventConnectionDisconnected)
			s.do(e.EP.Free())
		}
		s.saw("all %d were established", n)
	})
}

// changeDelay adds a delay and takes it away again, until over is closed.
func changeDelay(over <-chan struct{}) error {
	for {
		select {
		case <-over:
			return nil
		default:
		}
		if err := control.Impair(background, "delay", "1ms"); err != nil {
			return err
		}
		if err := control.Impair(background); err != nil {
			return err
		}
	}
}

// A paused machine is like a cut link, except that it does not notice the time.
func TestMachinePaused(t *testing.T) {
	play(t, "the peer's machine stands still for two seconds, in the middle of sends", func(s *scene) {
		result := s.deliver(s.connect(), transferred, s.inTheMiddle(func() {
			s.do(control.Pause(background, s.peer))
			time.AfterFunc(2*time.Second, func() { s.do(control.Resume(background, s.peer)) })
		}))
		s.delayed(result, transferred, result.failure != nil || result.acknowledged == transferred)
		s.reconnect()
	})
}
