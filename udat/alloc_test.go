//go:build !race && !asan

package udat_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// wantNoAllocations fails the test if one of the calls allocates. The first round of each fills
// pools.
func wantNoAllocations(t *testing.T, calls map[string]func() error) {
	t.Helper()
	previous := udat.SetAssertions(nil) // which do allocate
	defer func() { udat.SetAssertions(previous) }()
	for name, call := range calls {
		round := func() {
			if err := call(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		round()
		if n := testing.AllocsPerRun(50, round); n >= 1 {
			t.Errorf("%s costs %v allocations", name, n)
		}
	}
}

// take waits for n successful completions, in one way or another, after which there is none.
func take(ctx context.Context, evd *udat.EVD, events []udat.Event, n int) error {
	for n > 0 {
		taken, err := evd.SpinPoll(events, time.Millisecond)
		if taken == 0 && err == nil {
			taken, err = evd.WaitBatch(ctx, events, 1)
		}
		for i := range taken {
			err = cmp.Or(err, events[i].Err())
		}
		if err != nil {
			return err
		}
		n -= taken
	}
	if more, err := evd.Poll(events); more > 0 || err != nil {
		return errors.Join(err, errors.New("there is one more event"))
	}
	return nil
}

// Operations of all kinds, from the posts to the completions, cost no allocation on either side.
func TestTransferDoesNotAllocate(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		target := untilEnd(t, must(udat.AllocMemory(passive.PZ, 64, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic)))
		remote := must(target.RMRTriplet(0, 8))
		iov, into := one(active.Segment(t, 0, 8)), one(passive.Segment(t, 0, 8))
		ctx := udattest.Context(t)
		events := make([]udat.Event, 8)
		// call makes a call that posts a request, and so many receives for it before.
		call := func(receives int, post func() error) func() error {
			return func() error {
				for range receives {
					check(passive.PostRecv(into, 0, 0))
				}
				check(post())
				return errors.Join(take(ctx, active.Request, events, 1), take(ctx, passive.Recv, events, receives))
			}
		}
		batch := []udat.Post{
			{Operation: udat.DTOSend, Segments: iov},
			{Operation: udat.DTORDMAWrite, Segments: iov, Remote: remote},
			{Operation: udat.DTORDMARead, Segments: iov, Remote: remote},
			{Operation: udat.DTOSend, Segments: iov},
		}
		receive := []udat.Post{{Operation: udat.DTOReceive, Segments: into}, {Operation: udat.DTOReceive, Segments: into}}
		calls := map[string]func() error{
			"PostSend":             call(1, func() error { return active.PostSend(iov, 0, 0) }),
			"PostSend of no bytes": call(1, func() error { return active.PostSend(nil, 0, 0) }),
			"PostRDMAWrite":        call(0, func() error { return active.PostRDMAWrite(iov, 0, remote, 0) }),
			"PostRDMARead":         call(0, func() error { return active.PostRDMARead(iov, 0, remote, 0) }),
			"PostBatch": func() error {
				check(errors.Join(second(passive.PostBatch(receive)), second(active.PostBatch(batch))))
				return errors.Join(take(ctx, active.Request, events, len(batch)), take(ctx, passive.Recv, events, len(receive)))
			},
		}
		for op, extended := range map[udat.DTO]func() error{
			udat.DTOIBFetchAdd:       call(0, func() error { return active.PostFetchAndAdd(1, iov[0], 0, remote, 0) }),
			udat.DTOIBCmpSwap:        call(0, func() error { return active.PostCmpAndSwap(1, 2, iov[0], 0, remote, 0) }),
			udat.DTOIBRDMAWriteImmed: call(1, func() error { return active.PostRDMAWriteImmed(iov, 0, remote, 7, 0) }),
		} {
			if !lacksOperation(t, active, passive, op) {
				calls[op.String()] = extended
			}
		}
		if hasSRQ(t, ia) {
			s := newShared(t, ia, 3, 1)
			sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
			in, out := one(s.Segment(t, 0, 8)), one(sender.Segment(t, 0, 8))
			calls["SRQ.PostRecv"] = func() error {
				return errors.Join(s.srq.PostRecv(in, 1), sender.PostSend(out, 0, 0), take(ctx, sender.Request, events, 1), take(ctx, s.Recv, events, 1))
			}
		}
		wantNoAllocations(t, calls)
	})
}

// Taking events, one or many, and posting software events costs no allocation.
func TestEventsDoNotAllocate(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const n = 64
		evd := createEVD(t, ia, n, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		events := make([]udat.Event, n)
		ctx := context.Background()
		calls := map[string]func() error{}
		for name, take := range map[string]func() (int, error){
			"Poll":              func() (int, error) { return evd.Poll(events) },
			"SpinPoll":          func() (int, error) { return evd.SpinPoll(events, time.Millisecond) },
			"WaitBatch":         func() (int, error) { return evd.WaitBatch(ctx, events, n) },
			"WaitBatch for one": func() (int, error) { return evd.WaitBatch(ctx, events, 1) },
			"CNO.Wait": func() (int, error) {
				if given, err := cno.Wait(ctx); given != evd || err != nil {
					return 0, err
				}
				return evd.Poll(events)
			},
			"Wait": func() (taken int, err error) {
				for ; taken < n && err == nil; taken++ {
					_, err = evd.Wait(ctx)
				}
				return taken, err
			},
		} {
			calls[name] = func() error {
				for i := range uint64(n) {
					check(evd.PostSE(i))
				}
				if evd.PostSE(0) == nil {
					return errors.New("a full queue takes an event")
				}
				if taken, err := take(); taken != n || err != nil {
					t.Fatalf("%s: got %d events, %v", name, taken, err)
				}
				if _, err := evd.Dequeue(); err == nil {
					return errors.New("there is one more event")
				}
				return nil
			}
		}
		wantNoAllocations(t, calls)
	})
}

// A wait that sleeps allocates nothing, whether it is woken or ended by its context.
func TestSleepDoesNotAllocate(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		ctx := context.Background()
		events := make([]udat.Event, 2)
		turns, ended := make(chan struct{}), make(chan error, 1)
		defer func() { want(t, <-ended) }()
		defer close(turns)
		go func() {
			var err error
			slept := udat.Sleeps(ia)
			for range turns {
				for before := slept; udat.Sleeps(ia) == before; runtime.Gosched() {
				}
				slept = udat.Sleeps(ia)
				if err == nil {
					err = evd.PostSE(1)
				}
			}
			ended <- err
		}()
		woken := func(wait func() error) func() error {
			return func() error {
				turns <- struct{}{}
				return wait()
			}
		}
		wantNoAllocations(t, map[string]func() error{
			"Wait":      woken(func() error { return second(evd.Wait(ctx)) }),
			"WaitBatch": woken(func() error { return second(evd.WaitBatch(ctx, events, 1)) }),
		})
	})
}

// Neither a look at an empty queue costs an allocation, nor asking for what an object is, where
// that has no slices.
func TestLooksDoNotAllocate(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, _ := udattest.Pair(t, ia, nil) // connected, so that it has addresses
		events := make([]udat.Event, 4)
		wantNoAllocations(t, map[string]func() error{
			"GetStatus": func() error { return second(e.GetStatus()) },
			"Poll":      func() error { return second(e.Recv.Poll(events)) },
			"SpinPoll":  func() error { return second(e.Recv.SpinPoll(events, time.Microsecond)) },
			"Dequeue": func() error {
				if _, err := e.Recv.Dequeue(); !errors.Is(err, udat.ErrQueueEmpty) {
					return err
				}
				return nil
			},
			"EP.Query":  func() error { return second(e.Query()) },
			"EVD.Query": func() error { return second(e.Recv.Query()) },
			"LMR.Query": func() error { return second(e.Memory.Query()) },
			"PZ.Query":  func() error { return second(e.PZ.Query()) },
		})
	})
}
