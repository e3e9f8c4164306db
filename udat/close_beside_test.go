package udat_test

import (
	"cmp"
	"errors"
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

// An abrupt close beside goroutines that go on creating succeeds at once, and
// they get ErrClosed.
func TestCloseBesideCreators(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				ia := openUnchecked(t, name)
				memory := make([]byte, 4096)
				enough := make(chan struct{}, 12)
				var stops []func() <-chan error
				for _, create := range []func(pz *udat.PZ, evd *udat.EVD, cno *udat.CNO) error{
					func(pz *udat.PZ, _ *udat.EVD, _ *udat.CNO) error {
						return second(udat.CreateEP(ia, pz, nil, nil, nil, nil))
					},
					func(pz *udat.PZ, _ *udat.EVD, _ *udat.CNO) error {
						return second(udat.RegisterMemory(pz, memory, udat.MemPrivLocalRead))
					},
					func(_ *udat.PZ, evd *udat.EVD, _ *udat.CNO) error { return second(udat.CreatePSPAny(ia, evd)) },
					func(_ *udat.PZ, _ *udat.EVD, cno *udat.CNO) error { return ia.AsyncEVD().ModifyCNO(cno) },
				} {
					stops = append(stops, beside(func() error {
						pz, noZone := udat.CreatePZ(ia)
						evd, noEVD := udat.CreateEVD(ia, 8, udat.EVDCR)
						cno, noCNO := udat.CreateCNO(ia, nil)
						err := cmp.Or(noZone, noEVD, noCNO)
						if err == nil {
							err = create(pz, evd, cno)
						}
						if errors.Is(err, udat.ErrInsufficientResources) {
							return nil
						}
						select {
						case enough <- struct{}{}:
						default:
						}
						return err
					}))
				}
				for range cap(enough) {
					receive(t, enough)
				}
				returns(t, func() error { return ia.Close(udat.CloseAbrupt) })
				for _, stop := range stops {
					if err := receive(t, stop()); !errors.Is(err, udat.ErrClosed) {
						want(t, err)
					}
				}
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
