//go:build !race && !asan && !lockorder

package udat_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A message, from the posts to the completions, costs no allocation on either side.
func TestTransferDoesNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil) // which do allocate
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		out, in := active.Segment(t, 0, 64), passive.Segment(t, 0, 64)
		ctx := context.Background()
		message := func() {
			if err := passive.PostRecv([]udat.Segment{in}, 1, 0); err != nil {
				t.Fatal(err)
			}
			if err := active.PostSend([]udat.Segment{out}, 2, 0); err != nil {
				t.Fatal(err)
			}
			for _, evd := range [...]*udat.EVD{active.Request, passive.Recv} {
				if event, err := evd.Wait(ctx); err != nil || event.Err() != nil {
					t.Fatal(err, event.Err())
				}
				if _, err := evd.Dequeue(); err == nil {
					t.Fatal("there is more than one event")
				}
			}
			if _, err := active.GetStatus(); err != nil {
				t.Fatal(err)
			}
		}
		message() // the first one fills the pools
		if n := testing.AllocsPerRun(100, message); n >= 1 {
			t.Errorf("a message costs %v allocations", n)
		}
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
		take := map[string]func() (int, error){
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
		}
		for name, take := range take {
			round := func() {
				for i := range uint64(n) {
					if err := evd.PostSE(i); err != nil {
						t.Fatal(err)
					}
				}
				if evd.PostSE(0) == nil {
					t.Fatal("a full queue takes an event")
				}
				if taken, err := take(); taken != n || err != nil {
					t.Fatalf("%s: got %d events, %v", name, taken, err)
				}
				if _, err := evd.Dequeue(); err == nil {
					t.Fatal("there is one more event")
				}
			}
			round() // the first one fills the pools
			if allocations := testing.AllocsPerRun(20, round); allocations >= 1 {
				t.Errorf("%s: %d events cost %v allocations", name, n, allocations)
			}
		}
	})
}

// Batches of posts, polling for the completions, and the status cost no allocation.
func TestBatchDoesNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil) // which do allocate
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 64)
		want(t, err)
		receives := make([]udat.Post, 2)
		for i := range receives {
			receives[i] = udat.Post{Operation: udat.DTOReceive, Segments: one(passive.Segment(t, 100*i, 64))}
		}
		requests := []udat.Post{
			{Operation: udat.DTOSend, Segments: one(active.Segment(t, 0, 64))},
			{Operation: udat.DTORDMAWrite, Segments: one(active.Segment(t, 0, 64)), Remote: remote},
			{Operation: udat.DTORDMARead, Segments: one(active.Segment(t, 0, 64)), Remote: remote},
			{Operation: udat.DTOSend, Segments: one(active.Segment(t, 0, 64))},
		}
		events := make([]udat.Event, 8)
		ctx := udattest.Context(t)
		round := func() {
			postAll(t, passive.EP, receives)
			postAll(t, active.EP, requests)
			for _, due := range [...]struct {
				evd   *udat.EVD
				count int
			}{{active.Request, len(requests)}, {passive.Recv, len(receives)}} {
				for taken := 0; taken < due.count; {
					if n, err := due.evd.SpinPoll(events, time.Millisecond); err != nil {
						t.Fatal(err)
					} else if taken += n; n > 0 {
						continue
					}
					if n, err := due.evd.WaitBatch(ctx, events, 1); err != nil {
						t.Fatal(err)
					} else {
						taken += n
					}
				}
				if n, err := due.evd.Poll(events); n != 0 || err != nil {
					t.Fatal(n, err)
				}
			}
			if _, err := active.GetStatus(); err != nil {
				t.Fatal(err)
			}
		}
		round() // the first one fills the pools and makes room
		if n := testing.AllocsPerRun(100, round); n >= 1 {
			t.Errorf("a round costs %v allocations", n)
		}
	})
}

// Neither RDMA nor atomic operations cost an allocation, nor messages of no bytes.
func TestOtherPostsDoNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil)
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		target, err := udat.AllocMemory(passive.PZ, 8, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic)
		want(t, err)
		defer target.Free()
		remote, err := target.RMRTriplet(0, 8)
		want(t, err)
		iov, into := one(active.Segment(t, 0, 8)), one(passive.Segment(t, 0, 8))
		ctx := udattest.Context(t)
		posts := map[string]func() error{
			"PostRDMAWrite":   func() error { return active.PostRDMAWrite(iov, 0, remote, 0) },
			"PostRDMARead":    func() error { return active.PostRDMARead(iov, 0, remote, 0) },
			"PostFetchAndAdd": func() error { return active.PostFetchAndAdd(1, iov[0], 0, remote, 0) },
			"PostCmpAndSwap":  func() error { return active.PostCmpAndSwap(1, 2, iov[0], 0, remote, 0) },
			"PostRDMAWriteImmed": func() error {
				if err := passive.PostRecv(into, 0, 0); err != nil {
					return err
				}
				if err := active.PostRDMAWriteImmed(iov, 0, remote, 7, 0); err != nil {
					return err
				}
				_, err := passive.Recv.Wait(ctx)
				return err
			},
			"PostSend of no bytes": func() error {
				if err := passive.PostRecv(into, 0, 0); err != nil {
					return err
				}
				if err := active.PostSend(nil, 0, 0); err != nil {
					return err
				}
				_, err := passive.Recv.Wait(ctx)
				return err
			},
		}
		if udattest.IWARP(t, ia) {
			delete(posts, "PostFetchAndAdd")
			delete(posts, "PostCmpAndSwap")
			delete(posts, "PostRDMAWriteImmed")
		}
		for name, post := range posts {
			round := func() {
				if err := post(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if event, err := active.Request.Wait(ctx); err != nil || event.Err() != nil {
					t.Fatalf("%s: %v, %v", name, err, event.Err())
				}
			}
			round()
			if n := testing.AllocsPerRun(50, round); n >= 1 {
				t.Errorf("%s costs %v allocations", name, n)
			}
		}
	})
}

// A message through a shared receive queue costs no allocation.
func TestSharedReceivesDoNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil)
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const clients = 3
		s := newShared(t, ia, clients, clients)
		listener := udattest.Listen(t, ia)
		var senders []*udattest.Endpoint
		var out [clients][]udat.Segment
		for i, ep := range s.eps {
			senders = append(senders, s.client(t, listener, ep))
			out[i] = one(senders[i].Segment(t, 0, 8))
		}
		in := one(s.Segment(t, 0, 8))
		ctx := udattest.Context(t)
		round := func() {
			for i, sender := range senders {
				if err := s.srq.PostRecv(in, uint64(i)); err != nil {
					t.Fatal(err)
				}
				if err := sender.PostSend(out[i], 0, 0); err != nil {
					t.Fatal(err)
				}
				for _, evd := range [...]*udat.EVD{s.Recv, sender.Request} {
					if event, err := evd.Wait(ctx); err != nil || event.Err() != nil {
						t.Fatal(err, event.Err())
					}
				}
			}
		}
		round()
		if n := testing.AllocsPerRun(30, round); n >= 1 {
			t.Errorf("%d messages cost %v allocations", clients, n)
		}
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
			for range turns {
				udat.AwaitWaiter(evd)
				if err == nil {
					err = evd.PostSE(1)
				}
			}
			ended <- err
		}()
		for name, wait := range map[string]func() error{
			"Wait":      func() error { return second(evd.Wait(ctx)) },
			"WaitBatch": func() error { return second(evd.WaitBatch(ctx, events, 1)) },
		} {
			round := func() {
				turns <- struct{}{}
				if err := wait(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			round()
			if n := testing.AllocsPerRun(30, round); n >= 1 {
				t.Errorf("%s costs %v allocations", name, n)
			}
		}
	})
}

// Neither GetStatus nor a look at an empty queue costs an allocation.
func TestLooksDoNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil)
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		events := make([]udat.Event, 4)
		for name, look := range map[string]func() error{
			"GetStatus": func() error { return second(e.GetStatus()) },
			"Poll":      func() error { return second(e.Recv.Poll(events)) },
			"SpinPoll":  func() error { return second(e.Recv.SpinPoll(events, time.Microsecond)) },
			"Dequeue": func() error {
				if _, err := e.Recv.Dequeue(); !errors.Is(err, udat.ErrQueueEmpty) {
					return err
				}
				return nil
			},
		} {
			round := func() {
				if err := look(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			round()
			if n := testing.AllocsPerRun(100, round); n != 0 {
				t.Errorf("%s costs %v allocations", name, n)
			}
		}
	})
}

// Asking for the parameters of an object costs no allocation, where they have no slices.
func TestQueryDoesNotAllocate(t *testing.T) {
	previous := udat.SetAssertions(nil) // which do allocate
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, _ := udattest.Pair(t, ia, nil) // connected, so that it has addresses
		for name, query := range map[string]func() error{
			"endpoint":         func() error { return second(e.Query()) },
			"event dispatcher": func() error { return second(e.Recv.Query()) },
			"memory region":    func() error { return second(e.Memory.Query()) },
			"protection zone":  func() error { return second(e.PZ.Query()) },
		} {
			if n := testing.AllocsPerRun(100, func() { want(t, query()) }); n != 0 {
				t.Errorf("to query the %s costs %v allocations", name, n)
			}
		}
	})
}
