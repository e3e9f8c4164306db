package udat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// streams holds the streams of completions that come to an EVD. Each stream belongs to one
// direction of a native endpoint. All must have the same completion flags: see EPAttr.
type streams struct {
	mu     lockorder.Mutex[streamsRank] // taken before the locks of directions
	list   map[*direction]stream
	flags  map[CompletionFlags]int // how many streams have these flags
	shared map[*SRQ]int            // how many streams take their receives from this queue
	limits int                     // operations that may be outstanding in all
	coming int                     // endpoints whose streams are about to come: see expectStreams
}

// stream is one of them. srq is the shared queue that its receives come from, nil if they
// are its own.
type stream struct {
	flags CompletionFlags
	limit int
	srq   *SRQ
}

// addStreams adds the streams of a native endpoint to its EVDs. It fails if their completion
// flags differ from those of other streams there, except for the streams of former, which
// the native endpoint will replace.
func (n *nativeEP) addStreams(op string, former *nativeEP) error {
	p, a := &n.parts, n.parts.attr
	recv, request := stream{a.RecvCompletionFlags, a.MaxRecvDTOs, nil}, stream{a.RequestCompletionFlags, a.MaxRequestDTOs, nil}
	if p.srq != nil {
		recv.limit, recv.srq = p.srq.limit(), p.srq
	}
	if err := p.recv.addStream(op, &n.recv, recv, former); err != nil {
		return err
	}
	err := p.request.addStream(op, &n.request, request, former)
	if err == nil && p.srq != nil && p.recv.overfull() {
		// Its receives complete in a separate queue, and need no room.
		if p.separateRecv, err = newReceiveEVD(op, p.srq, p.recv); err == nil {
			p.recv.removeStream(&n.recv)
			err = p.recv.addStream(op, &n.recv, stream{flags: recv.flags}, former)
		}
	}
	if err != nil {
		n.removeStreams()
	}
	return err
}

// removeStreams removes the streams of a native endpoint, on which nothing is
// outstanding.
func (n *nativeEP) removeStreams() {
	n.parts.request.removeStream(&n.request)
	n.parts.recv.removeStream(&n.recv)
}

func (evd *EVD) addStream(op string, d *direction, f stream, former *nativeEP) error {
	if evd == nil {
		return nil
	}
	s := &evd.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	for flags, n := range s.flags {
		if flags != f.flags && n > s.of(former, flags) {
			return refuse(op, ErrInvalidParameter, InvalidArg6,
				"the completion flags are %v, but other endpoints use the event dispatcher with %v: leave CompletionDefault everywhere, or use another event dispatcher", f.flags, flags)
		}
	}
	if s.list == nil {
		s.list, s.flags, s.shared = make(map[*direction]stream), make(map[CompletionFlags]int), make(map[*SRQ]int)
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
	evd.decideCounting(evd.length(), 0)
	return nil
}

// of returns how many streams with the flags a native endpoint has. n may be nil.
func (s *streams) of(n *nativeEP, flags CompletionFlags) (streams int) {
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

func (evd *EVD) removeStream(d *direction) {
	if evd == nil {
		return
	}
	s := &evd.streams
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
	if evd.counts() { // the counting may end now, but not begin
		evd.decideCounting(evd.length(), 0)
	}
}

// hasStreams reports whether endpoints use the EVD for completions.
func (evd *EVD) hasStreams() bool {
	evd.streams.mu.Lock()
	defer evd.streams.mu.Unlock()
	return len(evd.streams.list) > 0
}

// expectStreams changes the number of endpoints whose streams are about to come. While there
// are any, Resize does not replace the native EVD, as when the streams are there.
func (evd *EVD) expectStreams(change int) {
	if evd != nil {
		evd.streams.mu.Lock()
		defer evd.streams.mu.Unlock()
		evd.streams.coming += change
	}
}

// ordered returns the directions in the order in which they are locked.
func (s *streams) ordered() []*direction {
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
