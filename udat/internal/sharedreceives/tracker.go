// Package sharedreceives finds the lost receives of a shared receive queue.
//
// An adapter takes a receive from the queue for an endpoint when the first piece of a message arrives. If the endpoint
// ends before the last piece, the receive should complete as flushed. Since Linux 6.3, soft-RoCE forgets it.
//
// Adapters take receives in posting order, and one at a time for each endpoint. So a receive is lost if a later one has
// completed, which proves that it was taken, and no endpoint can have it: each endpoint was made after that, or has
// itself completed a later receive.
package sharedreceives

import "math"

// Tracker follows the receives of a queue. It numbers them from 1 in the order of posting. It is not safe for
// concurrent use.
type Tracker struct {
	posted    uint64
	completed uint64 // the highest number
	holders   map[*Holder]struct{}
}

// Holder is an endpoint that uses the queue.
type Holder struct {
	from uint64 // the number of the first receive that it can have
}

// Post returns the number of a receive that was posted.
func (t *Tracker) Post() (number uint64) {
	t.posted++
	return t.posted
}

// Join adds an endpoint that is not connected yet.
func (t *Tracker) Join() *Holder {
	if t.holders == nil {
		t.holders = make(map[*Holder]struct{})
	}
	h := &Holder{from: t.completed + 1}
	t.holders[h] = struct{}{}
	return h
}

// Leave removes an endpoint that no longer exists, after its last completion.
func (t *Tracker) Leave(h *Holder) { delete(t.holders, h) }

// Complete records the completion of a receive. by is the endpoint that it completed for, or nil if that is unknown.
func (t *Tracker) Complete(number uint64, by *Holder) {
	t.completed = max(t.completed, number)
	if by != nil {
		by.from = max(by.from, number+1)
	}
}

// Completed returns the highest number of a receive that has completed.
func (t *Tracker) Completed() uint64 { return t.completed }

// FirstHeld returns the number of the first receive that can still complete. Earlier receives that have not completed
// are lost.
func (t *Tracker) FirstHeld() (number uint64) {
	number = math.MaxUint64
	for h := range t.holders {
		number = min(number, h.from)
	}
	return min(number, t.completed+1)
}
