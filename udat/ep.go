package udat

import (
	"cmp"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// EP is an endpoint: one end of a connection. It has two queues, for receives and for requests (all
// other operations). Posts to one queue take turns. Modify, Reset, Free and CR.Accept block both
// queues; Connect, DupConnect, Disconnect and CreateRSP block requests, not receives.
type EP struct {
	obj    object // the gate is the lock of recv
	ia     *IA
	handle cgo.EPHandle
	parts  *epParts // replaced with both locks held

	recv, request workQueue // docs/architecture.md says what their locks guard

	changing     atomic.Bool               // a call that changes the endpoint holds request.mu: see awaitPosts
	connectStart atomic.Pointer[time.Time] // for counters; nil unless an attempt is in progress

	shadow *shadow.Shadow // nil without assertions
}

// lockRequests locks the requests for a call that changes the endpoint, unless that is freed.
func (ep *EP) lockRequests(op string) error {
	if ep == nil {
		return objectOf(ep).unusable(op, InvalidHandleEP)
	}
	ep.request.mu.Lock()
	ep.changing.Store(true)
	if ep.request.handle != 0 {
		return nil
	}
	defer ep.unlockRequests()
	return ep.obj.unusable(op, InvalidHandleEP)
}

func (ep *EP) unlockRequests() {
	ep.changing.Store(false)
	ep.request.mu.Unlock()
}

// awaitPosts waits until no request is in the library that is there now. A call that changes the
// endpoint posts none, and may take long.
func (ep *EP) awaitPosts() {
	const mostTries = 3 // each may take a time slice of a goroutine that only posts
	for tries := 0; !ep.request.mu.TryLock(); tries++ {
		if ep.changing.Load() {
			return
		}
		if tries == mostTries {
			ep.request.mu.Lock() // posts take turns all the time, and so does this
			break
		}
		runtime.Gosched()
	}
	ep.request.mu.Unlock()
}

func (ep *EP) object() *object { return &ep.obj }

// CreateEP creates an endpoint in the state UNCONNECTED. Completions of receives go to recv, those
// of requests to request, and connection events to connect. recv and request may be the same EVD.
// Without recv or request nothing can be posted in that direction; without connect the endpoint
// cannot connect. EP.Modify can set them later. A nil attr means the provider's defaults: see
// EPAttr. For an EVD that is shorter than the operations that may be outstanding see CreateEVD.
//
//	Implements: DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
//	    IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
//	    IN DAT_EVD_HANDLE connect_evd_handle, IN const DAT_EP_ATTR *ep_attributes,
//	    OUT DAT_EP_HANDLE *ep_handle)
func CreateEP(ia *IA, pz *PZ, recv, request, connect *EVD, attr *EPAttr) (*EP, error) {
	return createEP("dat_ep_create", ia, epParts{pz: pz, recv: recv, request: request, connect: connect}, attr)
}

// CreateEPWithSRQ creates an endpoint that takes receives from a shared receive queue: EP.PostRecv
// fails, and their completions go to recv. All EVDs are required. If recv is shorter than all
// receives that may be outstanding there, these take room on it, once for all endpoints that share
// both: see CreateEVD. It fails with ResourceTEVD if recv has no room for the posted ones.
//
//	Implements: DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_PZ_HANDLE pz_handle, IN DAT_EVD_HANDLE recv_evd_handle,
//	    IN DAT_EVD_HANDLE request_evd_handle, IN DAT_EVD_HANDLE connect_evd_handle,
//	    IN DAT_SRQ_HANDLE srq_handle, IN const DAT_EP_ATTR *ep_attributes,
//	    OUT DAT_EP_HANDLE *ep_handle)
func CreateEPWithSRQ(ia *IA, pz *PZ, recv, request, connect *EVD, srq *SRQ, attr *EPAttr) (*EP, error) {
	const op = "dat_ep_create_with_srq"
	p := epParts{pz: pz, recv: recv, request: request, connect: connect, srq: srq}
	for _, a := range p.optional() {
		if a.object == nil {
			return nil, a.object.unusable(op, a.invalid)
		}
	}
	return createEP(op, ia, p, attr)
}

func createEP(op string, ia *IA, p epParts, attr *EPAttr) (*EP, error) {
	if attr != nil {
		p.attr = *attr
	}
	leave, err := enterAll(op, p.arguments(ia)...)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := p.check(op, ia, EPParamMask(cgo.EPFieldAll)); err != nil {
		return nil, err
	}
	handle, r := p.create(ia)
	if err := p.checkCreate(op, ia, r); err != nil {
		return nil, err
	}
	ep := &EP{ia: ia, handle: handle, parts: new(epParts)}
	ep.shadow = watch(shadow.Endpoint{State: ep.libraryState, TryState: ep.tryState}, func() string { return ep.obj.String() })
	if err := ep.join(op, &p); err != nil {
		cgo.EPFree(handle)
		return nil, err
	}
	ep.parts = &p
	ep.recv = workQueue{handle: cgo.Handle(handle), ep: ep, pz: p.pz}
	ep.request = workQueue{handle: cgo.Handle(handle), ep: ep, pz: p.pz}
	ep.obj.SetGate(&ep.recv.mu)
	ep.obj.born(endpointKind, cgo.Handle(handle), NoSubtype, ep.Free, p.parents(ia)...)
	ia.addObject(ep)
	return ep, nil
}

// epParts is what an endpoint is made from.
type epParts struct {
	pz                     *PZ
	recv, request, connect *EVD   // nil for none
	srq                    *SRQ   // nil for none
	attr                   EPAttr // as a call has given it; the library has the rest of what Modify leaves
}

// optional lists the parts that may be left out.
func (p *epParts) optional() []argument {
	return []argument{{objectOf(p.recv), InvalidHandleEVDRecv}, {objectOf(p.request), InvalidHandleEVDRequest},
		{objectOf(p.connect), InvalidHandleEVDConn}, {objectOf(p.srq), InvalidHandleSRQ}}
}

// arguments lists the parts, without those that are left out.
func (p *epParts) arguments(ia *IA) []argument {
	arguments := append(make([]argument, 0, 6), argument{objectOf(ia), InvalidHandleIA}, argument{objectOf(p.pz), InvalidHandlePZ})
	for _, a := range p.optional() {
		if a.object != nil {
			arguments = append(arguments, a)
		}
	}
	return arguments
}

func (p *epParts) parents(ia *IA) (parents []*life.Object) {
	for _, a := range p.arguments(ia) {
		parents = append(parents, &a.object.Object)
	}
	return parents
}

// evds returns the event dispatchers, each once.
func (p *epParts) evds() (evds []*EVD) {
	for _, evd := range []*EVD{p.recv, p.request, p.connect} {
		if evd != nil && !slices.Contains(evds, evd) {
			evds = append(evds, evd)
		}
	}
	return evds
}

// join registers the endpoint with all event dispatchers of p or, if one refuses, with none.
func (ep *EP) join(op string, p *epParts) error {
	for _, evd := range p.evds() {
		if err := evd.join(op, ep, p.streams(evd)); err != nil {
			ep.restore(p)
			return err
		}
	}
	return nil
}

// restore registers the endpoint with the EVDs of p as its own parts say, or not at all.
func (ep *EP) restore(p *epParts) {
	for _, evd := range p.evds() {
		if slices.Contains(ep.parts.evds(), evd) {
			_ = evd.join("", ep, ep.parts.streams(evd)) // which it has allowed before
		} else {
			evd.leave(ep)
		}
	}
}

func (p *epParts) create(ia *IA) (cgo.EPHandle, cgo.Return) {
	defaults, r := ia.defaultAttr()
	if !r.OK() {
		return 0, r
	}
	recv, request, connect, attr := p.recv.nativeHandle(), p.request.nativeHandle(), p.connect.nativeHandle(), p.native(defaults)
	if p.srq != nil {
		return cgo.EPCreateWithSRQ(ia.handle, p.pz.handle, recv, request, connect, p.srq.handle, attr)
	}
	return cgo.EPCreate(ia.handle, p.pz.handle, recv, request, connect, attr)
}

// check refuses what the library would accept and break on.
func (p *epParts) check(op string, ia *IA, mask EPParamMask) error {
	switch {
	case p.recv != nil && p.recv.flags&EVDDTO == 0:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDRecv, "the receive event dispatcher must be one for completions: create it with EVDDTO")
	case p.request != nil && p.request.flags&EVDDTO == 0:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDRequest, "the request event dispatcher must be one for completions: create it with EVDDTO")
	case p.connect != nil && p.connect.flags&EVDConnection == 0:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDConn, "the connect event dispatcher must be one for connection events: create it with EVDConnection")
	}
	return p.checkAttr(op, &ia.attr, mask)
}

// streams returns the flags of the streams of completions that come to an EVD.
func (p *epParts) streams(evd *EVD) (flags []CompletionFlags) {
	if p.recv == evd {
		flags = append(flags, cmp.Or(p.attr.RecvCompletionFlags, CompletionEVDThreshold))
	}
	if p.request == evd {
		flags = append(flags, cmp.Or(p.attr.RequestCompletionFlags, CompletionEVDThreshold))
	}
	return flags
}

// EPStatus is a snapshot of an endpoint. An operation is outstanding until the library knows that
// it is over, at the latest when its completion is taken.
type EPStatus struct {
	State       EPState
	RecvIdle    bool // no receive is outstanding
	RequestIdle bool // no send, RDMA read or RDMA write is outstanding
}

// GetStatus returns a snapshot of the endpoint. It does not allocate. It also makes the library
// look for suppressed requests that have succeeded, so that a later call reports RequestIdle.
//
//	Implements: DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
//	    OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle)
func (ep *EP) GetStatus() (EPStatus, error) {
	const op = "dat_ep_get_status"
	if err := objectOf(ep).enter(op, InvalidHandleEP); err != nil {
		return EPStatus{}, err
	}
	defer ep.obj.Leave()
	if ep.shadow != nil {
		ep.shadow.Observe(op)
	}
	state, recvIdle, requestIdle, r := cgo.EPGetStatus(ep.handle)
	return EPStatus{EPState(state), recvIdle != 0, requestIdle != 0}, check(op, r)
}

// state returns the state, which a shadow checks. The caller holds the lock of a queue.
func (ep *EP) state(op string) (EPState, error) {
	look := ep.libraryState
	if ep.shadow != nil {
		look = ep.shadow.Observe
	}
	state, err := look(op)
	return EPState(state), err
}

func (ep *EP) libraryState(op string) (cgo.EPState, error) {
	state, _, _, r := cgo.EPGetStatus(ep.handle)
	return state, check(op, r)
}

// tryState is libraryState without waiting for the gate. It reports false if it would have to.
func (ep *EP) tryState(op string) (cgo.EPState, bool) {
	q := &ep.recv
	if !q.mu.TryLock() {
		return 0, false
	}
	defer q.mu.Unlock()
	if q.handle == 0 {
		return 0, false
	}
	state, err := ep.libraryState(op)
	return state, err == nil
}

// EPParam holds the parameters of an endpoint. For EP.Modify see EPParamMask.
type EPParam struct {
	IA                              *IA
	State                           EPState
	LocalAddress, RemoteAddress     netip.Addr // RemoteAddress is zero unless connected or connecting
	LocalPortQual, RemotePortQual   uint64     // 0 unless connected or connecting; LocalPortQual also with socket CM
	PZ                              *PZ
	RecvEVD, RequestEVD, ConnectEVD *EVD
	SRQ                             *SRQ // nil for an endpoint with receives of its own
	Attr                            EPAttr
}

// Query returns the parameters of the endpoint.
//
//	Implements: DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_PARAM_MASK ep_param_mask, OUT DAT_EP_PARAM *ep_param)
func (ep *EP) Query() (EPParam, error) {
	const op = "dat_ep_query"
	if err := objectOf(ep).enter(op, InvalidHandleEP); err != nil {
		return EPParam{}, err
	}
	defer ep.obj.Leave()
	state, err := ep.state(op)
	if err != nil {
		return EPParam{}, err
	}
	var native cgo.EPParam
	p := ep.parts
	if r := cgo.EPQuery(ep.handle, cgo.EPFieldAll, &native); !r.OK() {
		return EPParam{}, check(op, r)
	}
	if !inAttempt(state) && state != EPStateConnected && state != EPStateDisconnectPending {
		native.LocalPortQual, native.RemotePortQual = 0, 0 // what the endpoint would use, or has used
	}
	return EPParam{
		IA:             ep.ia,
		State:          state,
		LocalAddress:   cgo.SockAddrAt(native.LocalIAAddressPtr).Addr(),
		LocalPortQual:  native.LocalPortQual,
		RemoteAddress:  cgo.SockAddrAt(native.RemoteIAAddressPtr).Addr(),
		RemotePortQual: native.RemotePortQual,
		PZ:             p.pz,
		RecvEVD:        p.recv,
		RequestEVD:     p.request,
		ConnectEVD:     p.connect,
		SRQ:            p.srq,
		Attr:           newEPAttr(&native.EPAttr),
	}, nil
}

// Free frees the endpoint, ends its connection or attempt to connect, and drops its queued events.
// It fails with ErrInvalidState while an RSP holds the endpoint.
//
//	Implements: DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Free() (err error) {
	const op = "dat_ep_free"
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	defer ep.shadow.Begin(shadow.Free).End(&err)
	return ep.obj.seal(op, InvalidHandleEP, func() error {
		const held = "a reserved service point holds the endpoint: free that first"
		state, err := ep.libraryState(op)
		switch {
		case err != nil:
			return err
		case state == cgo.EPStateReserved || state == cgo.EPStatePassiveConnectionPending: // no event may be lost for that
			return refuse(op, ErrInvalidState, stateSubtypes[EPState(state)], held)
		}
		// A connection event refers to private data in the endpoint's memory, so none is taken from
		// here on. The queues are not locked meanwhile: the library may wait for the peer.
		p := ep.parts
		if p.connect != nil {
			p.connect.leave(ep)
		}
		if err := checkState(op, cgo.EPFree(ep.handle), held); err != nil {
			ep.restore(p)
			return err
		}
		for _, evd := range p.evds() {
			evd.leave(ep)
		}
		ep.ia.removeObject(ep)
		ep.recv.handle, ep.request.handle = 0, 0
		return nil
	})
}

// checkCreate is the function of that name, with the reasons that only endpoints have.
func (p *epParts) checkCreate(op string, ia *IA, r cgo.Return) error {
	switch r.Type() {
	case cgo.InvalidAddress: // the connection manager could not bind the endpoint to the adapter's address
		if err := ia.addressGone(op); err != nil {
			return err
		}
		return withProblem(op, classError|Return(ErrInsufficientResources), fmt.Errorf("%w: each endpoint of the CMA provider takes one of net.ipv4.ip_local_port_range, "+
			"and all of %v seem to be taken: widen the range, or free endpoints, also in other processes", device.ProblemNoPorts, ia.attr.Address))
	case cgo.ModelNotSupported:
		return refuse(op, ErrModelNotSupported, NoSubtype, "the device %s has no reliable connections: use another", ia.attr.AdapterName)
	case cgo.InvalidParameter:
		defaults, _ := ia.defaultAttr()
		a := p.native(defaults)
		return withProblem(op, Return(r), fmt.Errorf("%w: MaxRecvDTOs %d, MaxRequestDTOs %d, MaxRecvIOV %d and MaxRequestIOV %d, though each is within the limits of %s. "+
			"Together they may be too much, and with some devices MaxDTOPerEP, %d, is so alone: ask for less. Or have all processes together its %d endpoints, MaxEPs (rdma resource show)?",
			device.ProblemRefusedAttributes, a.MaxRecvDTOs, a.MaxRequestDTOs, a.MaxRecvIOV, a.MaxRequestIOV, ia.attr.AdapterName, ia.attr.MaxDTOPerEP, ia.attr.MaxEPs))
	}
	if err := p.checkResources(op, r); err != nil {
		return err
	}
	return checkCreate(op, r)
}

// checkResources explains that more receives are posted than a receive EVD has room for, or that a
// file is missing: the library makes a queue for directions without an EVD, once.
func (p *epParts) checkResources(op string, r cgo.Return) error {
	if r.Type() != cgo.InsufficientResources || r.Subtype() != cgo.ResourceTEVD {
		return noFile(op, r, p.recv == nil || p.request == nil)
	}
	to := "endpoint"
	if p.srq != nil {
		to = "shared queue"
	}
	return refuse(op, ErrInsufficientResources, ResourceTEVD, "the receives that are posted to the %s have no room on the receive event dispatcher: "+
		"make it longer with Resize, or take completions", to)
}

func (ep *EP) requireState(op string, want EPState) error {
	state, err := ep.state(op)
	if err != nil || state == want {
		return err
	}
	return refuseState(op, want, state)
}

func refuseState(op string, want, state EPState) error {
	return refuse(op, ErrInvalidState, stateSubtypes[state], "the endpoint is in the state %v, it must be in %v: %s", state, want, wayTo(want, state))
}

// wayTo says how an endpoint comes from a state to the wanted one.
func wayTo(want, state EPState) string {
	switch {
	case want == EPStateConnected && (inAttempt(state) || state == want): // it has come there meanwhile
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

// stateSubtypes has the subtypes by which an ErrInvalidState names a state.
var stateSubtypes = map[EPState]ReturnSubtype{
	EPStateUnconnected:              InvalidStateEPUnconnected,
	EPStateReserved:                 InvalidStateEPReserved,
	EPStatePassiveConnectionPending: InvalidStateEPPassConnPending,
	EPStateActiveConnectionPending:  InvalidStateEPActConnPending,
	EPStateConnected:                InvalidStateEPConnected,
	EPStateDisconnectPending:        InvalidStateEPDiscPending,
	EPStateDisconnected:             InvalidStateEPDisconnected,
	EPStateCompletionPending:        InvalidStateEPComplPending,
}

// inAttempt reports whether a connection is being made.
func inAttempt(state EPState) bool {
	return state == EPStateActiveConnectionPending || state == EPStateCompletionPending
}

// requireConnectable refuses an endpoint that cannot connect from the given state.
func (ep *EP) requireConnectable(op string, from EPState) error {
	if ep.parts.connect == nil {
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDConn, "the endpoint has no connect event dispatcher: set one with CreateEP or Modify")
	}
	return ep.requireState(op, from)
}
