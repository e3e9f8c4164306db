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
	const op = "dat_evd_post_se"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if evd.flags&EVDSoftware == 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the event dispatcher was made for %v: create it with %v", evd.flags, EVDSoftware)
	}
	if evd.flags&EVDDTO != 0 {
		return evd.postAmongCompletions(op, cookie)
	}
	// A post that the library refuses for lack of room also causes an asynchronous error.
	if !evd.reserveSingle() {
		return errQueueFull
	}
	err := check(op, cgo.EVDPostSE(evd.handle, cgo.EventNumber(EventSoftware), cookie))
	if err != nil {
		evd.releaseSingle()
	}
	return err
}

// postAmongCompletions posts a software event that has its place, and takes room,
// among completions. The EVD counts its room once the operations that may be
// outstanding leave none to spare.
func (evd *EVD) postAmongCompletions(op string, cookie uint64) error {
	evd.streams.mu.Lock()
	defer evd.streams.mu.Unlock()
	evd.decideCounting(evd.length(), 1)
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain() // the library returns software events before completions
	if !evd.reserveSingle() {
		return errQueueFull
	}
	counting := evd.duties&countRoom != 0
	if counting && !evd.room.Take(1) {
		evd.releaseSingle()
		return errQueueFull
	}
	err := check(op, cgo.EVDPostSE(evd.handle, cgo.EventNumber(EventSoftware), cookie))
	if err != nil {
		evd.releaseSingle()
		if counting {
			evd.room.Release(1)
		}
	}
	return err
}

// errQueueFull is shared: a producer may meet it often.
var errQueueFull = &Error{
	Op:     "dat_evd_post_se",
	Return: classError | Return(ErrQueueFull),
	Detail: "events that were not taken, and operations that are outstanding, fill the event dispatcher: take events, or make it longer with Resize",
}
