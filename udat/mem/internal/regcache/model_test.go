package regcache

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The model is the simplest cache: a list of regions that it searches each time.
type model struct {
	limits  Limits
	stats   Stats
	regions []*modelRegion
	clock   int
}

type modelRegion struct {
	start, end uintptr
	privileges uint32
	users      int
	found      bool
	used       int // time of the last release
	locked     bool
}

func (m *model) acquire(start, end uintptr, privileges uint32) (r *modelRegion, hit, fits bool) {
	for _, r := range m.regions {
		if r.found && r.start <= start && end <= r.end && r.privileges&privileges == privileges {
			// The cache chooses among several.
			m.stats.Hits++
			return nil, true, true
		}
	}
	size := int64(end - start)
	room := func() bool { return len(m.regions) < m.limits.Regions && m.bytes(nil)+size <= m.limits.Bytes }
	if !room() {
		m.freeStrays()
		// If it meets locked regions, it continues until there is room, or nothing to evict.
		for !room() && m.evictOldestFor(size) {
		}
		if !room() {
			m.stats.Refusals++
			return nil, false, false
		}
	}
	m.stats.Misses++
	r = &modelRegion{start: start, end: end, privileges: privileges, users: 1}
	m.insert(r)
	return r, false, true
}

// evictOldestFor evicts regions to make room, if all of them can be freed, and reports whether
// there were any.
func (m *model) evictOldestFor(size int64) bool {
	bytes, regions := m.bytes(nil)+size-m.limits.Bytes, len(m.regions)+1-m.limits.Regions
	if bytes > m.bytes((*modelRegion).idle) || regions > m.count((*modelRegion).idle) {
		return false
	}
	for bytes > 0 || regions > 0 {
		r := m.oldest()
		bytes -= r.size()
		regions--
		m.evict(r)
	}
	return true
}

func (m *model) insert(r *modelRegion) {
	covered := slices.ContainsFunc(m.regions, func(o *modelRegion) bool {
		return o.found && o.privileges == r.privileges && o.start <= r.start && r.end <= o.end
	})
	r.found = !covered
	for _, o := range slices.Clone(m.regions) {
		if !covered && o.found && o.privileges == r.privileges && r.start <= o.start && o.end <= r.end {
			o.found = false
			if o.users == 0 {
				m.free(o)
			}
		}
	}
	m.regions = append(m.regions, r)
}

func (r *modelRegion) size() int64   { return int64(r.end - r.start) }
func (r *modelRegion) idle() bool    { return r.found && r.users == 0 }
func (r *modelRegion) stray() bool   { return !r.found && r.users == 0 }
func (m *model) free(r *modelRegion) { r.found = false; m.freeUnlocked(r) }

func (m *model) freeUnlocked(r *modelRegion) {
	if !r.locked {
		m.regions = slices.DeleteFunc(m.regions, func(o *modelRegion) bool { return o == r })
	}
}

func (m *model) freeStrays() {
	for _, r := range slices.Clone(m.regions) {
		if r.stray() {
			m.freeUnlocked(r)
		}
	}
}

func (m *model) oldest() *modelRegion {
	var idle []*modelRegion
	for _, r := range m.regions {
		if r.idle() {
			idle = append(idle, r)
		}
	}
	return slices.MinFunc(idle, func(a, b *modelRegion) int { return cmp.Compare(a.used, b.used) })
}

func (m *model) evict(r *modelRegion) {
	m.stats.Evictions++
	m.free(r)
}

func (m *model) release(r *modelRegion) {
	m.clock++
	if r.users--; r.users > 0 {
		return
	}
	r.used = m.clock
	if !r.found {
		m.free(r)
		return
	}
	for m.count((*modelRegion).idle) > m.limits.IdleRegions || m.bytes((*modelRegion).idle) > m.limits.IdleBytes {
		m.evict(m.oldest())
	}
}

func (m *model) flush() {
	m.freeStrays()
	for _, r := range slices.Clone(m.regions) {
		if r.idle() {
			m.evict(r)
		}
	}
}

func (m *model) forget(start, end uintptr) (inUse, failed bool) {
	for _, r := range slices.Clone(m.regions) {
		if r.end <= start || end <= r.start {
			continue
		}
		r.found = false
		if r.users > 0 {
			inUse = true
			continue
		}
		failed = failed || r.locked
		m.freeUnlocked(r)
	}
	return inUse, failed
}

func (m *model) bytes(which func(*modelRegion) bool) (n int64) {
	for _, r := range m.regions {
		if which == nil || which(r) {
			n += r.size()
		}
	}
	return n
}

func (m *model) count(which func(*modelRegion) bool) (n int) {
	for _, r := range m.regions {
		if which(r) {
			n++
		}
	}
	return n
}

func (m *model) counted() Stats {
	s := m.stats
	s.Regions, s.IdleRegions = len(m.regions), m.count((*modelRegion).idle)
	s.Bytes, s.IdleBytes = m.bytes(nil), m.bytes((*modelRegion).idle)
	return s
}

var errLocked = errors.New("locked")

// Random use by one goroutine has the model's result at each step: what is found, evicted, refused
// and left.
func TestRandomUseAgainstModel(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomUse(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomUse(t *testing.T, random *rand.Rand) {
	arena := make([]byte, 400)
	base, _ := rangeOf(arena)
	limits := Limits{
		IdleBytes: int64(random.IntN(300)), IdleRegions: random.IntN(8),
		Bytes: int64(100 + random.IntN(600)), Regions: 1 + random.IntN(12),
	}
	m := &model{limits: limits}
	live := map[*modelRegion]bool{} // in the backend
	var incoming *modelRegion       // of the model, not registered yet
	c := New(limits, Backend[*modelRegion]{
		Register: func([]byte, uint32) (*modelRegion, error) {
			if live[incoming] = true; len(live) > limits.Regions {
				t.Fatalf("%d regions are registered, at most %d may be", len(live), limits.Regions)
			}
			return incoming, nil
		},
		Free: func(r *modelRegion) error {
			if !live[r] || r.users > 0 {
				t.Fatalf("%+v is freed, live: %v", r, live[r])
			}
			if r.locked {
				return errLocked
			}
			delete(live, r)
			return nil
		},
		Scarce: func(error) bool { return false },
	})
	type held struct{ region *Region[*modelRegion] }
	var holds []held
	compare := func(step string) {
		t.Helper()
		if got, want := c.Stats(), m.counted(); got != want {
			t.Fatalf("after %s the cache has\n%+v, the model\n%+v", step, got, want)
		}
		if len(live) != len(m.regions) {
			t.Fatalf("after %s %d regions are registered, %d in the model", step, len(live), len(m.regions))
		}
	}
	for range 400 {
		start := random.IntN(len(arena))
		memory := arena[start:min(len(arena), start+1+random.IntN(90))]
		from, to := uintptr(start)+base, uintptr(start+len(memory))+base
		switch random.IntN(12) {
		default:
			privileges := uint32(1 + random.IntN(3))
			step := fmt.Sprintf("acquiring %d bytes at %d with %d", len(memory), start, privileges)
			r, hit, fits := m.acquire(from, to, privileges)
			incoming = r
			region, err := c.Acquire(memory, privileges)
			var limit *LimitError
			if errors.As(err, &limit) == fits || (err == nil) != fits {
				t.Fatalf("%s: %v, the model has hit %v, fits %v", step, err, hit, fits)
			}
			if err != nil {
				compare(step)
				continue
			}
			got := region.Value
			if hit {
				if got.start > from || got.end < to || got.privileges&privileges != privileges || !got.found {
					t.Fatalf("%s: found %+v", step, got)
				}
				got.users++
			} else if got != r || region.start != from {
				t.Fatalf("%s: registered %+v", step, got)
			}
			holds = append(holds, held{region})
			compare(step)
		case 0, 1, 2, 3:
			if len(holds) == 0 {
				continue
			}
			i := random.IntN(len(holds))
			region := holds[i].region
			holds = slices.Delete(holds, i, i+1)
			m.release(region.Value)
			c.Release(region)
			compare("a release")
		case 4:
			for _, r := range m.regions {
				r.locked = random.IntN(4) == 0
			}
		case 5:
			if random.IntN(4) > 0 {
				continue
			}
			m.flush()
			c.Flush()
			compare("a flush")
		case 6:
			inUse, failed := m.forget(from, to)
			err := c.Forget(memory)
			if errors.Is(err, ErrInUse) != inUse || errors.Is(err, errLocked) != failed {
				t.Fatalf("forgetting %d bytes at %d: %v, the model has in use %v, failed %v", len(memory), start, err, inUse, failed)
			}
			compare("forgetting")
		}
	}
	if len(holds) > 0 {
		if err := c.Close(); !errors.Is(err, ErrInUse) {
			t.Fatalf("closing with %d in use: %v", len(holds), err)
		}
	}
	for _, h := range holds {
		m.release(h.region.Value)
		c.Release(h.region)
	}
	locked := false
	for _, r := range m.regions {
		locked = locked || r.locked
	}
	if err := c.Close(); errors.Is(err, errLocked) != locked {
		t.Fatalf("closing: %v, locked regions: %v", err, locked)
	}
	for r := range live {
		r.locked = false
	}
	if err := c.Close(); err != nil && !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if len(live) > 0 {
		t.Fatalf("%d regions are left", len(live))
	}
	if _, err := c.Acquire(arena, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed cache returns %v", err)
	}
	if err := errors.Join(c.Forget(arena), c.Close()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed cache returns %v", err)
	}
}
