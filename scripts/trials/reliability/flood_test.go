//go:build linux

package reliability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var floodFlag = flag.Int("reliability.flood", 200, "connection requests of a flood")

// A listener that gets many requests at once keeps working, even if half of the clients have given up before it
// answers.
func TestFlood(t *testing.T) {
	const clients = 16
	untilOver := 3*bound + time.Duration(*floodFlag)*200*time.Millisecond // far longer than they take
	play(t, "a flood of connection requests, half of them abandoned", func(s *scene) {
		if !s.near() {
			listener := udattest.Listen(s.T, s.ia)
			s.tell(int(listener.ConnQual))
			accepted := s.acceptAll(listener)
			s.meetWithin(untilOver, "")
			s.saw("%d requests were accepted", accepted())
			s.tell(overflows(s))
			s.reconnect()
			return
		}
		qual := udat.ConnQual(s.tell(0))
		var all sync.WaitGroup
		counts := make([]floodCount, clients)
		for i := range clients {
			e := udattest.NewEndpoint(s.T, s.ia, nil)
			r := rand.New(rand.NewPCG(*seedFlag, uint64(i)))
			goIn(&all, func() {
				for range *floodFlag / clients {
					s.connectOnce(e, qual, r, &counts[i])
				}
			})
		}
		all.Wait()
		var total floodCount
		for _, n := range counts {
			total.established += n.established
			total.rejected += n.rejected
			total.portBusy += n.portBusy
		}
		s.meetWithin(untilOver, "")
		if overflows := s.tell(0); total.rejected > 0 && overflows == 0 {
			s.Errorf("%d attempts with time were rejected by a server whose queue of requests was never full", total.rejected)
		}
		if total.portBusy > *floodFlag/20 {
			s.Errorf("%d of %d attempts were broken", total.portBusy, *floodFlag)
		}
		text := fmt.Sprintf("%d of %d connections were established", total.established, *floodFlag/clients*clients)
		if total.rejected > 0 {
			text += fmt.Sprintf(", %d rejected, as the queue of requests was full", total.rejected)
		}
		s.saw("%s, the others timed out on purpose", text)
		s.reconnect()
	})
}

// floodCount counts the results of one client's attempts. Those of portBusy got a port from the kernel on which TCP still
// waits after another connection.
type floodCount struct{ established, rejected, portBusy int }

// connectOnce connects and disconnects again, or gives up early.
func (s *scene) connectOnce(e *udattest.Endpoint, qual udat.ConnQual, r *rand.Rand, count *floodCount) {
	timeout := bound
	if r.IntN(2) == 0 {
		timeout = time.Duration(1+r.IntN(20)) * time.Millisecond
	}
	if err := e.EP.Connect(s.peerAddress(), qual, timeout, nil); err != nil {
		s.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	defer cancel()
	event, err := e.Connect.Wait(ctx)
	switch {
	case err != nil:
	case event.Number == udat.EventConnectionEstablished:
		count.established++
		e.Disconnect(udat.CloseAbrupt)
		_, err = e.Connect.Wait(ctx)
	case event.Number == udat.EventConnectionNonPeerRejected:
		count.rejected++ // by the library, because the server is too slow
	case s.iwarp && event.Number == udat.EventConnectionBroken:
		count.portBusy++
	case timeout == bound:
		s.Errorf("a patient attempt ends with %v", event.Number)
	}
	if err == nil {
		err = e.Reset()
	}
	if err != nil {
		s.Error(err)
	}
}

// overflows counts how many times a queue of the adapter was full.
func overflows(s *scene) (n int) {
	for {
		event, err := s.ia.AsyncEVD().Dequeue()
		if err != nil {
			return n
		}
		if errors.Is(event.Err(), udat.EventAsyncErrorEVDOverflow) {
			n++
		}
	}
}

// acceptAll accepts requests until the returned function is called, which returns their number. It frees an endpoint
// when its connection has ended. The peer must end all connections before that call.
func (s *scene) acceptAll(listener *udattest.Listener) (stop func() int) {
	on := udattest.Options{QueueLength: 4096}.NewEndpoint(s.T, s.ia)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	accepted := 0
	var alive atomic.Int64
	goIn(&all, func() {
		for event, err := range listener.Requests.Events(ctx) {
			if err != nil {
				return
			}
			ep, err := udat.CreateEP(s.ia, on.PZ, on.Recv, on.Request, on.Connect, nil)
			if err != nil {
				s.Error(err)
				return
			}
			alive.Add(1)
			if event.CR().Accept(ep, nil) != nil { // the client has given up
				ep.Free()
				alive.Add(-1)
				continue
			}
			accepted++
		}
	})
	goIn(&all, func() {
		for event, err := range on.Connect.Events(ctx) {
			if err != nil {
				return
			}
			if event.Number != udat.EventConnectionEstablished {
				event.EP().Free()
				alive.Add(-1)
			}
		}
	})
	end := sync.OnceFunc(func() {
		for deadline := time.Now().Add(bound); alive.Load() > 0 && !s.Failed() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // the goroutine above frees them as their ends come
		}
		cancel()
		all.Wait()
	})
	s.Cleanup(end)
	return func() int { end(); return accepted }
}

// goIn starts a goroutine of the group.
func goIn(all *sync.WaitGroup, do func()) {
	all.Add(1)
	go func() {
		defer all.Done()
		do()
	}()
}
