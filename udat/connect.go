package udat

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"syscall"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// TimeoutInfinite is a time-out that never ends.
const TimeoutInfinite time.Duration = math.MaxInt64

// AcceptTimeout is how long an accepted connection may take to be established.
const AcceptTimeout = 60 * time.Second

var acceptTimeout = AcceptTimeout // shorter in tests

// Connect asks the service that listens on qual at the adapter with the given
// address for a connection, and sends privateData along. The outcome is an
// event on the connect EVD: EventConnectionEstablished, or
// EventConnectionNonPeerRejected when nobody listens, PeerRejected, Unreachable,
// EventConnectionTimedOut when nothing came within timeout, and
// EventConnectionBroken when the connection manager of a side failed meanwhile.
//
// The endpoint must be UNCONNECTED. remote is an IPv4 address: the providers
// know no other. If the kernel refuses it at once, Connect with socket CM fails
// with ErrInvalidAddress and the kernel's reason, for example
// syscall.ENETUNREACH; with CMA that is an event. privateData is limited by ProviderAttr.MaxPrivateDataSize, and
// a peer on the CMA provider gets it padded to that. The quality of service and
// the connect flags of the C call have a single value that providers accept.
//
// Implements:
//
//	DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
//	                          IN DAT_IA_ADDRESS_PTR remote_ia_address,
//	                          IN DAT_CONN_QUAL remote_conn_qual,
//	                          IN DAT_TIMEOUT timeout,
//	                          IN DAT_COUNT private_data_size,
//	                          IN const DAT_PVOID private_data,
//	                          IN DAT_QOS quality_of_service,
//	                          IN DAT_CONNECT_FLAGS connect_flags)
func (ep *EP) Connect(remote netip.Addr, qual ConnQual, timeout time.Duration, privateData []byte) error {
	const op = "dat_ep_connect"
	service := remoteService{remote.Unmap(), qual}
	switch {
	case ep == nil:
		return ep.object().enter(op, InvalidHandleEP)
	case !service.address.IsValid() || service.address.IsUnspecified():
		return refuse(op, ErrInvalidAddress, InvalidAddressMalformed, "the address is %v: use that of the peer's adapter, see IAAttr.Address", remote)
	case !service.address.Is4() || service.address.IsMulticast():
		return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "the address is %v, it must be an IPv4 unicast address", remote)
	}
	if err := qual.check(op, InvalidArg3); err != nil {
		return err
	}
	return ep.connect(op, service, timeout, privateData, connectArguments{callConnect, InvalidArg4, InvalidArg5})
}

func (ep *EP) connect(op string, service remoteService, timeout time.Duration, privateData []byte, arguments connectArguments) error {
	switch {
	case ep == nil:
		return ep.object().enter(op, InvalidHandleEP)
	case timeout <= 0:
		return refuse(op, ErrInvalidParameter, arguments.timeout, "the time-out is %v, it must be positive: TimeoutInfinite waits forever", timeout)
	}
	if err := ep.takeControl(op); err != nil {
		return err
	}
	defer ep.control.Unlock()
	if err := ep.ia.checkPrivateData(op, privateData, arguments.privateData); err != nil {
		return err
	}
	if err := ep.requireConnectable(op, EPStateUnconnected); err != nil {
		return err
	}
	err := ep.connectNative(op, service, timeout, privateData, arguments)
	if err != nil {
		return explainAddress(op, err, service.address)
	}
	return nil
}

// explainAddress adds to the error of a connect that the library refused for its address what the kernel says of that.
// With CMA, which refuses only while the interface of the adapter is down, the outcome is an event otherwise.
func explainAddress(op string, err error, address netip.Addr) error {
	var e *Error
	if !errors.As(err, &e) || e.Return.Type() != ErrInvalidAddress {
		return err
	}
	subtype, refusal := e.Return.Subtype(), tryAddress(address)
	// tryAddress asks for UDP, and a moment later: both may succeed where the connect failed.
	detail := fmt.Sprintf("the provider could not begin to connect to %v: try again, and look for a network interface that is down, or a packet filter", address)
	switch {
	case errors.Is(refusal, syscall.EACCES):
		subtype = InvalidAddressUnsupported
		detail = fmt.Sprintf("%v is a broadcast address (%v): use the address of a peer's adapter", address, refusal)
	case refusal != nil:
		detail = fmt.Sprintf("the kernel cannot send to %v (%v): is it the address of the peer's adapter? ip route get %[1]v shows the route", address, refusal)
	}
	return &Error{Op: op, Return: classError | Return(ErrInvalidAddress) | Return(subtype), Detail: detail, Err: refusal}
}

func (ep *EP) connectNative(op string, service remoteService, timeout time.Duration, privateData []byte, arguments connectArguments) (err error) {
	defer ep.shadow.begin(arguments.call).end(&err)
	n := ep.native.Load()
	address := cgo.NewSockAddr(service.address)
	return n.attempt(op, partner{service: &service}, timeout, EventConnectionTimedOut, func() cgo.Return {
		return cgo.EPConnect(n.handle, &address, uint64(service.qual), cgo.TimeoutInfinite, privateData, cgo.QOSBestEffort, cgo.ConnectDefault)
	})
}

// attempt calls native, which has the library begin to connect or accept. If there is no
// outcome within the time-out, the attempt ends with the given event.
func (n *nativeEP) attempt(op string, with partner, timeout time.Duration, event EventNumber, native func() cgo.Return) error {
	n.partner.Store(&with)
	n.connection.Do(connphase.Begin)
	if err := check(op, native()); err != nil {
		n.connection.Do(connphase.Withdraw)
		return err
	}
	n.stopNoting()
	if timeout != TimeoutInfinite {
		n.connection.Limit(connphase.Attempting, timeout, func() { n.expire(event) })
	}
	return nil
}

// requireConnectable refuses an endpoint that cannot connect from the given state.
func (ep *EP) requireConnectable(op string, from EPState) error {
	if ep.native.Load().parts.connect == nil {
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDConn, "the endpoint has no connect event dispatcher: give it one with CreateEP or Modify")
	}
	return ep.requireState(op, from)
}

// DupConnect is Connect to the service that another endpoint of the adapter has
// connected to. That endpoint, from, must be CONNECTED, and must have begun the
// connection: the provider does not know what service one belongs to that was
// accepted.
//
// Stands in for:
//
//	DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
//	                              IN DAT_EP_HANDLE ep_dup_handle,
//	                              IN DAT_TIMEOUT timeout,
//	                              IN DAT_COUNT private_data_size,
//	                              IN const DAT_PVOID private_data,
//	                              IN DAT_QOS quality_of_service)
func (ep *EP) DupConnect(from *EP, timeout time.Duration, privateData []byte) error {
	const op = "dat_ep_dup_connect"
	leave, err := enterAll(op, argument{ep.object(), InvalidHandleEP}, argument{from.object(), InvalidHandleEP})
	if err != nil {
		return err
	}
	if from.ia != ep.ia {
		leave()
		return refuse(op, ErrInvalidHandle, InvalidHandleEP, "the other endpoint belongs to another adapter: use Connect")
	}
	err = from.requireState(op, EPStateConnected)
	var service *remoteService
	if with := from.native.Load().partner.Load(); with != nil {
		service = with.service
	}
	leave()
	switch {
	case err != nil:
		return err
	case service == nil:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the connection of the other endpoint was accepted: it is not known where its peer listens: use Connect")
	}
	return ep.connect(op, *service, timeout, privateData, connectArguments{callDupConnect, InvalidArg3, InvalidArg4})
}

// connectArguments is what differs between Connect and DupConnect: the call, and
// the subtypes by which errors name the arguments.
type connectArguments struct {
	call                 epCall
	timeout, privateData ReturnSubtype
}

// stopNoting ends the noting of receives for Modify, since a connection begins.
func (n *nativeEP) stopNoting() {
	n.recv.mu.Lock()
	defer n.recv.mu.Unlock()
	n.early.stop()
}

func (ep *EP) requireState(op string, want EPState) error {
	state, err := ep.state(op)
	if err != nil || state == want {
		return err
	}
	return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it must be in %v: %s", state, want, wayTo(want, state))
}

// wayTo says how an endpoint comes from a state to the wanted one.
func wayTo(want, state EPState) string {
	switch {
	case want == EPStateConnected && inAttempt(state):
		return "wait for EventConnectionEstablished"
	case want == EPStateConnected && state == EPStateUnconnected:
		return "connect it first"
	case want == EPStateConnected:
		return "its connection is over, Reset it and connect it again"
	case state == EPStateDisconnected:
		return "Reset it first"
	case state == EPStateDisconnectPending:
		return "wait for EventConnectionDisconnected, and Reset it"
	case state == EPStateReserved || state == EPStatePassiveConnectionPending:
		return "free its reserved service point first"
	case state == EPStateUnconnected: // wanted as the endpoint of a service point
		return "its reserved service point holds it no more"
	}
	return "Disconnect it, wait for EventConnectionDisconnected, and Reset it"
}

// stateSubtype returns the subtype by which an ErrInvalidState names a state.
func stateSubtype(state EPState) ReturnSubtype {
	switch state {
	case EPStateUnconnected:
		return InvalidStateEPUnconnected
	case EPStateReserved:
		return InvalidStateEPReserved
	case EPStatePassiveConnectionPending:
		return InvalidStateEPPassConnPending
	case EPStateActiveConnectionPending:
		return InvalidStateEPActConnPending
	case EPStateTentativeConnectionPending:
		return InvalidStateEPTentConnPending
	case EPStateConnected:
		return InvalidStateEPConnected
	case EPStateDisconnectPending:
		return InvalidStateEPDiscPending
	case EPStateDisconnected:
		return InvalidStateEPDisconnected
	case EPStateCompletionPending:
		return InvalidStateEPComplPending
	}
	return NoSubtype
}

// accept is the endpoint's part of CR.Accept. It reports whether the library
// has seen the request.
func (ep *EP) accept(op string, cr *CR, privateData []byte) (answered bool, err error) {
	if err := ep.takeControl(op); err != nil {
		return false, err
	}
	defer ep.control.Unlock()
	answered, err = ep.acceptNative(op, cr, privateData)
	if answered && err != nil {
		err = ep.renewAfterFailedAccept(op, cr.giveUp(op, err))
	}
	return answered, err
}

func (ep *EP) acceptNative(op string, cr *CR, privateData []byte) (answered bool, err error) {
	if ep.ia != cr.service.ia {
		return false, refuse(op, ErrInvalidHandle, InvalidHandleEP, "the endpoint belongs to another adapter than the request: accept on one of the same")
	}
	from, call := EPStateUnconnected, callAccept
	rsp := cr.service.rsp
	if rsp != nil {
		from, call = EPStatePassiveConnectionPending, callAcceptReserved
	}
	if err := ep.requireConnectable(op, from); err != nil {
		return false, err
	}
	defer ep.shadow.begin(call).end(&err)
	if rsp != nil {
		defer ep.reserved.CompareAndSwap(rsp, nil)
	}
	n := ep.native.Load()
	n.stopNoting() // even if it fails: messages may have arrived
	return true, n.attempt(op, partner{called: cr.param.ConnQual}, acceptTimeout, EventConnectionAcceptCompletionError, func() cgo.Return {
		return cgo.CRAccept(cr.handle, n.handle, privateData)
	})
}
