package udat_test

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// An abrupt close beside goroutines that go on creating succeeds at once, and
// they get ErrClosed.
func TestCloseBesideCreators(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				ia := must(udat.Open(name))
				memory := make([]byte, 4096)
				enough := make(chan struct{}, 12)
				var stops []func() <-chan error
				for _, create := range []func(pz *udat.PZ) error{
					func(pz *udat.PZ) error { return second(udat.CreateEP(ia, pz, nil, nil, nil, nil)) },
					func(pz *udat.PZ) error { return second(udat.RegisterMemory(pz, memory, udat.MemPrivLocalRead)) },
					func(*udat.PZ) error {
						evd, err := udat.CreateEVD(ia, 8, nil, udat.EVDCR)
						return cmp.Or(err, second(udat.CreatePSPAny(ia, evd)))
					},
					func(*udat.PZ) error {
						cno, err := udat.CreateCNO(ia, nil)
						return cmp.Or(err, ia.AsyncEVD().ModifyCNO(cno))
					},
				} {
					stops = append(stops, beside(func() error {
						pz, err := udat.CreatePZ(ia)
						if err == nil {
							err = create(pz)
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

// A close beside another one waits until the outcome of that is known.
func TestSecondCloseWaits(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia := must(udat.Open(name))
			returned := udat.HoldPost(udattest.NewEndpoint(t, ia, nil).EP) // an abrupt close frees the endpoint
			closed := make(chan error, 2)
			for range cap(closed) {
				go func() { closed <- ia.Close(udat.CloseAbrupt) }()
			}
			select {
			case err := <-closed:
				t.Errorf("one returns before the adapter is closed: %v", err)
				closed <- err
			case <-time.After(50 * time.Millisecond): // it would take some µs
			}
			returned()
			if a, b := receive(t, closed), receive(t, closed); (a == nil) == (b == nil) || !errors.Is(cmp.Or(a, b), udat.ErrClosed) {
				t.Errorf("they return %v and %v", a, b)
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

// beside calls f over and over until stop is called, or f fails. The channel that stop
// returns has the error, or nil.
func beside(f func() error) (stop func() <-chan error) {
	var over atomic.Bool
	stopped := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !over.Load() {
			err = f()
		}
		stopped <- err
	}()
	return func() <-chan error {
		over.Store(true)
		return stopped
	}
}

// spawn calls f on a goroutine of the group.
func spawn(group *sync.WaitGroup, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		f()
	}()
}
