package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// Disconnect ends the connection, or the attempt to connect, and does not wait. Both sides get
// EventConnectionDisconnected on their connect EVDs, after the completions of all requests, for
// which the library waits up to 250 ms. CloseAbrupt fails outstanding operations with
// DTOErrFlushed. CloseGraceful lets requests complete first: the endpoint is in DISCONNECT_PENDING
// and refuses new ones until then, or until CloseAbrupt. Before a connection Disconnect fails with
// ErrInvalidState; after it, it does nothing.
//
//	Implements: DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_CLOSE_FLAGS disconnect_flags)
func (ep *EP) Disconnect(flags CloseFlags) (err error) {
	const op = "dat_ep_disconnect"
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	if flags != CloseAbrupt && flags != CloseGraceful {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be CloseAbrupt or CloseGraceful", flags)
	}
	call := shadow.DisconnectAbrupt
	if flags == CloseGraceful {
		call = shadow.DisconnectGraceful
	}
	defer ep.shadow.Begin(call).End(&err)
	return checkState(op, cgo.EPDisconnect(ep.handle, cgo.CloseFlags(flags)), "the endpoint has no connection: there is nothing to disconnect")
}

// Reset makes a disconnected endpoint UNCONNECTED again, with the same attributes. On an
// UNCONNECTED endpoint it takes back receives. Receives that are still posted complete with
// DTOErrFlushed, and queued events stay. Reset fails with ErrInvalidState in any other state.
//
//	Implements: DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Reset() (err error) {
	const op = "dat_ep_reset"
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	defer ep.shadow.Begin(shadow.Reset).End(&err)
	ep.recv.mu.Lock()
	defer ep.recv.mu.Unlock()
	return checkState(op, cgo.EPReset(ep.handle), "the endpoint must be disconnected or unconnected: Disconnect it and wait for EventConnectionDisconnected, "+
		"or free the reserved service point that holds it")
}
