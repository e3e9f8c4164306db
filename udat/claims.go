package udat

import "sync"

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

func streamsOf(claims []claim, evd *EVD, flags CompletionFlags) (n int) {
	for _, c := range claims {
		if c.evd == evd && c.flags == flags {
			n++
		}
	}
	return n
}

// claim is the place of a stream of completions on an EVD: its flags, and how
// many operations may be outstanding that complete there. The feeder is nil if they
// need no room there.
type claim struct {
	evd    *EVD
	feeder feeder
	n      int
	flags  CompletionFlags
}

// claims lists the streams of completions of an endpoint that is made of the parts.
func (ep *EP) claims(p *epParts) (claims []claim) {
	a := p.attr
	switch {
	case p.apart != nil:
		claims = append(claims, claim{evd: p.recv, flags: a.RecvCompletionFlags})
	case p.srq != nil:
		claims = append(claims, claim{p.recv, p.srq, p.srq.attr.MaxRecvDTOs, a.RecvCompletionFlags})
	case p.recv != nil:
		claims = append(claims, claim{p.recv, &ep.recv, a.MaxRecvDTOs, a.RecvCompletionFlags})
	}
	if p.request != nil {
		claims = append(claims, claim{p.request, &ep.request, a.MaxRequestDTOs, a.RequestCompletionFlags})
	}
	return claims
}

// enterClaims enters the streams at their EVDs, beside those of held, which the
// endpoint has until leaveClaims. It refuses those whose flags do not fit.
func enterClaims(op string, claims, held []claim) error {
	for i, c := range claims {
		if have, ok := c.evd.streams.join(c, held); !ok {
			leaveClaims(claims[:i], held)
			return refuse(op, ErrInvalidParameter, InvalidArg6,
				"the completion flags are %v, on an event dispatcher that others with %v use, and all must have the same: leave CompletionDefault everywhere, or use another event dispatcher", c.flags, have)
		}
		if c.feeder != nil {
			c.evd.admit(c.feeder, c.n)
		}
	}
	return nil
}

// leaveClaims takes the streams from their EVDs. The endpoint keeps those of kept.
func leaveClaims(claims, kept []claim) {
	for _, c := range claims {
		c.evd.streams.leave(c.flags)
		if c.feeder == nil {
			continue
		}
		stays := c.n
		for _, k := range kept {
			if k.evd == c.evd && k.feeder == c.feeder {
				stays = k.n
			}
		}
		c.evd.dismiss(c.feeder, stays)
	}
}

// recount has the EVDs know what is outstanding on them: see EVD.recount. The
// caller holds no gates, and no lock but control.
func recount(claims ...claim) {
	for _, c := range claims {
		c.evd.recount()
	}
}

// recount does so for the EVDs of an endpoint, whose control the caller holds.
func (ep *EP) recount() {
	now := ep.parts()
	recount(ep.claims(&now)...)
}
