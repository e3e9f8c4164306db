package mpi

import (
	"iter"
	"slices"

	"github.com/goudat/goudat/udat"
)

const (
	// AnySource receives from every rank.
	AnySource = -1
	// AnyTag receives messages of every tag.
	AnyTag = -1
)

// envelope decides which receive gets a message. In a receive, source and tag may be AnySource and AnyTag.
type envelope struct {
	context uint32 // of the communicator
	source  int    // rank in the world
	tag     int
}

// takes reports whether a receive with envelope e accepts a message with envelope m.
func (e envelope) takes(m envelope) bool {
	return e.context == m.context &&
		(e.source == AnySource || e.source == m.source) &&
		(e.tag == AnyTag || e.tag == m.tag)
}

// message is a message that has arrived, or the offer of one.
type message struct {
	envelope
	element elementKind
	length  int    // bytes
	payload []byte // nil for an offer
	keeper  *peer  // the peer whose limit on kept messages it counts against

	from   *peer // the peer that offers it; nil if it is not an offer
	offer  uint32
	memory udat.RMRTriplet
}

// receive is a posted receive: a buffer that waits for a message.
type receive struct {
	comm *Comm
	envelope
	buffer  data
	part    *schedule // the collective operation that it belongs to; nil for the program's own
	request Request
}

// matcher matches receives and messages in MPI's order: a message goes to the receive that was posted first among
// those that accept it, and a receive gets the message that arrived first among those that it accepts. As the
// messages of a peer arrive in the order in which they were sent, none overtakes another.
type matcher struct {
	posted     []*receive
	unexpected []*message
}

// post returns the message for a receive, or keeps the receive and returns nil.
func (m *matcher) post(r *receive) *message {
	if i := m.find(r.envelope); i >= 0 {
		found := m.unexpected[i]
		m.unexpected = slices.Delete(m.unexpected, i, i+1)
		return found
	}
	m.posted = append(m.posted, r)
	return nil
}

// arrive returns the receive for a message, or nil. The caller then stores the message with keep.
func (m *matcher) arrive(e envelope) *receive {
	i := slices.IndexFunc(m.posted, func(r *receive) bool { return r.takes(e) })
	if i < 0 {
		return nil
	}
	found := m.posted[i]
	m.posted = slices.Delete(m.posted, i, i+1)
	return found
}

// receives lists the receives that wait for a message, the earliest first.
func (m *matcher) receives() iter.Seq[*receive] { return slices.Values(m.posted) }

// waits reports whether a receive has no message yet.
func (m *matcher) waits(r *receive) bool { return slices.Contains(m.posted, r) }

// withdraw removes a receive that has no message yet, and reports whether it was there.
func (m *matcher) withdraw(r *receive) bool {
	i := slices.Index(m.posted, r)
	if i < 0 {
		return false
	}
	m.posted = slices.Delete(m.posted, i, i+1)
	return true
}

// forget removes a message that was kept.
func (m *matcher) forget(u *message) {
	m.unexpected = slices.DeleteFunc(m.unexpected, func(other *message) bool { return other == u })
}

// keep stores a message for which no receive was posted.
func (m *matcher) keep(u *message) { m.unexpected = append(m.unexpected, u) }

// probe returns the message that a receive would get, or nil if it would wait.
func (m *matcher) probe(e envelope) *message {
	if i := m.find(e); i >= 0 {
		return m.unexpected[i]
	}
	return nil
}

func (m *matcher) find(e envelope) int {
	return slices.IndexFunc(m.unexpected, func(u *message) bool { return e.takes(u.envelope) })
}
