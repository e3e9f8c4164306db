package udat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// feeds are the streams of completions that come to an EVD, of a direction of a
// native endpoint each. They must have the same completion flags: see EPAttr.
type feeds struct {
	mu     lockorder.Mutex[feedsRank] // taken before the locks of directions
	list   map[*direction]feed
	flags  map[CompletionFlags]int // how many of them have these
	shared map[*SRQ]int            // how many of them take their receives from a shared queue
	limits int                     // operations that may be outstanding in all
}

// feed is one of them. srq is where its receives come from, nil if they are its own.
type feed struct {
	flags CompletionFlags
	limit int
	srq   *SRQ
}

// feed enters the streams of a native endpoint at its EVDs, beside those of former,
// whose place it is to take. It refuses those whose flags do not fit.
func (n *nativeEP) feed(op string, former *nativeEP) error {
	p, a := &n.parts, n.parts.attr
	recv, request := feed{a.RecvCompletionFlags, a.MaxRecvDTOs, nil}, feed{a.RequestCompletionFlags, a.MaxRequestDTOs, nil}
	if p.srq != nil {
		recv.limit, recv.srq = p.srq.attr.MaxRecvDTOs, p.srq
	}
	if err := p.recv.join(op, &n.recv, recv, former); err != nil {
		return err
	}
	err := p.request.join(op, &n.request, request, former)
	if err == nil && p.srq != nil && p.recv.overfull() {
		// Its receives come by way of a queue apart, and need no room.
		if p.apart, err = newReceiveEVD(op, p.srq, p.recv); err == nil {
			p.recv.leave(&n.recv)
			err = p.recv.join(op, &n.recv, feed{flags: recv.flags}, former)
		}
	}
	if err != nil {
		n.unfeed()
	}
	return err
}

// unfeed takes them away. Nothing is outstanding there.
func (n *nativeEP) unfeed() {
	n.parts.request.leave(&n.request)
	n.parts.recv.leave(&n.recv)
}

func (evd *EVD) join(op string, d *direction, f feed, former *nativeEP) error {
	if evd == nil {
		return nil
	}
	s := &evd.feeds
	s.mu.Lock()
	defer s.mu.Unlock()
	for flags, n := range s.flags {
		if flags != f.flags && n > s.of(former, flags) {
			return refuse(op, ErrInvalidParameter, InvalidArg6,
				"the completion flags are %v, on an event dispatcher that others with %v use, and all must have the same: leave CompletionDefault everywhere, or use another event dispatcher", f.flags, flags)
		}
	}
	if s.list == nil {
		s.list, s.flags, s.shared = make(map[*direction]feed), make(map[CompletionFlags]int), make(map[*SRQ]int)
	}
	s.list[d] = f
	s.flags[f.flags]++
	if f.srq == nil {
		s.limits += f.limit
	} else if s.shared[f.srq]++; s.shared[f.srq] == 1 {
		s.limits += f.limit
	}
	if evd.counts() {
		d.mu.Lock()
		d.setCounting(true)
		d.mu.Unlock()
		if f.srq != nil {
			f.srq.setCounting(evd, true)
		}
	}
	evd.decideCounting(evd.room.Length(), 0)
	return nil
}

// of returns how many streams a native endpoint, nil for none, has with the flags.
func (s *feeds) of(n *nativeEP, flags CompletionFlags) (streams int) {
	if n == nil {
		return 0
	}
	for _, d := range []*direction{&n.recv, &n.request} {
		if f, ok := s.list[d]; ok && f.flags == flags {
			streams++
		}
	}
	return streams
}

func (evd *EVD) leave(d *direction) {
	if evd == nil {
		return
	}
	s := &evd.feeds
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.list[d]
	if !ok {
		return
	}
	delete(s.list, d)
	if s.flags[f.flags]--; s.flags[f.flags] == 0 {
		delete(s.flags, f.flags)
	}
	if f.srq == nil {
		s.limits -= f.limit
	} else if s.shared[f.srq]--; s.shared[f.srq] == 0 {
		s.limits -= f.limit
		delete(s.shared, f.srq)
		f.srq.setCounting(evd, false)
	}
	if evd.counts() { // it does not begin with that
		evd.decideCounting(evd.room.Length(), 0)
	}
}

// fed reports whether endpoints use the EVD for completions.
func (evd *EVD) fed() bool {
	evd.feeds.mu.Lock()
	defer evd.feeds.mu.Unlock()
	return len(evd.feeds.list) > 0
}

// ordered returns the directions in the order in which they are locked.
func (s *feeds) ordered() []*direction {
	return slices.SortedFunc(maps.Keys(s.list), func(a, b *direction) int {
		if a.n == b.n && a != b {
			if a == &a.n.request {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.n.serial, b.n.serial)
	})
}
