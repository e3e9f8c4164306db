package mpi

import (
	"iter"

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

	links *[patterns]link[message] // if it waits for a receive
}

// receive is a posted receive: a buffer that waits for a message.
type receive struct {
	comm *Comm
	envelope
	buffer  data
	request Request
	link    link[receive]
	waited  bool // it belongs to a collective operation, and waited at guard's last check
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
// Both are in hash tables: receives by their envelopes, and messages by those of all receives that would take them.
type matcher struct {
	posted     table[receive]
	unexpected table[message]
	wildcards  int // posted receives with AnySource or AnyTag
}

// post returns the message for a receive, or keeps the receive and returns nil.
func (m *matcher) post(r *receive) *message {
	if found := m.probe(r.envelope); found != nil {
		m.forget(found)
		return found
	}
	m.wildcards += r.isWild()
	m.posted.add(&r.link, r.envelope, r)
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
	first := m.posted.find(e)
	for i := 1; i < patterns && m.wildcards > 0; i++ {
		if l := m.posted.find(e.pattern(i)); l != nil && (first == nil || l.order < first.order) {
			first = l
		}
	}
	if first == nil {
		return nil
	}
	found := first.item
	m.withdraw(found)
	return found
}

// receives lists the receives that wait for a message, in any order.
func (m *matcher) receives() iter.Seq[*receive] { return m.posted.items() }

// messages lists the messages of a context that wait for receives, the earliest first. They may be forgotten meanwhile.
func (m *matcher) messages(context uint32) iter.Seq[*message] {
	all := envelope{context, AnySource, AnyTag}
	return func(yield func(*message) bool) {
		for l := m.unexpected.find(all); l != nil; {
			next := l.following()
			if !yield(l.item) {
				return
			}
			l = next
		}
	}
}

// waits reports whether a receive has no message yet.
func (m *matcher) waits(r *receive) bool { return r.link.item != nil }

// withdraw removes a receive that has no message yet, and reports whether it was there.
func (m *matcher) withdraw(r *receive) bool {
	if !m.waits(r) {
		return false
	}
	m.wildcards -= r.isWild()
	m.posted.remove(&r.link)
	return true
}

// forget removes a message that was kept.
func (m *matcher) forget(u *message) {
	for i := range u.links {
		m.unexpected.remove(&u.links[i])
	}
}

// keep stores a message for which no receive was posted.
func (m *matcher) keep(u *message) {
	u.links = new([patterns]link[message])
	for i := range u.links {
		m.unexpected.add(&u.links[i], u.pattern(i), u)
	}
}

// probe returns the message that a receive would get, or nil if it would wait.
func (m *matcher) probe(e envelope) *message {
	if l := m.unexpected.find(e); l != nil {
		return l.item
	}
	return nil
}

// table is a hash table of lists: the items with one key are in the order in which they were added. The links are part
// of the items, so that adding one allocates nothing.
type table[T any] struct {
	lists []list[T] // a power of two
	count int
	order uint64 // of the last item
}

type list[T any] struct{ first, last *link[T] }

// link is the place of an item in a table.
type link[T any] struct {
	item       *T // nil if it is in none
	key        envelope
	order      uint64
	prev, next *link[T] // of the list, which may have items with other keys
}

func (t *table[T]) list(e envelope) *list[T] {
	h := (uint64(e.context)*0x9e3779b97f4a7c15^uint64(uint32(e.source)))*0xbf58476d1ce4e5b9 ^ uint64(uint32(e.tag))
	h *= 0x94d049bb133111eb
	return &t.lists[h>>32&uint64(len(t.lists)-1)]
}

func (t *table[T]) add(l *link[T], key envelope, item *T) {
	if t.count >= len(t.lists) {
		t.grow()
	}
	t.count++
	t.order++
	l.item, l.key, l.order = item, key, t.order
	t.list(key).append(l)
}

func (s *list[T]) append(l *link[T]) {
	l.prev, l.next = s.last, nil
	if s.last == nil {
		s.first = l
	} else {
		s.last.next = l
	}
	s.last = l
}

// remove removes an item, if it is still there.
func (t *table[T]) remove(l *link[T]) {
	if l.item == nil {
		return
	}
	s := t.list(l.key)
	if l.prev == nil {
		s.first = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		s.last = l.prev
	} else {
		l.next.prev = l.prev
	}
	t.count--
	*l = link[T]{}
}

// find returns the earliest item with a key.
func (t *table[T]) find(key envelope) *link[T] {
	if t.count == 0 {
		return nil
	}
	l := t.list(key).first
	for l != nil && l.key != key {
		l = l.next
	}
	return l
}

// following returns the next item with the same key.
func (l *link[T]) following() *link[T] {
	next := l.next
	for next != nil && next.key != l.key {
		next = next.next
	}
	return next
}

// grow doubles the lists. Items with one key stay in order.
func (t *table[T]) grow() {
	old := t.lists
	t.lists = make([]list[T], max(16, 2*len(old)))
	for _, s := range old {
		for l := s.first; l != nil; {
			next := l.next
			t.list(l.key).append(l)
			l = next
		}
	}
}

func (t *table[T]) items() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, s := range t.lists {
			for l := s.first; l != nil; l = l.next {
				if !yield(l.item) {
					return
				}
			}
		}
	}
}
