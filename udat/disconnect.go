package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// Disconnect ends the connection, or its establishment. When that is done, both sides
// get EventConnectionDisconnected on their connect EVDs. Disconnect does not wait for
// that.
//
// CloseAbrupt fails what is outstanding with DTOErrFlushed. CloseGraceful lets the
// requests that are outstanding complete first; meanwhile the endpoint is in
// DISCONNECT_PENDING and takes no more of them, and CloseAbrupt ends the waiting.
//
// The event comes once the requests have completed, on either side, for which it waits
// up to a quarter of a second. After it no more completions of requests come. Disconnect
// does nothing in DISCONNECTED, and fails with ErrInvalidState before a connection.
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

// Reset makes a disconnected endpoint unconnected again, with the same attributes, so
// that it can connect or accept once more. In UNCONNECTED it takes back receives. In
// both cases those that are still posted complete with DTOErrFlushed, and events that
// were not taken stay. It fails with ErrInvalidState in any other state.
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
