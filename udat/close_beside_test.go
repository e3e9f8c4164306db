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

// creators create objects, some of which use others, on an adapter until they may no more.
func creators(ia *udat.IA) []func() error {
	memory := make([]byte, 4096)
	return []func() error{
		func() error { return second(udat.CreateEVD(ia, 8, udat.EVDSoftware)) },
		func() error {
			pz, err := udat.CreatePZ(ia)
			if err == nil {
				err = second(udat.RegisterMemory(pz, memory, udat.MemPrivLocalRead))
			}
			if err == nil {
				err = second(udat.CreateEP(ia, pz, nil, nil, nil, nil))
			}
			return err
		},
		func() error {
			cno, err := udat.CreateCNO(ia, nil)
			if err == nil {
				err = ia.AsyncEVD().ModifyCNO(cno)
			}
			return err
		},
		func() error {
			evd, err := udat.CreateEVD(ia, 8, udat.EVDCR)
			if err == nil {
				err = second(udat.CreatePSPAny(ia, evd))
			}
			return err
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
					spawn(&calls, func() {
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
					})
				}
				receive(t, enough)
				returns(t, func() error { return ia.Close(udat.CloseAbrupt) })
				calls.Wait()
			}
		})
	}
}

// Of several goroutines that free an object, of any kind, one does.
func TestFreeTwiceAtOnce(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				for _, o := range makeLive(t, name).freeOrder {
					const n = 3
					errs, start := make(chan error), make(chan struct{})
					for range n {
						go func() {
							<-start
							errs <- end(o)
						}()
					}
					close(start)
					succeeded := 0
					for range n {
						if err := <-errs; err == nil {
							succeeded++
						} else {
							want(t, err, udat.ErrClosed)
						}
					}
					if succeeded != 1 {
						t.Errorf("%d of %d succeeded for %T", succeeded, n, o)
					}
				}
			}
		})
	}
}
