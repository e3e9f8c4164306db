package udat

import (
	"math"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// TimeoutInfinite is a time-out that never ends.
const TimeoutInfinite time.Duration = math.MaxInt64

// AcceptTimeout is how long an accepted connection may take to be established.
const AcceptTimeout = 60 * time.Second

// connection is what the binding adds to the library's management of a connection.
//
// The library's own connect time-outs are not used: their timer is not
// cancelled by a disconnect and kills a later attempt on the same endpoint. And
// some attempts, with time-out or not, never end in an event.
type connection struct {
	// timer ends the attempt in progress. It is stopped by the event that does.
	timer   atomic.Pointer[time.Timer]
	attempt atomic.Uint64 // counts attempts, so that a late timer knows that it is
	pending atomic.Bool   // the attempt has had no event yet

	// verdict is the event that the next failure is to be reported as, because
	// the binding has caused it. outlived is set once it was reported without
	// one: the library's own comes too late then.
	verdict  atomic.Uint32
	outlived atomic.Bool

	// rescued is set when the native endpoint was reset to get out of a
	// disconnect that was stuck.
	rescued atomic.Bool

	// draining is true while a graceful disconnect completes the requests; stop
	// ends that, idle says that there are none left.
	draining atomic.Bool
	stop     chan struct{} // guarded by the endpoint's control
	idle     chan struct{}
}

// restart forgets the connection that was. The caller has the endpoint to itself.
func (c *connection) restart() {
	c.settle()
	c.attempt.Add(1)
	c.verdict.Store(0)
	c.outlived.Store(false)
	c.rescued.Store(false)
}

// settle notes that the attempt in progress has had its event.
func (c *connection) settle() {
	c.pending.Store(false)
	if t := c.timer.Swap(nil); t != nil {
		t.Stop()
	}
}

// cancel ends what goes on in the background. The caller holds control.
func (c *connection) cancel() {
	c.settle()
	c.stopDraining()
}

// begin notes a new attempt. It is called before the library starts it.
func (c *connection) begin() (attempt uint64) {
	c.pending.Store(true)
	return c.attempt.Add(1)
}

// limit ends the attempt with the given event unless another comes in time.
func (ep *EP) limit(attempt uint64, timeout time.Duration, event EventNumber) {
	if timeout == TimeoutInfinite {
		return
	}
	c := &ep.connection
	c.timer.Store(time.AfterFunc(timeout, func() { ep.expire(attempt, event) }))
	if !c.pending.Load() {
		c.settle() // the event was faster
	}
}

// expire ends an attempt that took too long.
func (ep *EP) expire(attempt uint64, event EventNumber) {
	const op = "dat_ep_disconnect"
	ep.control.Lock()
	defer ep.control.Unlock()
	if ep.object().enter(op, InvalidHandleEP) != nil {
		return
	}
	defer ep.obj.leave()
	c := &ep.connection
	if c.attempt.Load() != attempt || !c.pending.Load() {
		return
	}
	state, err := ep.state(op)
	if err != nil || state != EPStateActiveConnectionPending && state != EPStateCompletionPending {
		return // its event is on the way
	}
	c.verdict.Store(uint32(event))
	ep.disconnectAbruptly()
	ep.connectEVD.reap()
	if c.verdict.Swap(0) != 0 {
		c.outlived.Store(true)
		c.settle()
		ep.connectEVD.add(Event{Number: event, ep: ep})
	}
}

// connectionEvent brings the records up to date with an event of the library.
// It gives the number to report, or false for an event that the program has had
// already under another. The caller holds the lock of the connect EVD.
func (ep *EP) connectionEvent(n EventNumber) (EventNumber, bool) {
	c := &ep.connection
	c.settle()
	if n == EventConnectionEstablished {
		return n, true
	}
	if v := c.verdict.Swap(0); v != 0 {
		return EventNumber(v), true
	}
	return n, !c.outlived.Swap(false)
}

// Connect asks the service that listens on qual at the adapter with the given
// address for a connection, and sends privateData along. The outcome is an
// event on the connect EVD: EventConnectionEstablished, or
// EventConnectionNonPeerRejected when nobody listens, PeerRejected, Unreachable,
// and EventConnectionTimedOut when nothing came within timeout.
//
// The endpoint must be UNCONNECTED. remote is an IPv4 address: the providers
// know no other. privateData is limited by ProviderAttr.MaxPrivateDataSize, and
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
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	remote = remote.Unmap()
	switch {
	case !remote.IsValid() || remote.IsUnspecified():
		return refuse(op, ErrInvalidAddress, InvalidAddressMalformed, "the address %v is not that of an adapter", remote)
	case !remote.Is4() || remote.IsMulticast():
		return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "the address is %v, it must be an IPv4 unicast address", remote)
	case !qual.valid():
		return refuse(op, ErrInvalidParameter, InvalidArg3, "the connection qualifier is %d, it must be 1 to %d", qual, maxConnQual)
	case timeout <= 0:
		return refuse(op, ErrInvalidParameter, InvalidArg4, "the time-out is %v, it must be positive", timeout)
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return err
	}
	defer ep.obj.leave()
	if err := ep.ia.checkPrivateData(op, privateData, InvalidArg5); err != nil {
		return err
	}
	if err := ep.readyToConnect(op); err != nil {
		return err
	}
	attempt := ep.connection.begin()
	address := cgo.NewSockAddr(remote)
	r := cgo.EPConnect(ep.handle, &address, uint64(qual), cgo.TimeoutInfinite, privateData, cgo.QOSBestEffort, cgo.ConnectDefault)
	if err := check(op, r); err != nil {
		ep.connection.settle()
		return err
	}
	ep.limit(attempt, timeout, EventConnectionTimedOut)
	return nil
}

// readyToConnect refuses an endpoint that is not at the beginning of its life,
// and ends the part of it in which receives are noted for a Modify.
func (ep *EP) readyToConnect(op string) error {
	if ep.connectEVD == nil {
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDConn, "the endpoint has no connect event dispatcher")
	}
	if err := ep.requireState(op, EPStateUnconnected); err != nil {
		return err
	}
	ep.recv.mu.Lock()
	ep.early.stop()
	ep.recv.mu.Unlock()
	return nil
}

func (ep *EP) requireState(op string, want EPState) error {
	state, err := ep.state(op)
	if err != nil || state == want {
		return err
	}
	return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it must be in %v", state, want)
}

// stateSubtype gives the subtype by which an ErrInvalidState names a state.
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
	ep.control.Lock()
	defer ep.control.Unlock()
	if answered, err = ep.acceptNative(op, cr, privateData); !answered || err == nil {
		return answered, err
	}
	// A failed accept leaves the native endpoint with a dangling address.
	if renewErr := ep.renew(op, ep.parts()); renewErr != nil {
		return true, renewErr
	}
	return true, err
}

func (ep *EP) acceptNative(op string, cr *CR, privateData []byte) (answered bool, err error) {
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return false, err
	}
	defer ep.obj.leave()
	if ep.ia != cr.psp.ia {
		return false, refuse(op, ErrInvalidHandle, InvalidHandleEP, "the endpoint belongs to another adapter than the request")
	}
	if err := ep.readyToConnect(op); err != nil {
		return false, err
	}
	attempt := ep.connection.begin()
	if err := check(op, cgo.CRAccept(cr.handle, ep.handle, privateData)); err != nil {
		ep.connection.settle()
		return true, err
	}
	ep.limit(attempt, AcceptTimeout, EventConnectionAcceptCompletionError)
	return true, nil
}
