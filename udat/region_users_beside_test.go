package udat_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Memory is freed beside the endpoint that was the last to use it.
func TestFreeMemoryBesideEndpoint(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil) // with what the others share
		for range 50 {
			ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, nil)
			want(t, err)
			regions := make([]*udat.LMR, 8)
			for i := range regions {
				regions[i], err = udat.AllocMemory(e.PZ, 64, udat.MemPrivAll)
				want(t, err)
				segment, err := regions[i].Segment(0, 8)
				want(t, err)
				want(t, ep.PostRecv(one(segment), 0, 0))
			}
			deadline := time.Now().Add(udattest.Patience)
			together(func() { want(t, ep.Free()) }, func() {
				for _, lmr := range regions {
					for err := lmr.Free(); err != nil; err = lmr.Free() {
						if time.Now().After(deadline) {
							t.Error(err)
							return
						}
					}
				}
			})
		}
	})
}

// Memory that is freed is the program's alone: what has used it does not keep it.
func TestFreedMemoryIsCollected(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := udattest.Pair(t, ia, nil)
		srq, err := udat.CreateSRQ(ia, b.PZ, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 2})
		want(t, err)
		collected := make(chan string, 2)
		func() {
			memory := func(name string, pz *udat.PZ) (*udat.LMR, []udat.Segment) {
				bytes := make([]byte, 1<<16)
				runtime.AddCleanup(&bytes[0], func(name string) { collected <- name }, name)
				lmr, err := udat.RegisterMemory(pz, bytes, udat.MemPrivAll)
				want(t, err)
				first, err := lmr.Segment(0, 8)
				want(t, err)
				second, err := lmr.Segment(8, 8)
				want(t, err)
				return lmr, []udat.Segment{first, second}
			}
			sent, iov := memory("sent", a.PZ)
			want(t, b.PostRecv(one(b.Segment(t, 0, 16)), 1, 0))
			want(t, a.PostSend(iov, 2, 0))
			udattest.Completion(t, a.Request, 2)
			want(t, sent.Free())
			shared, iov := memory("shared", b.PZ)
			want(t, srq.PostRecv(iov, 3))
			want(t, srq.Free())
			want(t, shared.Free())
		}()
		for range 2 {
			for deadline := time.Now().Add(udattest.Patience); ; {
				runtime.GC()
				select {
				case <-collected:
				case <-time.After(time.Millisecond):
					if time.Now().After(deadline) {
						t.Fatal("the memory is kept")
					}
					continue
				}
				break
			}
		}
	})
}
