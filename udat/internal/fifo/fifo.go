// Package fifo has a queue whose members can also leave it from the middle.
package fifo

// Queue is a first-in, first-out queue. The zero value is empty. It is not safe for
// concurrent use.
type Queue[T any] struct {
	head, tail *Link[T]
	length     int
}

// Link is the place of a member in a queue. A member is in at most one queue at a time.
type Link[T any] struct {
	Member     T
	prev, next *Link[T]
	queued     bool
}

// Queued reports whether the member is in a queue.
func (l *Link[T]) Queued() bool { return l.queued }

// Next returns the place behind this one, nil for the last.
func (l *Link[T]) Next() *Link[T] { return l.next }

// Len returns the number of members.
func (q *Queue[T]) Len() int { return q.length }

// First returns the place of the member that has been there longest, nil if there is
// none.
func (q *Queue[T]) First() *Link[T] { return q.head }

// Push adds a member, which must not be in a queue.
func (q *Queue[T]) Push(l *Link[T]) {
	l.prev, l.next, l.queued = q.tail, nil, true
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
	q.length++
}

// Pop removes and returns the member that has been there longest, nil if there is none.
func (q *Queue[T]) Pop() *Link[T] {
	l := q.head
	if l != nil {
		q.Remove(l)
	}
	return l
}

// Remove removes a member. It returns false if the member is no longer in the queue.
func (q *Queue[T]) Remove(l *Link[T]) bool {
	if !l.queued {
		return false
	}
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.prev, l.next, l.queued = nil, nil, false
	q.length--
	return true
}
