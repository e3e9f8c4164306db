package udat_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func openUnchecked(t *testing.T, name string) *udat.IA {
	t.Helper()
	ia, err := udat.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return ia
}

// creators create objects of every kind on an adapter until they may no more.
func creators(ia *udat.IA) []func() error {
	memory := make([]byte, 4096)
	return []func() error{
		func() error { return second(udat.CreatePZ(ia)) },
		func() error { return second(udat.CreateEVD(ia, 8, udat.EVDSoftware)) },
		func() error {
			pz, err := udat.CreatePZ(ia)
			if err != nil {
				return err
			}
			for range 4 {
				if _, err := udat.RegisterMemory(pz, memory, udat.MemPrivLocalRead); err != nil {
					return err
				}
			}
			_, err = udat.CreateSRQ(ia, pz, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
			return err
		},
		func() error {
			pz, err := udat.CreatePZ(ia)
			if err != nil {
				return err
			}
			evd, err := udat.CreateEVD(ia, 8, udat.EVDConnection)
			if err != nil {
				return err
			}
			for range 2 {
				if _, err := udat.CreateEP(ia, pz, nil, nil, evd, nil); err != nil {
					return err
				}
			}
			return nil
		},
		func() error {
			cno, err := udat.CreateCNO(ia, nil)
			if err != nil {
				return err
			}
			evd, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
			if err != nil {
				return err
			}
			if err := evd.ModifyCNO(cno); err != nil {
				return err
			}
			return ia.AsyncEVD().ModifyCNO(cno)
		},
		func() error {
			evd, err := udat.CreateEVD(ia, 8, udat.EVDCR)
			if err != nil {
				return err
			}
			return second(udat.CreatePSPAny(ia, evd))
		},
	}
}

// An abrupt close beside goroutines that go on creating succeeds at once, and
// they get ErrClosed.
func TestCloseBesideCreators(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				ia := openUnchecked(t, name)
				var calls sync.WaitGroup
				var made atomic.Int32
				enough := make(chan struct{})
				for _, create := range creators(ia) {
					calls.Add(1)
					go func() {
						defer calls.Done()
						for {
							err := create()
							if errors.Is(err, udat.ErrClosed) {
								return
							}
							if err != nil && !errors.Is(err, udat.ErrInsufficientResources) {
								t.Errorf("a call that creates beside the close: %v", err)
								return
							}
							if made.Add(1) == 12 {
								close(enough)
							}
						}
					}()
				}
				select {
				case <-enough:
				case <-udattest.Context(t).Done():
					t.Error("nothing is created")
				}
				closed := make(chan error)
				go func() { closed <- ia.Close(udat.CloseAbrupt) }()
				select {
				case err := <-closed:
					want(t, err)
				case <-udattest.Context(t).Done():
					t.Fatal("the close has no end")
				}
				calls.Wait()
			}
		})
	}
}

// oneSucceeds makes the call n times at once: one succeeds, and the others get
// ErrClosed.
func oneSucceeds(t *testing.T, call func() error, n int) {
	t.Helper()
	errs := make(chan error)
	start := make(chan struct{})
	for range n {
		go func() {
			<-start
			errs <- call()
		}()
	}
	close(start)
	succeeded := 0
	for range n {
		switch err := <-errs; {
		case err == nil:
			succeeded++
		case !errors.Is(err, udat.ErrClosed):
			t.Errorf("one of several at once: %v", err)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d of %d succeeded", succeeded, n)
	}
}

// everything makes objects of every kind that use each other, and lists how each
// is freed, users first.
func everything(t *testing.T, ia *udat.IA) []func() error {
	t.Helper()
	pz, err := udat.CreatePZ(ia)
	want(t, err)
	lmr, err := udat.AllocMemory(pz, 4096, udat.MemPrivLocalRead)
	want(t, err)
	dto, err := udat.CreateEVD(ia, 64, udat.EVDDTO)
	want(t, err)
	connect, err := udat.CreateEVD(ia, 8, udat.EVDConnection)
	want(t, err)
	srq, err := udat.CreateSRQ(ia, pz, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
	want(t, err)
	ep, err := udat.CreateEP(ia, pz, nil, nil, connect, nil)
	want(t, err)
	reserved, err := udat.CreateEP(ia, pz, nil, nil, connect, nil)
	want(t, err)
	requests, err := udat.CreateEVD(ia, 8, udat.EVDCR)
	want(t, err)
	psp, err := udat.CreatePSP(ia, udattest.ConnQual(), requests, udat.PSPConsumer)
	want(t, err)
	rsp, err := udat.CreateRSP(ia, udattest.ConnQual(), reserved, requests)
	want(t, err)
	cno, err := udat.CreateCNO(ia, nil)
	want(t, err)
	attached, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
	want(t, err)
	want(t, attached.ModifyCNO(cno))
	return []func() error{
		rsp.Free, psp.Free, ep.Free, reserved.Free, srq.Free, lmr.Free, attached.Free, cno.Free, requests.Free,
		connect.Free, dto.Free, pz.Free,
	}
}

// Of several goroutines that free an object, of any kind, one does.
func TestFreeTwiceAtOnce(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for range 10 {
			for _, free := range everything(t, ia) {
				oneSucceeds(t, free, 3)
			}
		}
	})
}

// A graceful close that is refused leaves the adapter as it was.
func TestCloseRefused(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		var calls sync.WaitGroup
		for range 4 {
			calls.Add(1)
			go func() {
				defer calls.Done()
				for range 20 {
					want(t, ia.Close(udat.CloseGraceful), udat.ErrInvalidState, udat.InvalidStateIAInUse)
				}
			}()
		}
		for range 5 {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			udattest.ConnectPair(t, listener, active, passive)
		}
		calls.Wait()
	})
}
