package bufferpool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// tray is a slab for tests, with a mark for each buffer in use.
type tray struct {
	out    []atomic.Bool
	locked atomic.Bool
}

type backend struct {
	mu    sync.Mutex
	trays map[*tray]bool
	fail  error
}

var errLocked = errors.New("locked")

func (b *backend) functions(t *testing.T) Backend[*tray] {
	return Backend[*tray]{
		Make: func(buffers int) (*tray, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.fail != nil {
				return nil, b.fail
			}
			made := &tray{out: make([]atomic.Bool, buffers)}
			b.trays[made] = true
			return made, nil
		},
		Free: func(old *tray) error {
			for i := range old.out {
				if old.out[i].Load() {
					t.Error("a slab with a buffer in use is freed")
				}
			}
			if old.locked.Load() {
				runtime.Gosched() // other goroutines have the time to make a slab
				return errLocked
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if !b.trays[old] {
				t.Error("a slab is freed twice")
			}
			delete(b.trays, old)
			return nil
		},
	}
}

func (b *backend) buffers() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.trays {
		n += len(s.out)
	}
	return n
}

// take marks a buffer that came from the pool.
func take(t *testing.T, h Handle[*tray]) {
	t.Helper()
	slab, number := h.Slab()
	if slab.out[number].Swap(true) {
		t.Error("a buffer in use is handed out")
	}
}

func put(t *testing.T, p *Pool[*tray], h Handle[*tray]) {
	t.Helper()
	slab, number := h.Slab()
	slab.out[number].Store(false)
	if err := p.Put(h); err != nil {
		t.Error(err)
	}
}

// Random use by one goroutine: each buffer is handed out once, stale handles and cookies are
// refused, limits and counters are right.
func TestRandomUse(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomUse(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomUse(t *testing.T, random *rand.Rand) {
	b := &backend{trays: map[*tray]bool{}}
	most := 1 + random.IntN(30)
	p := New(most, 1+random.IntN(most), b.functions(t))
	var out, stale []Handle[*tray]
	expected := Stats{}
	for range 300 {
		switch random.IntN(10) {
		case 0, 1, 2, 3:
			h, err := p.Get()
			if full := len(out) == most; errors.Is(err, ErrExhausted) != full || (err == nil) == full {
				t.Fatalf("with %d of %d buffers out: %v", len(out), most, err)
			}
			if err != nil {
				expected.Refusals++
				continue
			}
			take(t, h)
			out = append(out, h)
			expected.Gets++
			expected.MostInUse = max(expected.MostInUse, len(out))
		case 4, 5, 6:
			if len(out) == 0 {
				continue
			}
			i := random.IntN(len(out))
			put(t, p, out[i])
			stale = append(stale[max(0, len(stale)-20):], out[i])
			out = slices.Delete(out, i, i+1)
		case 7:
			keep := random.IntN(most)
			before := b.buffers()
			unused := before - len(out)
			freed, err := p.Trim(keep)
			if after := b.buffers(); err == nil && freed != before-after || freed > 0 && unused-freed < keep {
				t.Fatalf("trimming to %d of %d unused buffers: %d freed, %d there, %v", keep, unused, freed, after, err)
			}
		case 8:
			for s := range b.trays {
				s.locked.Store(random.IntN(3) == 0)
			}
		case 9:
			b.fail = nil
		}
		for _, h := range out {
			if found, err := p.Find(h.Cookie()); !h.Valid() || err != nil || found != h {
				t.Fatalf("the cookie of a buffer in use finds %v, %v", found, err)
			}
		}
		for _, h := range stale {
			if _, err := p.Find(h.Cookie()); h.Valid() || !errors.Is(err, ErrStale) || !errors.Is(p.Put(h), ErrStale) {
				t.Fatalf("a stale handle is accepted")
			}
		}
		expected.InUse, expected.Buffers, expected.Slabs = len(out), b.buffers(), len(b.trays)
		if got := p.Stats(); got != expected {
			t.Fatalf("the pool has %+v, want %+v", got, expected)
		}
	}
	if len(out) > 0 {
		if err := p.Close(); !errors.Is(err, ErrInUse) {
			t.Fatalf("closing with %d buffers out: %v", len(out), err)
		}
	}
	for _, h := range out {
		put(t, p, h)
	}
	locked := false
	for s := range b.trays {
		locked = locked || s.locked.Load()
	}
	if err := p.Close(); errors.Is(err, errLocked) != locked {
		t.Fatalf("closing: %v, locked slabs: %v", err, locked)
	}
	for s := range b.trays {
		s.locked.Store(false)
	}
	if err := p.Close(); err != nil && !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := p.Get(); !errors.Is(err, ErrClosed) || b.buffers() > 0 {
		t.Errorf("after closing there are %d buffers, and Get returns %v", b.buffers(), err)
	}
}

// When fewer buffers are in use, fewer slabs are: those of the first slabs are handed out first.
func TestLastSlabsBecomeUnused(t *testing.T) {
	b := &backend{trays: map[*tray]bool{}}
	p := New(100, 10, b.functions(t))
	var out []Handle[*tray]
	for range 100 {
		h, err := p.Get()
		if err != nil {
			t.Fatal(err)
		}
		take(t, h)
		out = append(out, h)
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	for _, h := range out {
		put(t, p, h)
	}
	for range 300 {
		var few []Handle[*tray]
		for range 15 {
			h, err := p.Get()
			if err != nil {
				t.Fatal(err)
			}
			take(t, h)
			few = append(few, h)
		}
		for _, h := range few[:10] {
			put(t, p, h)
		}
		for _, h := range few[10:] {
			put(t, p, h)
		}
	}
	h, err := p.Get()
	if err != nil {
		t.Fatal(err)
	}
	if freed, err := p.Trim(5); freed != 90 || err != nil {
		t.Errorf("%d buffers were freed, %v", freed, err)
	}
	if slab, _ := h.Slab(); !b.trays[slab] {
		t.Error("the buffer came from the wrong slab")
	}
}

// A slab that cannot be made is an error. The next Get tries again.
func TestFailingSlab(t *testing.T) {
	b := &backend{trays: map[*tray]bool{}, fail: errors.New("no memory")}
	p := New(10, 10, b.functions(t))
	for range 2 {
		if _, err := p.Get(); err != b.fail {
			t.Errorf("Get returns %v", err)
		}
	}
	b.fail = nil
	if _, err := p.Get(); err != nil {
		t.Error(err)
	}
	var none Handle[*tray]
	if none.Valid() || !errors.Is(p.Put(none), ErrStale) {
		t.Error("a zero handle is accepted")
	}
	for _, cookie := range []uint64{0, 1, 1 << 32, 11 << 32, 1<<64 - 1} {
		if _, err := p.Find(cookie); !errors.Is(err, ErrStale) && cookie != 1 {
			t.Errorf("the cookie %#x finds %v", cookie, err)
		}
	}
}

// Many goroutines run side by side. Some of them trim, and some slabs come back from that.
func TestGoroutinesBesideEachOther(t *testing.T) {
	b := &backend{trays: map[*tray]bool{}}
	const most = 40
	p := New(most, 7, b.functions(t))
	var goroutines sync.WaitGroup
	for range 8 {
		goroutines.Add(1)
		go func() {
			defer goroutines.Done()
			var mine []Handle[*tray]
			for range 2000 {
				switch random := rand.IntN(20); {
				case random == 0:
					if _, err := p.Trim(rand.IntN(10)); err != nil && !errors.Is(err, errLocked) {
						t.Error(err)
					}
				case random < 10 && len(mine) < 8:
					h, err := p.Get()
					if err == nil {
						take(t, h)
						slab, _ := h.Slab()
						slab.locked.Store(rand.IntN(4) == 0)
						mine = append(mine, h)
					} else if !errors.Is(err, ErrExhausted) {
						t.Error(err)
					}
				case len(mine) > 0:
					put(t, p, mine[0])
					mine = mine[1:]
				}
				if n := b.buffers(); n > most {
					t.Errorf("there are %d buffers", n)
				}
			}
			for _, h := range mine {
				put(t, p, h)
			}
		}()
	}
	goroutines.Wait()
	for s := range b.trays {
		s.locked.Store(false)
	}
	if err := p.Close(); err != nil || b.buffers() > 0 {
		t.Errorf("%d buffers are left, %v", b.buffers(), err)
	}
}
