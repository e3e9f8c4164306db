// Package cookiering follows the ring of cookies in which the native library
// keeps the receives of a shared receive queue.
//
// The library has one place more than the queue is long. A post takes the place
// behind the one that was taken last, whether or not a receive is outstanding
// there; a completion carries whatever cookie lies in its place by then. So a
// receive that stays outstanding for a whole lap of the ring, because its message
// is slow to arrive, would lose its cookie to another. Beside that, a completion
// sets the end of the ring to its own place, and the ring looks full to a post
// whose turn it is to take that place, until another completion comes.
//
// A post that the adapter refuses takes its place too, and sets the end of the
// ring to it. With the cookie that lies there already, it changes nothing but
// that: it passes the place.
package cookiering

// Ring knows which receive is in which place. It is not safe for concurrent use.
type Ring struct {
	receives []int32 // by place, none where no receive is outstanding
	places   []int32 // by receive, none for one that is not in the ring
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

// Occupant returns the receive that is outstanding in the place that the next
// post takes. That post must be one that passes the place, with the cookie of
// this receive.
func (r *Ring) Occupant() (receive int, occupied bool) {
	receive = int(r.receives[r.next])
	return receive, receive != none
}

// Pass notes a post that the adapter refused. One that the library refused for
// want of room took no place.
func (r *Ring) Pass() {
	if r.next++; int(r.next) == len(r.receives) {
		r.next = 0
	}
}

// Post notes that a receive was posted. It must not be in the ring, and the
// place not occupied.
func (r *Ring) Post(receive int) {
	r.receives[r.next] = int32(receive)
	r.places[receive] = r.next
	r.length++
	r.Pass()
}

// Complete notes that a receive has completed. One that is not in the ring is
// ignored.
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
