// Package cookiering follows the ring of cookies in which the native library
// keeps the receives of a shared receive queue.
//
// The ring has one place more than the queue's length. A post takes the next place, even if a receive is still
// outstanding there. A completion carries the cookie that is then in its place. So a receive that stays outstanding for
// a whole lap of the ring, because its message is slow to arrive, would lose its cookie to another. Also, a completion
// sets the end of the ring to its own place. The ring then looks full to the post whose turn it is to take that place,
// until another completion comes.
//
// A post that the adapter refuses also takes a place, and sets the end of the ring to it. If it has the cookie that is
// already there, it has no other effect: it passes the place.
package cookiering

// Ring knows which receive is in which place. It is not safe for concurrent use.
type Ring struct {
	receives []int32 // by place; none if no receive is outstanding there
	places   []int32 // by receive; none for a receive that is not in the ring
	next     int32   // the place that the next post takes
	length   int     // receives in the ring
}

const none = -1

// New makes the ring of a native queue of the given length, at least 1, for as
// many receives, at most length, known by their numbers from 0.
func New(length, receives int) *Ring {
	r := &Ring{receives: make([]int32, length+1), places: make([]int32, receives), next: 1}
	for i := range r.receives {
		r.receives[i] = none
	}
	for i := range r.places {
		r.places[i] = none
	}
	return r
}

// Occupant returns the receive that is outstanding in the next post's place. That post must then pass the place, with
// the cookie of this receive.
func (r *Ring) Occupant() (receive int, occupied bool) {
	receive = int(r.receives[r.next])
	return receive, receive != none
}

// Pass records a post that the adapter refused. A post that the library refused for lack of room took no place.
func (r *Ring) Pass() {
	if r.next++; int(r.next) == len(r.receives) {
		r.next = 0
	}
}

// Post records that a receive was posted. The receive must not be in the ring yet, and the place must not be occupied.
func (r *Ring) Post(receive int) {
	r.receives[r.next] = int32(receive)
	r.places[receive] = r.next
	r.length++
	r.Pass()
}

// Complete records that a receive has completed. It ignores a receive that is not in the ring.
func (r *Ring) Complete(receive int) {
	place := r.places[receive]
	if place == none {
		return
	}
	r.places[receive], r.receives[place] = none, none
	r.length--
}

// Len returns how many receives are in the ring.
func (r *Ring) Len() int { return r.length }
