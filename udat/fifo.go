package udat

// fifo is a queue that a member can leave from the middle.
type fifo[T any] struct {
	head, tail *link[T]
	length     int
}

// link holds a member's place in a fifo. A member is in one at a time.
type link[T any] struct {
	member     T
	prev, next *link[T]
	queued     bool
}

func (q *fifo[T]) push(l *link[T]) {
	l.prev, l.next, l.queued = q.tail, nil, true
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
	q.length++
}

// pop takes the member that has been there longest; nil when there is none.
func (q *fifo[T]) pop() *link[T] {
	l := q.head
	if l != nil {
		q.remove(l)
	}
	return l
}

// remove reports false when the member is in the queue no more.
func (q *fifo[T]) remove(l *link[T]) bool {
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
