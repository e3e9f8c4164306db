package mpi

import (
	"container/list"

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

	places [patterns]*list.Element // while it waits for a receive
}

// receive is a posted receive: a buffer that waits for a message.
type receive struct {
	comm *Comm
	envelope
	buffer  data
	request Request
	place   *list.Element // while it waits for a message
	order   uint64        // of all receives
	waited  bool          // it belongs to a collective operation, and waited at guard's last check
}

// patterns is how many envelopes of receives take a message: with and without AnySource, and with and without AnyTag.
const patterns = 4

// pattern returns one of these envelopes; 0 is that of the message, and the last one takes all of the context.
func (e envelope) pattern(i int) envelope {
	if i&1 != 0 {
		e.tag = AnyTag
	}
	if i&2 != 0 {
		e.source = AnySource
	}
	return e
}

// matcher matches receives and messages in MPI's order: a message goes to the receive that was posted first among
// those that accept it, and a receive gets the message that arrived first among those that it accepts. As the
// messages of a peer arrive in the order in which they were sent, none overtakes another.
//
// To search lists takes long if thousands wait. So receives are found by their envelopes, and messages by those of all
// receives that would take them.
type matcher struct {
	posted     table
	unexpected table
	order      uint64 // of the last receive
	wildcards  int    // posted receives with AnySource or AnyTag
}

// table has a queue for each envelope, and no empty ones.
type table map[envelope]*list.List

func (t *table) add(e envelope, item any) *list.Element {
	if *t == nil {
		*t = table{}
	}
	queue := (*t)[e]
	if queue == nil {
		queue = list.New()
		(*t)[e] = queue
	}
	return queue.PushBack(item)
}

func (t table) remove(e envelope, place *list.Element) {
	queue := t[e]
	if queue.Remove(place); queue.Len() == 0 {
		delete(t, e)
	}
}

// first returns the earliest item with an envelope, or nil.
func (t table) first(e envelope) any {
	if queue := t[e]; queue != nil {
		return queue.Front().Value
	}
	return nil
}

// post returns the message for a receive, or keeps the receive and returns nil.
func (m *matcher) post(r *receive) *message {
	if found := m.probe(r.envelope); found != nil {
		m.forget(found)
		return found
	}
	m.order++
	m.wildcards += r.isWild()
	r.order, r.place = m.order, m.posted.add(r.envelope, r)
	return nil
}

func (r *receive) isWild() int {
	if r.source == AnySource || r.tag == AnyTag {
		return 1
	}
	return 0
}

// arrive returns the receive for a message, or nil. The caller then stores the message with keep.
func (m *matcher) arrive(e envelope) *receive {
	first := m.waiting(e)
	for i := 1; i < patterns && m.wildcards > 0; i++ {
		if r := m.waiting(e.pattern(i)); r != nil && (first == nil || r.order < first.order) {
			first = r
		}
	}
	if first != nil {
		m.withdraw(first)
	}
	return first
}

// waiting returns the earliest receive with exactly that envelope, or nil.
func (m *matcher) waiting(e envelope) *receive {
	r, _ := m.posted.first(e).(*receive)
	return r
}

// receives lists the receives that wait for a message.
func (m *matcher) receives() (all []*receive) {
	for _, queue := range m.posted {
		for place := queue.Front(); place != nil; place = place.Next() {
			all = append(all, place.Value.(*receive))
		}
	}
	return all
}

// messages lists the messages of a context that wait for receives, the earliest first.
func (m *matcher) messages(context uint32) (all []*message) {
	if queue := m.unexpected[envelope{context, AnySource, AnyTag}]; queue != nil {
		for place := queue.Front(); place != nil; place = place.Next() {
			all = append(all, place.Value.(*message))
		}
	}
	return all
}

// withdraw removes a receive that waits for a message.
func (m *matcher) withdraw(r *receive) {
	m.wildcards -= r.isWild()
	m.posted.remove(r.envelope, r.place)
}

// keep stores a message for which no receive was posted.
func (m *matcher) keep(u *message) {
	for i := range u.places {
		u.places[i] = m.unexpected.add(u.pattern(i), u)
	}
}

// forget removes it.
func (m *matcher) forget(u *message) {
	for i, place := range u.places {
		m.unexpected.remove(u.pattern(i), place)
	}
}

// probe returns the message that a receive would get, or nil if it would wait.
func (m *matcher) probe(e envelope) *message {
	u, _ := m.unexpected.first(e).(*message)
	return u
}
