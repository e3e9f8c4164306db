package udat_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestRDMA(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const size = 20000
		remote, err := passive.Memory.RMRTriplet(100, size)
		want(t, err)
		fill(active.Memory.Bytes()[:size], 3)
		want(t, active.PostRDMAWrite([]udat.Segment{active.Segment(t, 0, 7), active.Segment(t, 7, size-7)}, 1, remote, 0))
		event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if event.Err() != nil || event.Cookie != 1 || event.Operation != udat.DTORDMAWrite || event.Length != size {
			t.Errorf("the write completed as %+v", event)
		}
		if !bytes.Equal(passive.Memory.Bytes()[100:100+size], active.Memory.Bytes()[:size]) {
			t.Error("the write arrived changed")
		}
		want(t, active.PostRDMARead(one(active.Segment(t, 30000, size)), 2, remote, 0))
		event = udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if event.Err() != nil || event.Cookie != 2 || event.Operation != udat.DTORDMARead || event.Length != size {
			t.Errorf("the read completed as %+v", event)
		}
		if !bytes.Equal(active.Memory.Bytes()[30000:30000+size], active.Memory.Bytes()[:size]) {
			t.Error("the read arrived changed")
		}
		wantNoEvent(t, passive.Recv)
	})
}

// The same with memory of the Go heap.
func TestRegisteredSlice(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		memory := make([]byte, 5000)
		lmr, err := udat.RegisterMemory(passive.PZ, memory, udat.MemPrivLocalWrite)
		want(t, err)
		segment, err := lmr.Segment(0, len(memory))
		want(t, err)
		want(t, passive.PostRecv(one(segment), 1, 0))
		fill(active.Memory.Bytes()[:len(memory)], 9)
		want(t, active.PostSend(one(active.Segment(t, 0, len(memory))), 2, 0))
		event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		want(t, event.Err())
		if !bytes.Equal(memory, active.Memory.Bytes()[:len(memory)]) {
			t.Error("the message arrived changed")
		}
		want(t, passive.PostSend(one(segment), 3, 0), udat.ErrPrivilegesViolation, udat.PrivilegesRead)
		want(t, lmr.Free())
		want(t, passive.PostRecv(one(segment), 4, 0), udat.ErrClosed, udat.InvalidHandleLMR)
	})
}

func TestMemoryArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		memory := make([]byte, 100)
		_, err = udat.RegisterMemory(pz, nil, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg4)
		_, err = udat.RegisterMemory(pz, memory, 0)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg6)
		_, err = udat.RegisterMemory(pz, memory, 0x1000)
		want(t, err, udat.ErrInvalidParameter)
		_, err = udat.RegisterMemory(pz, memory, udat.MemPrivRemoteWrite)
		want(t, err, udat.ErrInvalidParameter)
		_, err = udat.RegisterMemory(nil, memory, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		_, err = udat.AllocMemory(pz, -1, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidParameter)
		lmr, err := udat.RegisterMemory(pz, memory, udat.MemPrivAll)
		want(t, err)
		defer lmr.Free()
		for _, piece := range [][2]int{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {101, 0}, {1 << 62, 1 << 62}} {
			_, err := lmr.Segment(piece[0], piece[1])
			want(t, err, udat.ErrInvalidParameter)
			_, err = lmr.RMRTriplet(piece[0], piece[1])
			want(t, err, udat.ErrInvalidParameter)
		}
	})
}

func TestPostRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unconnected := udattest.NewEndpoint(t, ia, nil)
		want(t, unconnected.PostSend(one(unconnected.Segment(t, 0, 1)), 0, 0), udat.ErrInvalidState, udat.InvalidStateEPUnconnected)

		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 100)
		want(t, err)
		want(t, active.PostSend(one(passive.Segment(t, 0, 1)), 0, 0), udat.ErrProtectionViolation)
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 0, 1<<20), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, active.PostSend(make([]udat.Segment, 100), 0, 0), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		want(t, active.PostRDMARead(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		if s := status(t, active.EP); !s.RequestIdle {
			t.Errorf("after refusals the status is %+v", s)
		}
		most := active.Attr(t).MaxRequestDTOs
		for i := range most {
			want(t, active.PostSend(one(active.Segment(t, 0, 1)), uint64(i), 0))
		}
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 0, 0), udat.ErrInsufficientResources)
		// The refusal has not disturbed those that are outstanding.
		for range most {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 1)), 0, 0))
		}
		for i := range most {
			event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			if event.Err() != nil || event.Cookie != uint64(i) {
				t.Errorf("completion %d is %+v", i, event)
			}
		}
		for range most {
			want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
		}
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 1)), 0, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 99, 0))
		wantCompletion(t, active.Request, 99, udat.DTOSuccess)
	})
}

// Posts of many goroutines on one endpoint complete each once, with their own cookies.
func TestConcurrentPosts(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs, attr.MaxRecvDTOs = 200, 200
		active, passive := udattest.Pair(t, ia, &attr)
		const goroutines, posts = 4, 50
		out, in := one(active.Segment(t, 0, 8)), one(passive.Segment(t, 0, 8))
		for range 3 {
			var posting sync.WaitGroup
			for g := range uint64(goroutines) {
				posting.Add(1)
				go func() {
					defer posting.Done()
					for i := range uint64(posts) {
						want(t, passive.PostRecv(in, g<<32|i, 0))
						want(t, active.PostSend(out, g<<32|i, 0))
					}
				}()
			}
			posting.Wait()
			for _, evd := range []*udat.EVD{active.Request, passive.Recv} {
				seen := map[uint64]bool{}
				for range goroutines * posts {
					event := udattest.Expect(t, evd, udat.EventDTOCompletion)
					want(t, event.Err())
					seen[event.Cookie] = true
				}
				if len(seen) != goroutines*posts {
					t.Errorf("%d posts completed with %d cookies", goroutines*posts, len(seen))
				}
			}
		}
	})
}

// A post that fails inside the library, whose records are wrong after that, is
// an error, ends posting until a reset, and leaves the completions of those
// before it as they are.
func TestPostFailsInLibrary(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		for i := range uint64(3) {
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
		}
		udat.AllowSegments(active.EP, 1000)
		if err := active.PostSend(make([]udat.Segment, 1000), 3, 0); err == nil {
			t.Error("a post of a thousand segments has succeeded")
		}
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 4, 0), udat.ErrInvalidState, udat.InvalidStateEPNotReady)
		for range 3 {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 0, 0))
		}
		for i := range uint64(3) {
			wantCompletion(t, active.Request, i, udat.DTOSuccess)
		}
		want(t, active.Disconnect(udat.CloseAbrupt))
		for _, e := range []*udattest.Endpoint{active, passive} {
			udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
			want(t, e.Reset())
		}
		wantNoEvent(t, active.Request)
		udattest.ConnectPair(t, udattest.Listen(t, ia), active, passive)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 0, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 5, 0))
		wantCompletion(t, active.Request, 5, udat.DTOSuccess)
	})
}

// An endpoint is idle in a direction when nothing is outstanding there, whatever
// kind of operation it is.
func TestIdle(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		s := one(active.Segment(t, 0, 8))
		wantIdle := func(recv, request bool) {
			t.Helper()
			if got := status(t, active.EP); got.RecvIdle != recv || got.RequestIdle != request {
				t.Errorf("the status is %+v", got)
			}
		}
		wantIdle(true, true)
		want(t, active.PostRecv(s, 1, 0))
		wantIdle(false, true)
		for name, post := range map[string]func() error{
			"send":                 func() error { return active.PostSend(s, 2, 0) },
			"read":                 func() error { return active.PostRDMARead(s, 2, remote, 0) },
			"write":                func() error { return active.PostRDMAWrite(s, 2, remote, 0) },
			"write with immediate": func() error { return active.PostRDMAWriteImmed(s, 2, remote, 1, 0) },
		} {
			t.Run(name, func(t *testing.T) {
				want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 3, 0))
				want(t, post())
				wantIdle(false, false) // nobody has taken the completion
				wantCompletion(t, active.Request, 2, udat.DTOSuccess)
				wantIdle(false, true)
			})
		}
		want(t, passive.PostSend(one(passive.Segment(t, 0, 8)), 4, 0))
		wantCompletion(t, active.Recv, 1, udat.DTOSuccess)
		wantIdle(true, true)
	})
}

// An RDMA read that could never complete is refused.
func TestReadWithoutDepth(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRDMAReadOut = udat.NoRDMAReads
		active, passive := udattest.Pair(t, ia, &attr)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		want(t, active.PostRDMARead(one(active.Segment(t, 0, 8)), 1, remote, 0), udat.ErrInvalidParameter)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 8)), 2, remote, 0))
		wantCompletion(t, active.Request, 2, udat.DTOSuccess)
	})
}
