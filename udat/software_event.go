package udat

import "github.com/goudat/goudat/cgo"

// PostSE posts an EventSoftware with the given cookie. The event dispatcher must have EVDSoftware.
// The event comes after other queued events, but before completions. It does not allocate. It fails
// with ErrQueueFull if as many events are queued as the EVD holds, whatever operations are
// outstanding. Then IA.AsyncEVD reports EventAsyncErrorEVDOverflow, once until one is taken.
//
//	Implements: DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event)
func (evd *EVD) PostSE(cookie uint64) error {
	const op = "dat_evd_post_se"
	if err := evd.enter(op); err != nil {
		return err
	}
	defer evd.queue.Leave()
	if evd.flags&EVDSoftware == 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the event dispatcher was made for %v: create it with EVDSoftware", evd.flags)
	}
	r := cgo.EVDPostSE(evd.queue.Handle(), cgo.EventNumber(EventSoftware), cookie)
	if r.Type() == cgo.QueueFull {
		return errQueueFull
	}
	return check(op, r)
}

// errQueueFull is shared: a producer may meet it often.
var errQueueFull = &Error{
	Op:     "dat_evd_post_se",
	Return: classError | Return(ErrQueueFull),
	Detail: "events that were not taken fill the event dispatcher: take events, or make it longer with Resize",
}
