package udat_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Every call on a freed object is an error that says so.
func TestUseAfterFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		listener := udattest.Listen(t, ia)
		segment := e.Segment(t, 0, 8)
		remote, err := e.Memory.RMRTriplet(0, 8)
		want(t, err)
		want(t, e.EP.Free())
		want(t, e.Memory.Free())
		want(t, e.PZ.Free())
		want(t, e.Recv.Free())
		want(t, listener.PSP.Free())

		calls := map[string]func() error{
			"EP.Free":         e.EP.Free,
			"EP.GetStatus":    func() error { _, err := e.EP.GetStatus(); return err },
			"EP.Query":        func() error { _, err := e.EP.Query(); return err },
			"EP.Modify":       func() error { return e.EP.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{}) },
			"EP.Connect":      func() error { return e.EP.Connect(udattest.Address(t, ia), 1, time.Second, nil) },
			"EP.Disconnect":   func() error { return e.EP.Disconnect(udat.CloseAbrupt) },
			"EP.Reset":        e.EP.Reset,
			"EP.PostSend":     func() error { return e.EP.PostSend(one(segment), 0, 0) },
			"EP.PostRecv":     func() error { return e.EP.PostRecv(one(segment), 0, 0) },
			"EP.PostRDMARead": func() error { return e.EP.PostRDMARead(one(segment), 0, remote, 0) },
			"EP.PostRDMAWrite": func() error {
				return e.EP.PostRDMAWrite(one(segment), 0, remote, 0)
			},
			"LMR.Free":       e.Memory.Free,
			"LMR.Segment":    func() error { _, err := e.Memory.Segment(0, 1); return err },
			"LMR.RMRTriplet": func() error { _, err := e.Memory.RMRTriplet(0, 1); return err },
			"PZ.Free":        e.PZ.Free,
			"AllocMemory":    func() error { _, err := udat.AllocMemory(e.PZ, 8, udat.MemPrivAll); return err },
			"EVD.Free":       e.Recv.Free,
			"EVD.Query":      func() error { _, err := e.Recv.Query(); return err },
			"EVD.Dequeue":    func() error { _, err := e.Recv.Dequeue(); return err },
			"EVD.Wait":       func() error { _, err := e.Recv.Wait(context.Background()); return err },
			"CreateEP": func() error {
				_, err := udat.CreateEP(ia, e.PZ, nil, nil, nil, nil)
				return err
			},
			"PSP.Free":  listener.PSP.Free,
			"PSP.Query": func() error { _, err := listener.PSP.Query(); return err },
		}
		for name, call := range calls {
			t.Run(name, func(t *testing.T) { want(t, call(), udat.ErrClosed, udat.ErrInvalidHandle) })
		}
		if e.Memory.Bytes() != nil {
			t.Error("a freed region still gives its memory")
		}
	})
}

// Nil pointers and zero values are errors too. No device is needed for that.
func TestNilAndZeroObjects(t *testing.T) {
	for _, objects := range []struct {
		name string
		ia   *udat.IA
		pz   *udat.PZ
		evd  *udat.EVD
		ep   *udat.EP
		lmr  *udat.LMR
		psp  *udat.PSP
		cr   *udat.CR
	}{
		{name: "nil"},
		{"zero", &udat.IA{}, &udat.PZ{}, &udat.EVD{}, &udat.EP{}, &udat.LMR{}, &udat.PSP{}, &udat.CR{}},
	} {
		o := objects
		t.Run(o.name, func(t *testing.T) {
			for name, err := range map[string]error{
				"Open":            second(udat.Open("")),
				"IA.Close":        o.ia.Close(udat.CloseAbrupt),
				"IA.Close again":  o.ia.Close(udat.CloseGraceful),
				"CreatePZ":        second(udat.CreatePZ(o.ia)),
				"PZ.Free":         o.pz.Free(),
				"CreateEVD":       second(udat.CreateEVD(o.ia, 8, udat.EVDDTO)),
				"EVD.Free":        o.evd.Free(),
				"EVD.Dequeue":     second(o.evd.Dequeue()),
				"EVD.Wait":        second(o.evd.Wait(context.Background())),
				"EVD.Query":       second(o.evd.Query()),
				"CreateEP":        second(udat.CreateEP(o.ia, o.pz, o.evd, o.evd, o.evd, nil)),
				"EP.Free":         o.ep.Free(),
				"EP.GetStatus":    second(o.ep.GetStatus()),
				"EP.Query":        second(o.ep.Query()),
				"EP.Modify":       o.ep.Modify(0, &udat.EPParam{}),
				"EP.Connect":      o.ep.Connect(loopback, 1, time.Second, nil),
				"EP.Disconnect":   o.ep.Disconnect(udat.CloseAbrupt),
				"EP.Reset":        o.ep.Reset(),
				"EP.PostSend":     o.ep.PostSend(nil, 0, 0),
				"EP.PostRecv":     o.ep.PostRecv(nil, 0, 0),
				"EP.PostRDMARead": o.ep.PostRDMARead(nil, 0, udat.RMRTriplet{}, 0),
				"AllocMemory":     second(udat.AllocMemory(o.pz, 8, udat.MemPrivAll)),
				"LMR.Free":        o.lmr.Free(),
				"LMR.Segment":     second(o.lmr.Segment(0, 0)),
				"CreatePSP":       second(udat.CreatePSP(o.ia, 1, o.evd)),
				"PSP.Free":        o.psp.Free(),
				"PSP.Query":       second(o.psp.Query()),
				"CR.Accept":       o.cr.Accept(o.ep, nil),
				"CR.Reject":       o.cr.Reject(nil),
				"CR.Query":        second(o.cr.Query()),
			} {
				if name == "Open" {
					want(t, err, udat.ErrInvalidParameter)
				} else {
					t.Run(name, func(t *testing.T) { want(t, err, udat.ErrInvalidHandle) })
				}
			}
			if o.lmr.Bytes() != nil || o.ia.AsyncEVD() != nil || o.ia.Name() != "" {
				t.Error("an object that is none has parts")
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// A parent that is in use refuses to go and names its users.
func TestFreeInUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		listener := udattest.Listen(t, ia)
		for _, c := range []struct {
			err   error
			sub   udat.ReturnSubtype
			names []string
		}{
			{e.PZ.Free(), udat.InvalidStatePZInUse, []string{"endpoint", "memory region"}},
			{e.Recv.Free(), udat.InvalidStateEVDInUse, []string{"endpoint"}},
			{listener.Requests.Free(), udat.InvalidStateEVDInUse, []string{"public service point"}},
			{ia.AsyncEVD().Free(), udat.InvalidStateEVDInUse, nil},
			{ia.Close(udat.CloseGraceful), udat.InvalidStateIAInUse, []string{"endpoint", "protection zone"}},
		} {
			want(t, c.err, udat.ErrInvalidState, c.sub)
			for _, name := range c.names {
				if c.err != nil && !strings.Contains(c.err.Error(), name) {
					t.Errorf("the error does not name the %s: %v", name, c.err)
				}
			}
			if c.names != nil && !strings.Contains(c.err.Error(), "lifetime_test.go:") {
				t.Errorf("the error does not say where it was made: %v", c.err)
			}
		}
		// All still work.
		peer := udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, listener, e, peer)
	})
}

// An abrupt close takes everything along, in whatever state it is.
func TestCloseAbrupt(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia, err := udat.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			listener := udattest.Listen(t, ia)
			active, passive := udattest.Pair(t, ia, nil)
			waiting := udattest.NewEndpoint(t, ia, nil)
			want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 1, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			want(t, waiting.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)

			done := make(chan error)
			go func() {
				_, err := waiting.Recv.Wait(context.Background())
				done <- err
			}()
			udat.AwaitWaiter(waiting.Recv)
			async := ia.AsyncEVD()
			want(t, ia.Close(udat.CloseAbrupt))
			want(t, <-done, udat.ErrClosed)
			for _, err := range []error{
				ia.Close(udat.CloseAbrupt), active.EP.Free(), cr.CR().Reject(nil),
				second(passive.GetStatus()), second(async.Dequeue()), second(udat.CreatePZ(ia)),
			} {
				want(t, err, udat.ErrClosed)
			}
		})
	}
}

// Frees race with every other call on the same objects.
func TestConcurrentFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for range 10 {
			active, passive := udattest.Pair(t, ia, nil)
			var calls sync.WaitGroup
			start := make(chan struct{})
			run := func(f func()) {
				calls.Add(1)
				go func() {
					defer calls.Done()
					<-start
					f()
				}()
			}
			segment := active.Segment(t, 0, 64)
			for range 2 {
				run(func() {
					for i := range uint64(50) {
						active.PostSend(one(segment), i, 0)
						active.PostRecv(one(segment), i, 0)
						active.GetStatus()
						active.Query()
					}
				})
				run(func() {
					for range 50 {
						active.Request.Dequeue()
						active.Recv.Dequeue()
						passive.Connect.Dequeue()
					}
				})
				run(func() { active.Disconnect(udat.CloseGraceful) })
				run(func() { active.Free() })
				run(func() { passive.Disconnect(udat.CloseAbrupt); passive.Reset() })
				run(func() { passive.Free() })
			}
			close(start)
			calls.Wait()
			want(t, active.Free(), udat.ErrClosed)
		}
	})
}

// Sends that are outstanding when their endpoint is freed complete in memory
// that the library has freed, unless it is kept from that.
func TestFreeWithRequestsOutstanding(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for range 20 {
			active, passive := udattest.Pair(t, ia, nil)
			for i := range uint64(attributes(t, active.EP).MaxRequestDTOs) {
				want(t, active.PostSend(one(active.Segment(t, 0, 4096)), i, 0))
			}
			want(t, active.EP.Free())
			want(t, passive.EP.Free())
			for i := uint64(0); ; i++ {
				event, err := active.Request.Dequeue()
				if errors.Is(err, udat.ErrQueueEmpty) {
					break
				}
				want(t, err)
				if event.Cookie != i || event.Status != udat.DTOErrFlushed {
					t.Errorf("completion %d is %+v", i, event)
				}
			}
		}
	})
}
