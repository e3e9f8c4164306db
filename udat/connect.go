package udat

import (
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// TimeoutInfinite is a time-out that never ends.
const TimeoutInfinite time.Duration = math.MaxInt64

// AcceptTimeout is how long an accepted connection may take to be established.
const AcceptTimeout = 60 * time.Second

var acceptTimeout = AcceptTimeout // shorter in tests

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

	// unanswered ends a disconnect that the peer does not answer, or whose end the
	// library does not report. It is stopped by the event of the end: that of the
	// establishment may be taken after the disconnect.
	unanswered atomic.Pointer[time.Timer]

	// inLibrary is true from the start of an attempt until the library has
	// reported its end. An attempt that is aborted goes on in the library, which
	// may work on the peer's answer at any time and reports that no more, or
	// with the socket CM provider late.
	inLibrary atomic.Bool
	aborted   atomic.Pointer[time.Time] // when it was, nil unless it was

	// service is where the endpoint has connected to, nil for one that has not.
	service atomic.Pointer[remoteService]
	// called is the qualifier of the service point whose request was accepted, 0
	// for an endpoint that has accepted none.
	called atomic.Uint64

	established atomic.Bool
	// outcome is locked while it is decided that an attempt is aborted, which
	// the library may establish in the same moment.
	outcome sync.Mutex
	// over is set by the one event that ends the connection, or the attempt. The
	// library may have more: its own for what the binding has ended, and with
	// the socket CM provider the peer's disconnect after the connection broke.
	over atomic.Bool
	// leaving is set when the library has begun a disconnect, after which soft-RoCE
	// looks at no receive that is posted.
	leaving atomic.Bool
	// failed is set when an operation has failed, so that the connection is broken,
	// whatever ends it first.
	failed atomic.Bool
	// breaking ends a connection that is broken unless something else does.
	breaking atomic.Pointer[time.Timer]
	// failure is the event that ended an attempt, or a connection whose end the
	// library does not report. The program gets it when the native endpoint is
	// replaced: see fail.
	failure atomic.Pointer[Event]
	// held is the event of the end of a connection while the requests complete,
	// which comes first. The program gets it from reportEnd.
	held atomic.Pointer[Event]

	// ended is set when the native endpoint is unconnected again and the program
	// must see DISCONNECTED: what is posted is flushed by the binding. It changes
	// with both directions locked.
	ended atomic.Bool

	// draining is there while a graceful disconnect completes the requests. It
	// changes with the endpoint's control locked.
	draining atomic.Pointer[draining]
}

// draining is the completing of the requests by one graceful disconnect. The
// goroutine of one that was ended may still run beside the next.
type draining struct {
	stop chan struct{} // ends it when closed
}

// restart forgets the connection that was. The caller has the endpoint to itself.
func (c *connection) restart() {
	c.settle()
	stopTimer(&c.unanswered)
	stopTimer(&c.breaking)
	c.inLibrary.Store(false)
	c.aborted.Store(nil)
	c.attempt.Add(1)
	c.service.Store(nil)
	c.called.Store(uint64(anyConnQual))
	c.established.Store(false)
	c.over.Store(false)
	c.leaving.Store(false)
	c.failed.Store(false)
	c.failure.Store(nil)
	c.held.Store(nil)
	c.ended.Store(false)
}

// settle notes that the attempt in progress has had its event.
func (c *connection) settle() {
	c.pending.Store(false)
	stopTimer(&c.timer)
}

func stopTimer(timer *atomic.Pointer[time.Timer]) {
	if t := timer.Swap(nil); t != nil {
		t.Stop()
	}
}

// cancel ends what goes on in the background. The caller holds control.
func (c *connection) cancel() {
	c.settle()
	stopTimer(&c.unanswered)
	c.stopDraining()
}

// begin notes a new attempt. It is called before the library starts it.
func (c *connection) begin() (attempt uint64) {
	c.pending.Store(true)
	c.inLibrary.Store(true)
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
	c := &ep.connection
	if c.attempt.Load() != attempt || !c.pending.Load() || !ep.attempting(op) {
		return // its event is on the way
	}
	ep.abortAs(callTimeOut, op, event)
}

// attempting tells whether an attempt is in progress. The caller does not hold
// the gate.
func (ep *EP) attempting(op string) bool {
	state, err := ep.stateNow(op)
	return err == nil && inAttempt(state)
}

func inAttempt(state EPState) bool {
	return state == EPStateActiveConnectionPending || state == EPStateCompletionPending
}

// connectionEvent brings the records up to date with an event of the library. It
// reports false for one that the program must not see, or not yet. The caller
// holds the lock of the queue that it came to.
func (ep *EP) connectionEvent(event *Event) bool {
	c := &ep.connection
	c.settle()
	if event.Number != EventConnectionDisconnected { // as which an abort reports itself
		c.inLibrary.Store(false)
	}
	if event.Number == EventConnectionEstablished {
		return c.establish()
	}
	known := c.over.Swap(true)
	stopTimer(&c.unanswered)
	switch {
	case known:
		return false
	case c.established.Load():
		if event.Number != EventConnectionBroken {
			// The CMA provider reports a rejection when the peer, who has accepted,
			// goes away before it has heard of the establishment.
			event.Number = EventConnectionDisconnected
		}
		if ep.holdEnd(event) {
			return false
		}
		event.Number = c.endedBy(event.Number)
		return true
	}
	failure := *event
	c.failure.Store(&failure)
	go ep.fail()
	return false
}

// establish notes that the library has established the connection. It reports
// false when the attempt was aborted before that.
func (c *connection) establish() bool {
	c.outcome.Lock() // who decides to abort may have looked, and not said so yet
	defer c.outcome.Unlock()
	established := !c.over.Load()
	c.established.Store(established)
	return established
}

// abort ends the attempt in progress with the given event, which the program
// gets once the library is done with the attempt. It reports false, and does
// nothing, if the attempt has had its outcome in the last moment. The caller
// holds control.
func (ep *EP) abort(op string, event EventNumber) (aborted bool, err error) {
	if !ep.decideAbort(event) {
		return false, nil
	}
	ep.connection.settle()
	r := ep.disconnectAbruptly()
	if ep.ia.iwarp {
		// The native endpoint can stay until it is reset or freed, which waits for the peer's answer.
		go ep.reportAborted()
	} else {
		time.AfterFunc(settleWithin, ep.fail)
	}
	return true, check(op, r)
}

// reportAborted gives the program the event of an attempt that was aborted, unless
// the endpoint is freed.
func (ep *EP) reportAborted() {
	ep.control.Lock()
	defer ep.control.Unlock()
	if ep.obj.enter("dat_ep_connect", InvalidHandleEP) != nil {
		return
	}
	ep.obj.leave() // it stays alive: Free takes control
	ep.reportFailure()
}

// abortAs is abort as a call of its own in the eyes of the shadow.
func (ep *EP) abortAs(c epCall, op string, event EventNumber) {
	call := ep.shadow.begin(c)
	if aborted, err := ep.abort(op, event); aborted {
		call.end(&err)
	} else {
		call.withdraw()
	}
}

// decideAbort notes that the attempt ends with the given event, unless it has
// had its outcome. From then on nobody sees that the library establishes it.
func (ep *EP) decideAbort(event EventNumber) bool {
	c := &ep.connection
	c.outcome.Lock()
	defer c.outcome.Unlock()
	state, r := nativeState(ep.handle)
	if !r.OK() || !inAttempt(state) {
		return false
	}
	if !c.over.Swap(true) {
		c.failure.Store(&Event{Number: event, ep: ep})
	}
	return true
}

// wasAborted tells of a connection that the library has established whether its
// attempt was aborted before.
func (c *connection) wasAborted() bool {
	if c.established.Load() {
		return false
	}
	c.outcome.Lock()
	defer c.outcome.Unlock()
	return c.over.Load()
}

// fail replaces the native endpoint of an attempt that has failed, after which
// the program gets the event that says so. The socket CM provider leaves the
// receives of such an endpoint where they are, takes more for ever and loses
// sends. And with an attempt that was broken off, both providers give the peer
// half a connection unless the endpoint goes. The same ends a connection that does
// not end in the library: see endUnreported.
func (ep *EP) fail() {
	const op = "dat_ep_connect"
	ep.control.Lock()
	defer ep.control.Unlock()
	if ep.obj.enter(op, InvalidHandleEP) != nil {
		return
	}
	ep.obj.leave() // it stays alive: Free takes control
	defer ep.recount()
	if ep.connection.failure.Load() == nil {
		return // another replacement was faster
	}
	if ep.renew(op, ep.parts(), EPStateDisconnected, earlyKept) != nil {
		ep.reportFailure() // it must do without
	}
}

// reportFailure gives the program the event that ended the attempt, if it has
// not got it. The caller holds control.
func (ep *EP) reportFailure() {
	if event := ep.connection.failure.Swap(nil); event != nil {
		ep.shadow.event(event.Number)
		ep.connectEVD.add(*event)
	}
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
	service := remoteService{remote.Unmap(), qual}
	switch {
	case ep == nil:
		return ep.object().enter(op, InvalidHandleEP)
	case !service.address.IsValid() || service.address.IsUnspecified():
		return refuse(op, ErrInvalidAddress, InvalidAddressMalformed, "the address is %v: give that of the peer's adapter, see IAAttr.Address", remote)
	case !service.address.Is4() || service.address.IsMulticast():
		return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "the address is %v, it must be an IPv4 unicast address", remote)
	}
	if err := qual.check(op, InvalidArg3); err != nil {
		return err
	}
	return ep.connect(op, service, timeout, privateData, connectArguments{callConnect, InvalidArg4, InvalidArg5})
}

func (ep *EP) connect(op string, service remoteService, timeout time.Duration, privateData []byte, arguments connectArguments) (err error) {
	switch {
	case ep == nil:
		return ep.object().enter(op, InvalidHandleEP)
	case timeout <= 0:
		return refuse(op, ErrInvalidParameter, arguments.timeout, "the time-out is %v, it must be positive: TimeoutInfinite waits for ever", timeout)
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return err
	}
	defer ep.obj.leave()
	if err := ep.ia.checkPrivateData(op, privateData, arguments.privateData); err != nil {
		return err
	}
	if err := ep.readyToConnect(op, EPStateUnconnected); err != nil {
		return err
	}
	defer ep.shadow.begin(arguments.call).end(&err)
	attempt := ep.connection.begin()
	ep.connection.service.Store(&service)
	address := cgo.NewSockAddr(service.address)
	r := cgo.EPConnect(ep.handle, &address, uint64(service.qual), cgo.TimeoutInfinite, privateData, cgo.QOSBestEffort, cgo.ConnectDefault)
	if err := check(op, r); err != nil {
		ep.connection.inLibrary.Store(false)
		ep.connection.settle()
		return err
	}
	ep.limit(attempt, timeout, EventConnectionTimedOut)
	return nil
}

// requireConnectable refuses an endpoint that cannot connect from the given state.
func (ep *EP) requireConnectable(op string, from EPState) error {
	if ep.connectEVD == nil {
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
	service := from.connection.service.Load()
	err = from.requireState(op, EPStateConnected)
	leave()
	switch {
	case err != nil:
		return err
	case service == nil:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the connection of the other endpoint was accepted: it is not known where its peer listens: use Connect")
	}
	return ep.connect(op, *service, timeout, privateData, connectArguments{callDupConnect, InvalidArg3, InvalidArg4})
}

// remoteService is where an endpoint connects to.
type remoteService struct {
	address netip.Addr
	qual    ConnQual
}

// connectArguments is what differs between Connect and DupConnect: the call, and
// the subtypes by which errors name the arguments.
type connectArguments struct {
	call                 epCall
	timeout, privateData ReturnSubtype
}

// readyToConnect is requireConnectable for a connection that begins now. It ends
// the part of the endpoint's life in which receives are noted for a Modify.
func (ep *EP) readyToConnect(op string, from EPState) error {
	if err := ep.requireConnectable(op, from); err != nil {
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
	// A failed accept leaves the native endpoint with a dangling address, and the
	// CMA provider loses its queue pair when the peer has gone.
	parts := ep.parts()
	parts.markStuck(ep.ia)
	// The error has said it all: there is no event of this attempt.
	ep.connection.over.Store(true)
	ep.connection.failure.Store(nil)
	defer ep.recount()
	if renewErr := ep.renew(op, parts, EPStateUnconnected, earlyKept); renewErr != nil {
		return true, renewErr
	}
	return true, err
}

func (ep *EP) acceptNative(op string, cr *CR, privateData []byte) (answered bool, err error) {
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return false, err
	}
	defer ep.obj.leave()
	if ep.ia != cr.service.ia {
		return false, refuse(op, ErrInvalidHandle, InvalidHandleEP, "the endpoint belongs to another adapter than the request: accept on one of the same")
	}
	from, call := EPStateUnconnected, callAccept
	rsp := cr.service.rsp
	if rsp != nil {
		from, call = EPStatePassiveConnectionPending, callAcceptReserved
	}
	if err := ep.readyToConnect(op, from); err != nil {
		return false, err
	}
	defer ep.shadow.begin(call).end(&err)
	if rsp != nil {
		defer ep.reserved.CompareAndSwap(rsp, nil)
	}
	attempt := ep.connection.begin()
	ep.connection.called.Store(uint64(cr.param.ConnQual))
	if err := check(op, cgo.CRAccept(cr.handle, ep.handle, privateData)); err != nil {
		ep.connection.inLibrary.Store(false)
		ep.connection.settle()
		return true, err
	}
	ep.limit(attempt, acceptTimeout, EventConnectionAcceptCompletionError)
	return true, nil
}
