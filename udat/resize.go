package udat

import (
	"errors"

	"github.com/goudat/goudat/cgo"
)

// Resize makes the queue hold at least minQLen events. Events and waiters stay.
// It does nothing when the queue holds so many already.
//
// It fails with ErrInvalidState, and names them, while endpoints or service
// points use the EVD, and for the asynchronous EVD: the library's own resize
// never returns, or corrupts memory, so that the native EVD is replaced, which
// those that feed it would not survive.
//
// Implements:
//
//	DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle,
//	                          IN DAT_COUNT evd_min_qlen)
func (evd *EVD) Resize(minQLen int) error {
	const op = "dat_evd_resize"
	if evd == nil {
		return evd.object().enter(op, NoSubtype)
	}
	evd.obj.gate.Lock()
	defer evd.obj.gate.Unlock()
	if evd.obj.state != lifeAlive {
		return evd.obj.unusable(op, NoSubtype)
	}
	switch most := evd.ia.attr.MaxEVDQLen; {
	case minQLen < 1 || minQLen > most:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, it must be 1 to %d", minQLen, most)
	case minQLen <= evd.qlen:
		return nil
	case evd.flags&EVDAsync != 0:
		return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "no provider can resize what is in use, and the adapter uses its asynchronous event dispatcher")
	}
	if err := evd.obj.refuseInUse(op); err != nil {
		var inUse *Error
		if errors.As(err, &inUse) {
			inUse.Detail = "no provider can resize what is in use: " + inUse.Detail
		}
		return err
	}
	return evd.replace(op, minQLen)
}

// replace puts a longer native EVD, which is armed, in the place of the old one,
// which nothing feeds. The caller holds the gate for writing.
func (evd *EVD) replace(op string, minQLen int) error {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	old, oldQLen := evd.nativeEVD, evd.qlen
	err := evd.createNative(op, minQLen)
	if err == nil {
		if err = check(op, freeEVD(old.handle)); err != nil {
			evd.discard()
			old.agent.Disarm()
		}
	}
	if err != nil {
		evd.nativeEVD, evd.qlen, evd.capacity.total = old, oldQLen, oldQLen
		evd.waiters.notify() // the old one has to be armed again
		return err
	}
	old.freeCNO(evd.ia)
	if evd.waiters.unwaitable.Load() {
		cgo.EVDSetUnwaitable(evd.handle)
	}
	return nil
}
