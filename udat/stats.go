package udat

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// Stats are the counters of an adapter: see IA.EnableStats.
type Stats struct {
	Living           map[string]int         // objects that are alive, by Origin.Kind
	Posts            uint64                 // operations that the library has accepted
	RefusedPosts     uint64                 // calls that have posted nothing, or not all operations of a batch
	Completions      map[DTOStatus]uint64   // completions taken
	ConnectionEvents map[EventNumber]uint64 // connection events and requests taken
	Connects         uint64                 // attempts to connect
	Outcomes         uint64                 // attempts whose outcome was taken
	ConnectTime      time.Duration          // of these attempts in total, from the call until the outcome was taken
	SleepingWaits    uint64                 // waits on EVDs that found no event, even by spinning
}

// EnableStats starts all counters of Stats but Living and SleepingWaits. A post then takes some
// nanoseconds longer.
func (ia *IA) EnableStats() {
	if ia != nil {
		ia.counters.CompareAndSwap(nil, &counters{connectionEvents: map[EventNumber]uint64{}})
	}
}

// Stats returns the counters. They are read one after the other.
func (ia *IA) Stats() Stats {
	s := Stats{Living: map[string]int{}, Completions: map[DTOStatus]uint64{}, ConnectionEvents: map[EventNumber]uint64{}}
	if ia == nil || ia.notifier == nil {
		return s
	}
	for _, r := range ia.obj.Ledger.Living() {
		s.Living[r.Kind]++
	}
	s.SleepingWaits = ia.notifier.Sleeps()
	c := ia.counters.Load()
	if c == nil {
		return s
	}
	s.Posts, s.RefusedPosts = c.posts.Load(), c.refusedPosts.Load()
	for status := range c.completions {
		if n := c.completions[status].Load(); n > 0 {
			s.Completions[DTOStatus(status)] = n
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(s.ConnectionEvents, c.connectionEvents)
	s.Connects, s.Outcomes, s.ConnectTime = c.connects, c.outcomes, c.connectTime
	return s
}

// counters are those of an adapter. Nil ones count nothing.
type counters struct {
	posts, refusedPosts atomic.Uint64
	completions         [cgo.DTOErrLocalMMError + 1]atomic.Uint64

	mu                 sync.Mutex
	connectionEvents   map[EventNumber]uint64
	connects, outcomes uint64
	connectTime        time.Duration
}

func (c *counters) posted(accepted int) {
	if c != nil {
		c.posts.Add(uint64(accepted))
	}
}

// refusedPost counts a post that ends with err. The adapter is nil for an object that was not made.
func (ia *IA) refusedPost(err error) {
	if err != nil && ia != nil {
		if c := ia.counters.Load(); c != nil {
			c.refusedPosts.Add(1)
		}
	}
}

func (c *counters) completed(status DTOStatus) {
	if c != nil && int(status) < len(c.completions) {
		c.completions[status].Add(1)
	}
}

// attempt begins an attempt to connect.
func (c *counters) attempt(ep *EP, native func() error) error {
	if c == nil {
		return native()
	}
	began := time.Now()
	ep.connectStart.Store(&began) // first: the outcome may come at once
	err := native()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.connects++
	} else {
		ep.connectStart.Store(nil)
	}
	return err
}

// connection counts an event of ep, which may be the outcome of an attempt, or a request.
func (c *counters) connection(number EventNumber, ep *EP) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connectionEvents[number]++
	if number == EventConnectionRequest {
		return
	}
	if began := ep.connectStart.Swap(nil); began != nil {
		c.outcomes++
		c.connectTime += time.Since(*began)
	}
}
