package udat

import "sync"

// capacity accounts for the events that may come to an EVD at once.
type capacity struct {
	mu    sync.Mutex
	total int
	used  int
}

// reserve claims room for n more events. It reports false, and what is left,
// when there is not so much.
func (c *capacity) reserve(n int) (left int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.total-c.used {
		return c.total - c.used, false
	}
	c.used += n
	return c.total - c.used, true
}

func (c *capacity) release(n int) {
	c.mu.Lock()
	c.used -= n
	c.mu.Unlock()
}

// streams accounts for the completion flags of the endpoints' streams that feed
// an EVD, which must be the same for all of them: see EPAttr.
type streams struct {
	mu    sync.Mutex
	count map[CompletionFlags]int
}

// join adds a stream. It reports false, and the flags of those that are there,
// when they are others, apart from the streams of held, which are about to leave.
func (s *streams) join(c claim, held []claim) (have CompletionFlags, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for have, n := range s.count {
		if have != c.flags && n > streamsOf(held, c.evd, have) {
			return have, false
		}
	}
	if s.count == nil {
		s.count = make(map[CompletionFlags]int)
	}
	s.count[c.flags]++
	return c.flags, true
}

func (s *streams) leave(flags CompletionFlags) {
	s.mu.Lock()
	s.count[flags]--
	s.mu.Unlock()
}

// claim is the room that an endpoint needs on one of its EVDs, and the place of
// its stream there.
type claim struct {
	evd *EVD
	n   int
	srq *SRQ // whose receives the room is for, shared by its endpoints on the EVD

	completions bool // the stream has completion flags
	flags       CompletionFlags
}

// reserveClaims claims what an endpoint needs beyond what it holds, as an EVD that
// overflows is lost, and the endpoints on it hang. Nobody else can have what it
// holds before releaseClaims gives back what it does not keep.
func reserveClaims(op string, claims, held []claim) error {
	for i, c := range claims {
		if err := c.reserve(op, claims[:i], held); err != nil {
			releaseClaims(claims[:i], held)
			return err
		}
	}
	return nil
}

// releaseClaims gives back what an endpoint has for claims beyond what it keeps.
func releaseClaims(claims, kept []claim) {
	for i, c := range claims {
		if c.completions {
			c.evd.streams.leave(c.flags)
		}
		c.releaseRoom(c.beyond(claims[:i], kept))
	}
}

func (c claim) reserve(op string, before, held []claim) error {
	if c.completions {
		if have, ok := c.evd.streams.join(c, held); !ok {
			return refuse(op, ErrInvalidParameter, InvalidArg6,
				"the completion flags are %v, on an event dispatcher that others with %v use: all must have the same", c.flags, have)
		}
	}
	n := c.beyond(before, held)
	if left, ok := c.reserveRoom(n); !ok {
		if c.completions {
			c.evd.streams.leave(c.flags)
		}
		return refuse(op, ErrInsufficientResources, ResourceTEVD,
			"the endpoint can have %d events at once on an event dispatcher that has room for %d of its %d", c.n, left+c.n-n, c.evd.qlen)
	}
	return nil
}

// beyond is the part of the room of c, which comes after others, that goes beyond
// what is held on the same account.
func (c claim) beyond(before, held []claim) int {
	had := c.roomOf(before) - c.roomOf(held)
	return max(had+c.n, 0) - max(had, 0)
}

// roomOf sums up the claims on the account of c.
func (c claim) roomOf(claims []claim) (n int) {
	for _, other := range claims {
		if other.evd == c.evd && other.srq == c.srq {
			n += other.n
		}
	}
	return n
}

func streamsOf(claims []claim, evd *EVD, flags CompletionFlags) (n int) {
	for _, c := range claims {
		if c.evd == evd && c.completions && c.flags == flags {
			n++
		}
	}
	return n
}

func (c claim) reserveRoom(n int) (left int, ok bool) {
	switch {
	case n == 0:
		return 0, true
	case c.srq != nil:
		return c.srq.reserve(c.evd)
	}
	return c.evd.capacity.reserve(n)
}

func (c claim) releaseRoom(n int) {
	switch {
	case n == 0:
	case c.srq != nil:
		c.srq.release(c.evd)
	default:
		c.evd.capacity.release(n)
	}
}
