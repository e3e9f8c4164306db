package udat

import "errors"

// What the binding does when the library fails to connect, accept or reject.

// renewAfterFailedConnect replaces the native endpoint of a Connect that has failed with
// err, and returns err. The socket CM provider, unless it is patched, leaves the native
// endpoint with the connection that has failed, which a later disconnect finds. The caller
// holds control.
func (ep *EP) renewAfterFailedConnect(op string, err error) error {
	if ep.ia.patched {
		return err
	}
	return ep.renewAfterFailure(op, err)
}

// renewAfterFailedAccept replaces the native endpoint of an Accept that has failed with
// err, and returns err. The library leaves the native endpoint with a dangling address, and
// only a reset makes it usable again with the CMA provider. That provider, unless it is
// patched, loses the queue pair when the peer has gone. The caller holds control.
func (ep *EP) renewAfterFailedAccept(op string, err error) error {
	n := ep.native.Load()
	if !ep.ia.patched {
		n.parts.markStuck(ep.ia)
	}
	n.connection.TakeKept() // the program gets the error, and no event of this attempt
	return ep.renewAfterFailure(op, err)
}

// renewAfterFailure returns the error of the replacement, if that fails, and else err.
func (ep *EP) renewAfterFailure(op string, err error) error {
	if renewErr := ep.renew(op, ep.native.Load().copyParts(), EPStateUnconnected, reposted); renewErr != nil {
		return renewErr
	}
	return err
}

// rejected returns the error of a Reject, given that of the library. If the client has gone,
// so that nobody is left to be told, the CMA provider reports an internal error, unless it is
// patched.
func (ia *IA) rejected(err error) error {
	if !ia.patched && errors.Is(err, ErrInternalError) {
		return nil
	}
	return err
}
