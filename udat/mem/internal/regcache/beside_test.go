package regcache

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// device is a backend with little room. It checks its calls.
type device struct {
	t       *testing.T
	room    int
	mu      sync.Mutex
	regions map[*registered]struct{}
}

type registered struct {
	start, end uintptr
	privileges uint32
	users      atomic.Int32
	freed      atomic.Bool
}

var errScarce = errors.New("no room on the device")

func (d *device) backend() Backend[*registered] {
	return Backend[*registered]{
		Register: func(memory []byte, privileges uint32) (*registered, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if len(d.regions) >= d.room {
				return nil, errScarce
			}
			r := &registered{privileges: privileges}
			r.start, r.end = rangeOf(memory)
			d.regions[r] = struct{}{}
			return r, nil
		},
		Free: func(r *registered) error {
			if r.users.Load() > 0 {
				d.t.Error("a region in use is freed")
			}
			if rand.IntN(8) == 0 {
				return errLocked
			}
			if r.freed.Swap(true) {
				d.t.Error("a region is freed twice")
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.regions, r)
			return nil
		},
		Scarce: func(err error) bool { return errors.Is(err, errScarce) },
	}
}

// Each of many goroutines gets regions that exist as long as it uses them. In the end nothing is
// left.
func TestGoroutinesBesideEachOther(t *testing.T) {
	arena := make([]byte, 1000)
	for _, limits := range []Limits{
		{IdleBytes: 400, IdleRegions: 5, Bytes: 1 << 30, Regions: 1 << 30},
		{IdleBytes: 1 << 30, IdleRegions: 1 << 30, Bytes: 1500, Regions: 20},
		{IdleBytes: 1 << 30, IdleRegions: 1 << 30, Bytes: 1 << 30, Regions: 1 << 30},
	} {
		d := &device{t: t, room: 16, regions: map[*registered]struct{}{}}
		c := New(limits, d.backend())
		var goroutines sync.WaitGroup
		for range 8 {
			goroutines.Add(1)
			go func() {
				defer goroutines.Done()
				for range 3000 {
					start := rand.IntN(10) * 100
					memory := arena[start : start+1+rand.IntN(len(arena)-start)]
					switch rand.IntN(20) {
					case 0:
						c.Flush()
						continue
					case 1:
						c.Forget(memory)
						continue
					}
					use(t, c, memory, uint32(1+rand.IntN(3)))
				}
			}()
		}
		goroutines.Wait()
		for err := c.Close(); !errors.Is(err, ErrClosed); err = c.Close() {
			if err != nil && !errors.Is(err, errLocked) {
				t.Fatal(err)
			}
		}
		if s := c.Stats(); len(d.regions) > 0 || s.Regions != 0 || s.Bytes != 0 || s.IdleRegions != 0 || s.IdleBytes != 0 {
			t.Errorf("%d regions are left, and the cache has %+v", len(d.regions), s)
		}
	}
}

func use(t *testing.T, c *Cache[*registered], memory []byte, privileges uint32) {
	region, err := c.Acquire(memory, privileges)
	var limit *LimitError
	switch {
	case errors.As(err, &limit), errors.Is(err, errScarce):
		return
	case err != nil:
		t.Error(err)
		return
	}
	r := region.Value
	r.users.Add(1)
	start, end := rangeOf(memory)
	if start < r.start || r.end < end || r.privileges&privileges != privileges {
		t.Error("a region was found that does not fit")
	}
	if rand.IntN(2) == 0 {
		runtime.Gosched()
	}
	if r.freed.Load() {
		t.Error("a region in use was freed")
	}
	r.users.Add(-1)
	c.Release(region)
}

// Goroutines that want the same memory at once register it once.
func TestSameMemoryAtOnce(t *testing.T) {
	const goroutines = 8
	memory := make([]byte, 100)
	begin := make(chan struct{})
	registrations := 0
	c := New(Limits{IdleBytes: 1000, IdleRegions: 10, Bytes: 1000, Regions: 10}, Backend[int]{
		Register: func([]byte, uint32) (int, error) {
			<-begin
			registrations++
			return registrations, nil
		},
		Free: func(int) error { return nil },
	})
	var acquired sync.WaitGroup
	for range goroutines {
		acquired.Add(1)
		go func() {
			defer acquired.Done()
			region, err := c.Acquire(memory, 1)
			if err != nil {
				t.Error(err)
				return
			}
			c.Release(region)
		}()
	}
	for len(begin) == 0 && c.Stats().Misses == 0 {
		runtime.Gosched()
	}
	close(begin)
	acquired.Wait()
	if s := c.Stats(); registrations != 1 || s.Hits != goroutines-1 {
		t.Errorf("%d registrations, %+v", registrations, s)
	}
}

// A failed registration does not keep others from trying. When the device has no room, the cache
// frees what it does not need.
func TestFailingRegistration(t *testing.T) {
	memory := make([]byte, 100)
	fail := errors.New("unfit memory")
	live, room := 0, 1
	var err error
	c := New(Limits{IdleBytes: 1000, IdleRegions: 10, Bytes: 1000, Regions: 10}, Backend[int]{
		Register: func([]byte, uint32) (int, error) {
			switch {
			case err != nil:
				return 0, err
			case live == room:
				return 0, errScarce
			}
			live++
			return live, nil
		},
		Free:   func(int) error { live--; return nil },
		Scarce: func(err error) bool { return err == errScarce },
	})
	err = fail
	if _, got := c.Acquire(memory, 1); got != fail {
		t.Errorf("a failing registration returns %v", got)
	}
	if s := c.Stats(); s.Regions != 0 || s.Bytes != 0 {
		t.Errorf("after a failing registration there is %+v", s)
	}
	err = nil
	first, got := c.Acquire(memory[:10], 1)
	if got != nil {
		t.Fatal(got)
	}
	if _, got := c.Acquire(memory[50:], 1); got != errScarce {
		t.Errorf("without room on the device there is %v", got)
	}
	c.Release(first)
	second, got := c.Acquire(memory[50:], 1)
	if got != nil {
		t.Fatalf("the idle region did not make room: %v", got)
	}
	c.Release(second)
	if s := c.Stats(); s.Regions != 1 || live != 1 {
		t.Errorf("there are %d regions, and %+v", live, s)
	}
}

// Memory that is forgotten while it is being registered is not found afterwards: its addresses may be those of other
// memory by then.
func TestForgetBesideRegistration(t *testing.T) {
	memory := make([]byte, 100)
	begun, end := make(chan bool), make(chan bool)
	registrations := 0
	c := New(Limits{IdleBytes: 1000, IdleRegions: 10, Bytes: 1000, Regions: 10}, Backend[int]{
		Register: func([]byte, uint32) (int, error) {
			if registrations++; registrations == 1 {
				close(begun)
				<-end
			}
			return registrations, nil
		},
		Free: func(int) error { return nil },
	})
	acquired := make(chan *Region[int])
	go func() {
		region, err := c.Acquire(memory, 1)
		if err != nil {
			t.Error(err)
		}
		acquired <- region
	}()
	<-begun
	if err := c.Forget(memory); !errors.Is(err, ErrInUse) {
		t.Errorf("forgetting memory that is being registered: %v", err)
	}
	close(end)
	first := <-acquired
	second, err := c.Acquire(memory, 1)
	if err != nil {
		t.Fatal(err)
	}
	if second == first {
		t.Error("memory that was forgotten while it was being registered is found")
	}
	c.Release(first)
	c.Release(second)
	if s := c.Stats(); s.Regions != 1 || s.IdleRegions != 1 {
		t.Errorf("there is %+v", s)
	}
}

// Whoever needs regions to be free waits for those that others are freeing just then.
func TestWaitForFreeing(t *testing.T) {
	memory := make([]byte, 200)
	for name, call := range map[string]func(c *Cache[int]) error{
		"Forget": func(c *Cache[int]) error { return c.Forget(memory) },
		"Close":  func(c *Cache[int]) error { return c.Close() },
		"Acquire without room on the device": func(c *Cache[int]) error {
			region, err := c.Acquire(memory[100:], 1)
			if err == nil {
				c.Release(region)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			freeing, end := make(chan bool), make(chan bool)
			var live, freed atomic.Int32
			c := New(Limits{IdleBytes: 1000, IdleRegions: 10, Bytes: 1000, Regions: 10}, Backend[int]{
				Register: func([]byte, uint32) (int, error) {
					if live.Load() > 0 {
						return 0, errScarce
					}
					return int(live.Add(1)), nil
				},
				Free: func(int) error {
					close(freeing)
					<-end
					live.Add(-1)
					freed.Add(1)
					return nil
				},
				Scarce: func(err error) bool { return err == errScarce },
			})
			region, err := c.Acquire(memory[:100], 1)
			if err != nil {
				t.Fatal(err)
			}
			c.Release(region)
			flushed, returned := make(chan error), make(chan error)
			go func() {
				_, err := c.Flush()
				flushed <- err
			}()
			<-freeing
			go func() {
				err := call(c)
				if freed.Load() == 0 {
					t.Error("it returns while a region is being freed")
				}
				returned <- err
			}()
			for range 100 {
				runtime.Gosched()
			}
			close(end)
			if err := errors.Join(<-flushed, <-returned); err != nil {
				t.Error(err)
			}
		})
	}
}
