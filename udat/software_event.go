package udat

import "github.com/goudat/goudat/cgo"

// PostSE posts a software event: an EventSoftware with the given cookie, on an
// EVD that was made for them (EVDSoftware). It comes after the events that are
// there already. PostSE does not allocate.
//
// It fails with ErrQueueFull when the EVD has no room: for its whole length,
// software events that were not taken yet and the operations that endpoints may
// have outstanding on it count.
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
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the event dispatcher was made for %v, it needs %v", evd.flags, EVDSoftware)
	}
	// A post that the library refuses for want of room costs an asynchronous
	// error as well.
	if _, ok := evd.capacity.reserve(1); !ok {
		return errQueueFull
	}
	if evd.flags&EVDDTO != 0 {
		evd.reap() // the library gives software events before completions
	}
	err := check(op, cgo.EVDPostSE(evd.handle, EventSoftware, cookie))
	if err != nil {
		evd.capacity.release(1)
	}
	return err
}

// errQueueFull is shared: a producer may meet it often.
var errQueueFull = &Error{
	Op:     "dat_evd_post_se",
	Return: cgo.ClassError | Return(ErrQueueFull),
	Detail: "events that were not taken, and operations that endpoints may have outstanding, fill the event dispatcher",
}
