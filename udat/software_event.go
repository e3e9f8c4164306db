package udat

import "github.com/goudat/goudat/cgo"

// PostSE posts a software event: an EventSoftware with the given cookie, on an
// EVD that was made for them (EVDSoftware). It comes after the events that are
// there already. PostSE does not allocate.
//
// It fails with ErrQueueFull when the EVD has no room: software events and
// completions that were not taken yet, and operations that are outstanding, fill
// it.
//
// Implements:
//
//	DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle,
//	                           IN const DAT_EVENT *event)
func (evd *EVD) PostSE(cookie uint64) error {
	err, again := evd.postSE(cookie)
	if again {
		evd.recount()
		evd.awaitRecount()
		if err == errQueueFull {
			err, _ = evd.postSE(cookie)
		}
	}
	return err
}

// postSE reports whether the EVD has to be recounted.
func (evd *EVD) postSE(cookie uint64) (err error, again bool) {
	const op = "dat_evd_post_se"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err, false
	}
	defer evd.obj.leave()
	if evd.flags&EVDSoftware == 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the event dispatcher was made for %v: create it with %v", evd.flags, EVDSoftware), false
	}
	if evd.flags&EVDDTO != 0 {
		return evd.postAmongCompletions(op, cookie)
	}
	// A post that the library refuses for want of room costs an asynchronous
	// error as well.
	if !evd.capacity.reserve() {
		return errQueueFull, false
	}
	if err = check(op, cgo.EVDPostSE(evd.handle, cgo.EventNumber(EventSoftware), cookie)); err != nil {
		evd.capacity.release()
	}
	return err, false
}

// postAmongCompletions posts a software event that has its place, and takes room,
// among completions. The EVD counts its room once the operations that may be
// outstanding leave none to spare.
func (evd *EVD) postAmongCompletions(op string, cookie uint64) (err error, again bool) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain() // the library gives software events before completions
	evd.decideCounting(1)
	r := &evd.room
	e, counting := r.tally.epoch(), evd.attention&attendCounting != 0
	again = evd.recountedIn != e || r.unknown.Load() > 0
	if !evd.capacity.reserve() {
		return errQueueFull, again
	}
	if counting && !r.take(e, 1) {
		evd.capacity.release()
		return errQueueFull, again
	}
	if err = check(op, cgo.EVDPostSE(evd.handle, cgo.EventNumber(EventSoftware), cookie)); err != nil {
		evd.capacity.release()
		if counting {
			r.tally.add(e, -1)
		}
	}
	return err, again
}

// errQueueFull is shared: a producer may meet it often.
var errQueueFull = &Error{
	Op:     "dat_evd_post_se",
	Return: classError | Return(ErrQueueFull),
	Detail: "events that were not taken, and operations that are outstanding, fill the event dispatcher: take events, or make it longer with Resize",
}
