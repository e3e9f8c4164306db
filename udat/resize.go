package udat

import "github.com/goudat/goudat/cgo"

// Resize changes the length of the queue to at least minQLen events. Events,
// waiters and users of the EVD stay.
//
// It fails with ErrInvalidState if there are more events, or completions to
// come, than it would hold. A WaitBatch with a larger threshold then fails.
//
// The library's queue for completions keeps its length while endpoints use it, as
// no provider can change that. It has room for all operations of the first endpoint
// that has come to it. If it is shorter than the EVD, the operations that are
// outstanding at the same time must fit the former, and together with the
// completions that were not taken the latter. For many endpoints, call Resize before
// they use the EVD.
//
// Stands in for:
//
//	DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle,
//	                          IN DAT_COUNT evd_min_qlen)
func (evd *EVD) Resize(minQLen int) error {
	const op = "dat_evd_resize"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	most := evd.ia.attr.MaxEVDQLen
	evd.obj.leave()
	if minQLen < 1 || minQLen > most {
		return evd.obj.refused(op, NoSubtype, refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, make it 1 to %d", minQLen, most))
	}
	return whileBusy(func() error {
		if done, err := evd.replaceBy(op, minQLen); done {
			if err != nil {
				evd.freeMadeInVain(op)
			}
			return err
		}
		return evd.setLengthInUse(op, minQLen)
	})
}

// replaceBy replaces the native EVD by one of another length. If the EVD is asynchronous,
// or endpoints use it for completions, it does nothing, and returns false.
func (evd *EVD) replaceBy(op string, minQLen int) (done bool, err error) {
	evd.obj.gate.Lock()
	defer evd.obj.gate.Unlock()
	if evd.obj.state != lifeAlive {
		return true, evd.obj.unusable(op, NoSubtype)
	}
	evd.streams.mu.Lock()
	defer evd.streams.mu.Unlock()
	if evd.flags&EVDAsync != 0 || len(evd.streams.list)+evd.streams.coming > 0 {
		return false, nil
	}
	return true, evd.replaceWithoutStreams(op, minQLen)
}

// freeMadeInVain frees the native EVD of a replacement that has failed. If it is busy, the
// close of the adapter frees it.
func (evd *EVD) freeMadeInVain(op string) {
	if ia := evd.ia.object(); ia.enter(op, InvalidHandleIA) == nil {
		defer ia.leave()
		_ = evd.ia.busy.free()
	}
}

// replaceWithoutStreams is replaceBy with the gate closed.
func (evd *EVD) replaceWithoutStreams(op string, minQLen int) error {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	if minQLen == evd.length() {
		return nil
	}
	if err := evd.refuseTooShort(op, minQLen, evd.backlog.len()); err != nil {
		return err
	}
	return evd.replace(op, minQLen)
}

// setLengthInUse changes the length of an EVD that keeps its native EVD.
func (evd *EVD) setLengthInUse(op string, n int) error {
	if err := evd.obj.enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	evd.streams.mu.Lock()
	defer evd.streams.mu.Unlock()
	evd.decideCounting(n, 0) // so that the number of outstanding operations is known
	err := evd.tryLength(op, n)
	if err != nil {
		evd.decideCounting(evd.length(), 0)
	}
	return err
}

func (evd *EVD) tryLength(op string, n int) error {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	was := evd.length()
	evd.room.SetLength(n) // first: no operation takes more room from here on
	there := evd.backlog.len()
	if evd.duties&countRoom != 0 {
		there = evd.room.Used()
	}
	if n < was { // the binding's own operations may come beside what fills a longer one
		if err := evd.refuseTooShort(op, n, there); err != nil {
			evd.room.SetLength(was)
			return err
		}
	}
	evd.waiters.wakeBatches()
	return nil
}

func (evd *EVD) refuseTooShort(op string, n, there int) error {
	if there <= n {
		return nil
	}
	return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "the queue length is %d, but there are %d events or completions to come: take some first", n, there)
}

// replace replaces the native EVD by one of another length, which is armed. The caller
// holds the gate for writing and mu, and has drained the EVD.
func (evd *EVD) replace(op string, minQLen int) error {
	old, oldQLen, oldNative := evd.nativeEVD, evd.length(), evd.room.Native()
	err := evd.createNative(op, minQLen)
	if err == nil {
		if err = check(op, cgo.EVDFree(old.handle)); err != nil {
			evd.discard()
			old.agent.Disarm()
		}
	}
	if err != nil {
		evd.nativeEVD = old
		evd.room.SetNative(oldNative)
		evd.room.SetLength(oldQLen)
		evd.waiters.notify() // the old one has to be armed again
		return err
	}
	old.freeCNO(evd.ia)
	if evd.waiters.unwaitable.Load() {
		cgo.EVDSetUnwaitable(evd.handle)
	}
	evd.waiters.wakeBatches()
	return nil
}
