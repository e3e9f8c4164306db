package udat

import (
	"cmp"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/logging"
)

// Close closes the adapter. While objects are alive on it, CloseGraceful changes nothing and fails
// with ErrInvalidState, which names them. CloseAbrupt frees them first, in the right order; from
// then on, calls that create objects fail with ErrClosed. A second Close waits for the first and
// returns ErrClosed. If the library fails to close the adapter, Close returns its error, and the
// native adapter stays open until the process ends.
//
//	Implements: DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS ia_flags)
func (ia *IA) Close(flags CloseFlags) error {
	const op = "dat_ia_close"
	switch {
	case flags != CloseAbrupt && flags != CloseGraceful:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be CloseAbrupt or CloseGraceful", flags)
	case ia == nil:
		return objectOf(ia).enter(op, InvalidHandleIA)
	}
	ia.closing.Lock()
	defer ia.closing.Unlock()
	var empty func()
	if flags == CloseAbrupt {
		empty = func() {
			logging.Quiet(func() {
				_ = ia.async.ModifyCNO(nil)
				ia.abortAttempts()
				ia.freeChildren()
			})
		}
	}
	var failure error
	err := ia.obj.Close(empty, func() error {
		failure = ia.release(op)
		return nil
	})
	return cmp.Or(ia.obj.notSealed(op, InvalidHandleIA, err), failure)
}

// release closes the native adapter, on which the program has nothing left.
func (ia *IA) release(op string) error {
	ia.giveBackRetired()
	err := objectOf(ia.async).seal(op, InvalidHandleEVDAsync, func() error {
		return ia.async.release(op, func(handle cgo.EVDHandle) cgo.Return { return cgo.EVDModifyCNO(handle, 0) })
	})
	if err == nil {
		err = check(op, ia.notifier.Close())
	}
	if err == nil {
		err = check(op, ia.closeNative(cgo.CloseGraceful))
	}
	return err
}

// closeNative closes what openNative has opened.
func (ia *IA) closeNative(flags cgo.CloseFlags) cgo.Return {
	registry.Lock()
	defer registry.Unlock()
	r := cgo.IAClose(ia.handle, flags)
	if ia.provider == nil {
		return r
	}
	// The adapter is closed by then: there is no entry of dat.conf whose provider to unload.
	if r.Type() == cgo.ProviderNotFound {
		r = cgo.Success.Return()
	}
	if r.OK() {
		ia.provider.openAdapters--
		ia.provider.drop()
	}
	return r
}

// abortAttempts aborts all connections that are being made, so that the waiting
// for the library, which freeing the endpoints takes, is over for all at once.
func (ia *IA) abortAttempts() {
	for _, ep := range ia.endpoints() {
		if status, err := ep.GetStatus(); err == nil && inAttempt(status.State) {
			_ = ep.Disconnect(CloseAbrupt)
		}
	}
}

// freeChildren frees what is alive on the adapter, endpoints after the requests of others, which
// are answered with that. What is in use still is freed in the next round. A service point need not
// wait for its requests, of which others may take more. The errors do not matter: another goroutine
// may have freed a child meanwhile, and a child that cannot be freed makes the close fail.
func (ia *IA) freeChildren() {
	for children := ia.obj.Users(); len(children) > 0; children = ia.obj.Users() {
		freed := false
		for _, endpoints := range []bool{false, true} {
			for _, o := range children {
				if (o.Kind == endpointKind) == endpoints {
					_ = o.Free() // a request is answered even if that fails
					freed = freed || o.State() == life.Freed
				}
			}
		}
		if !freed {
			return
		}
	}
}
