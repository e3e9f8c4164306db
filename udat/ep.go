package udat

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// EP is an endpoint, one end of a connection. Its methods may be called from
// any goroutine; a post waits for no other call than another post in the same
// direction on the same endpoint.
type EP struct {
	obj object
	ia  *IA

	// control serialises the calls that change the endpoint. It is taken before
	// the gate, and never by code that holds an EVD's lock.
	control sync.Mutex

	// handle and what follows change when the native endpoint is replaced,
	// which happens with the gate closed and both directions locked.
	handle     cgo.EPHandle
	number     uint32 // in the adapter's endpoint table
	pz         *PZ
	recvEVD    *EVD
	requestEVD *EVD
	connectEVD *EVD
	attr       EPAttr

	recv    direction
	request direction
	early   earlyReceives

	connection connection
}

func (ep *EP) object() *object {
	if ep == nil {
		return nil
	}
	return &ep.obj
}

// EPAttr holds the attributes of an endpoint. A zero EPAttr is not usable: start
// from what Query gives for an endpoint with the provider's defaults.
type EPAttr struct {
	ServiceType            ServiceType     // ServiceTypeRC
	MaxMessageSize         uint32          // bytes of a send or a receive, 1 to IAAttr.MaxMessageSize
	MaxRDMASize            uint32          // bytes of an RDMA read or write, 1 to IAAttr.MaxRDMASize
	QOS                    QOS             // QOSBestEffort
	RecvCompletionFlags    CompletionFlags // 0, CompletionEVDThreshold, CompletionSolicitedWait or CompletionUnsignalled
	RequestCompletionFlags CompletionFlags // 0, CompletionEVDThreshold or CompletionUnsignalled
	MaxRecvDTOs            int             // receives outstanding, 1 to IAAttr.MaxDTOPerEP; 0 without a receive EVD
	MaxRequestDTOs         int             // requests outstanding, likewise
	MaxRecvIOV             int             // segments of a receive, 1 to IAAttr.MaxIOVSegmentsPerDTO
	MaxRequestIOV          int             // segments of a request, likewise
	MaxRDMAReadIn          int             // RDMA reads that the peer may have in progress
	MaxRDMAReadOut         int             // RDMA reads in progress; without any, none can be posted
	SRQSoftHW              int
	MaxRDMAReadIOV         int
	MaxRDMAWriteIOV        int
}

func (a *EPAttr) native() *cgo.EPAttr {
	return &cgo.EPAttr{
		ServiceType:            a.ServiceType,
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		QOS:                    a.QOS,
		RecvCompletionFlags:    a.RecvCompletionFlags,
		RequestCompletionFlags: a.RequestCompletionFlags,
		MaxRecvDTOs:            int32(a.MaxRecvDTOs),
		MaxRequestDTOs:         int32(a.MaxRequestDTOs),
		MaxRecvIOV:             int32(a.MaxRecvIOV),
		MaxRequestIOV:          int32(a.MaxRequestIOV),
		MaxRDMAReadIn:          int32(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int32(a.MaxRDMAReadOut),
		SRQSoftHW:              int32(a.SRQSoftHW),
		MaxRDMAReadIOV:         int32(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int32(a.MaxRDMAWriteIOV),
	}
}

func newEPAttr(a *cgo.EPAttr) EPAttr {
	return EPAttr{
		ServiceType:            a.ServiceType,
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		QOS:                    a.QOS,
		RecvCompletionFlags:    a.RecvCompletionFlags,
		RequestCompletionFlags: a.RequestCompletionFlags,
		MaxRecvDTOs:            int(a.MaxRecvDTOs),
		MaxRequestDTOs:         int(a.MaxRequestDTOs),
		MaxRecvIOV:             int(a.MaxRecvIOV),
		MaxRequestIOV:          int(a.MaxRequestIOV),
		MaxRDMAReadIn:          int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int(a.MaxRDMAReadOut),
		SRQSoftHW:              int(a.SRQSoftHW),
		MaxRDMAReadIOV:         int(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int(a.MaxRDMAWriteIOV),
	}
}

// CreateEP creates an endpoint in the state UNCONNECTED.
//
// Receive completions come to recv, those of sends and RDMA operations to
// request, connection events to connect. One EVD may serve recv and request. A
// nil recv or request means that nothing is posted in that direction, a nil
// connect that the endpoint does not connect; Modify can set them later.
//
// A nil attr means the provider's defaults, which Query gives. The EVDs must
// have room for all operations that attr allows to be outstanding.
//
// Implements:
//
//	DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle,
//	                         IN DAT_PZ_HANDLE pz_handle,
//	                         IN DAT_EVD_HANDLE recv_evd_handle,
//	                         IN DAT_EVD_HANDLE request_evd_handle,
//	                         IN DAT_EVD_HANDLE connect_evd_handle,
//	                         IN DAT_EP_ATTR *ep_attributes,
//	                         OUT DAT_EP_HANDLE *ep_handle)
func CreateEP(ia *IA, pz *PZ, recv, request, connect *EVD, attr *EPAttr) (*EP, error) {
	const op = "dat_ep_create"
	leave, err := enterAll(op, epArguments(ia, pz, recv, request, connect)...)
	if err != nil {
		return nil, err
	}
	defer leave()
	p := epParts{pz: pz, recv: recv, request: request, connect: connect}
	if attr != nil {
		a := *attr
		p.attr = &a
	}
	handle, err := p.create(op, ia)
	if err != nil {
		return nil, err
	}
	ep := &EP{ia: ia}
	ep.connection.idle = make(chan struct{}, 1)
	number, err := ep.newNumber(op)
	if err != nil {
		p.release()
		cgo.EPFree(handle)
		return nil, err
	}
	ep.install(p, handle, number)
	ep.obj.born("endpoint", NoSubtype, ep.Free, p.parents(ia)...)
	return ep, nil
}

// epArguments lists what an endpoint is made of, without the EVDs that are left out.
func epArguments(ia *IA, pz *PZ, recv, request, connect *EVD) []argument {
	arguments := []argument{{ia.object(), InvalidHandleIA}, {pz.object(), InvalidHandlePZ}}
	if recv != nil {
		arguments = append(arguments, argument{&recv.obj, InvalidHandleEVDRecv})
	}
	if request != nil {
		arguments = append(arguments, argument{&request.obj, InvalidHandleEVDRequest})
	}
	if connect != nil {
		arguments = append(arguments, argument{&connect.obj, InvalidHandleEVDConn})
	}
	return arguments
}

// epParts is what a native endpoint is made from.
type epParts struct {
	pz                     *PZ
	recv, request, connect *EVD
	attr                   *EPAttr // nil for the provider's defaults, until created
}

func (p *epParts) parents(ia *IA) []*object {
	parents := []*object{&ia.obj, &p.pz.obj}
	for _, evd := range []*EVD{p.recv, p.request, p.connect} {
		if evd != nil {
			parents = append(parents, &evd.obj)
		}
	}
	return parents
}

// create makes a native endpoint of the parts, with room for its events
// reserved. It completes the attributes.
func (p *epParts) create(op string, ia *IA) (cgo.EPHandle, error) {
	if err := p.check(op, ia); err != nil {
		return 0, err
	}
	if p.attr == nil {
		if err := p.takeDefaults(op, ia); err != nil {
			return 0, err
		}
	}
	native := p.attr.native()
	if p.recv != nil && p.attr.MaxRecvDTOs < ia.attr.MaxDTOPerEP {
		native.MaxRecvDTOs++ // kept free for rescueDisconnect
	}
	handle, err := p.createNative(op, ia, native)
	if err != nil {
		return 0, err
	}
	if err := p.reserve(op); err != nil {
		cgo.EPFree(handle)
		return 0, err
	}
	return handle, nil
}

func (p *epParts) createNative(op string, ia *IA, attr *cgo.EPAttr) (cgo.EPHandle, error) {
	handle, r := cgo.EPCreate(ia.handle, p.pz.handle, p.recv.nativeHandle(), p.request.nativeHandle(), p.connect.nativeHandle(), attr)
	return handle, check(op, r)
}

// takeDefaults asks the provider for its attributes, which it tells only of an
// endpoint that has them.
func (p *epParts) takeDefaults(op string, ia *IA) error {
	handle, err := p.createNative(op, ia, nil)
	if err != nil {
		return err
	}
	defer cgo.EPFree(handle)
	var param cgo.EPParam
	if r := cgo.EPQuery(handle, cgo.EPFieldAll, &param); !r.OK() {
		return check("dat_ep_query", r)
	}
	attr := newEPAttr(&param.EPAttr)
	if p.request == nil {
		attr.MaxRequestIOV = 0 // the library refuses its own default
	}
	p.attr = &attr
	return nil
}

func (evd *EVD) nativeHandle() cgo.EVDHandle {
	if evd == nil {
		return 0
	}
	return evd.handle
}

// connectionEventsPerEP is the room that an endpoint needs on its connect EVD:
// established and disconnected, twice over for one that is reset and used again
// before anybody looked.
const connectionEventsPerEP = 4

// claim is the room that an endpoint needs on one of its EVDs.
type claim struct {
	evd *EVD
	n   int
}

func (p *epParts) claims() []claim {
	return slices.DeleteFunc([]claim{
		{p.recv, p.attr.MaxRecvDTOs}, {p.request, p.attr.MaxRequestDTOs}, {p.connect, connectionEventsPerEP},
	}, func(c claim) bool { return c.evd == nil })
}

// reserve claims room for the events, since an EVD that overflows is lost, and
// the endpoints on it hang.
func (p *epParts) reserve(op string) error {
	claims := p.claims()
	for i, c := range claims {
		if left, ok := c.evd.capacity.reserve(c.n); !ok {
			for _, done := range claims[:i] {
				done.evd.capacity.release(done.n)
			}
			return refuse(op, ErrInsufficientResources, ResourceTEVD,
				"the endpoint can have %d events at once on an event dispatcher that has room for %d of its %d", c.n, left, c.evd.qlen)
		}
	}
	return nil
}

func (p *epParts) release() {
	for _, c := range p.claims() {
		c.evd.capacity.release(c.n)
	}
}

// check refuses what the library would accept and break on.
func (p *epParts) check(op string, ia *IA) error {
	switch {
	case p.pz.ia != ia:
		return refuse(op, ErrInvalidHandle, InvalidHandlePZ, "the protection zone belongs to another adapter")
	case p.recv != nil && (p.recv.ia != ia || p.recv.flags&EVDDTO == 0):
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDRecv, "the receive event dispatcher must be one for completions on the same adapter")
	case p.request != nil && (p.request.ia != ia || p.request.flags&EVDDTO == 0):
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDRequest, "the request event dispatcher must be one for completions on the same adapter")
	case p.connect != nil && (p.connect.ia != ia || p.connect.flags&EVDConnection == 0):
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDConn, "the connect event dispatcher must be one for connection events on the same adapter")
	}
	if p.attr == nil {
		return nil
	}
	return p.checkAttr(op, &ia.attr)
}

func (p *epParts) checkAttr(op string, most *IAAttr) error {
	a := p.attr
	const recvFlags = CompletionEVDThreshold | CompletionSolicitedWait | CompletionUnsignalled
	const requestFlags = CompletionEVDThreshold | CompletionUnsignalled
	switch {
	case a.ServiceType != ServiceTypeRC:
		return refuse(op, ErrModelNotSupported, NoSubtype, "the service type is %v, only %v is supported", a.ServiceType, ServiceTypeRC)
	case a.QOS != QOSBestEffort:
		return refuse(op, ErrModelNotSupported, NoSubtype, "the quality of service is %v, only %v is supported", a.QOS, QOSBestEffort)
	case a.RecvCompletionFlags&^recvFlags != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "RecvCompletionFlags is %v, it may have %v", a.RecvCompletionFlags, recvFlags)
	case a.RequestCompletionFlags&^requestFlags != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "RequestCompletionFlags is %v, it may have %v", a.RequestCompletionFlags, requestFlags)
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"MaxMessageSize", int(a.MaxMessageSize), 1, int(most.MaxMessageSize)},
		{"MaxRDMASize", int(a.MaxRDMASize), 1, int(most.MaxRDMASize)},
		{"MaxRecvDTOs", a.MaxRecvDTOs, oneIf(p.recv), mostIf(p.recv, most.MaxDTOPerEP)},
		{"MaxRequestDTOs", a.MaxRequestDTOs, oneIf(p.request), mostIf(p.request, most.MaxDTOPerEP)},
		{"MaxRecvIOV", a.MaxRecvIOV, oneIf(p.recv), most.MaxIOVSegmentsPerDTO},
		{"MaxRequestIOV", a.MaxRequestIOV, oneIf(p.request), mostIf(p.request, most.MaxIOVSegmentsPerDTO)},
		{"MaxRDMAReadIn", a.MaxRDMAReadIn, 0, most.MaxRDMAReadPerEPIn},
		{"MaxRDMAReadOut", a.MaxRDMAReadOut, 0, most.MaxRDMAReadPerEPOut},
		{"MaxRDMAReadIOV", a.MaxRDMAReadIOV, 0, most.MaxIOVSegmentsPerRead},
		{"MaxRDMAWriteIOV", a.MaxRDMAWriteIOV, 0, most.MaxIOVSegmentsPerWrite},
	} {
		if f.value < f.low || f.value > f.high {
			return refuse(op, ErrInvalidParameter, InvalidArg6, "%s is %d, it must be %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	return nil
}

func oneIf(evd *EVD) int { return mostIf(evd, 1) }

// mostIf gives n for a direction that has an EVD, 0 for one that has not.
func mostIf(evd *EVD, n int) int {
	if evd == nil {
		return 0
	}
	return n
}

// newNumber enters the endpoint in the adapter's table.
func (ep *EP) newNumber(op string) (uint32, error) {
	number, ok := ep.ia.endpoints.add(ep)
	if !ok {
		return 0, refuse(op, ErrInsufficientResources, ResourceTEP, "the adapter has as many endpoints as can be told apart")
	}
	return number, nil
}

// install makes the native endpoint the one behind ep. The caller has ep to
// itself: it is new, or its gate is closed and its directions are locked.
func (ep *EP) install(p epParts, handle cgo.EPHandle, number uint32) {
	ep.ia.endpoints.addHandle(ep, handle)
	ep.handle, ep.number = handle, number
	ep.pz, ep.recvEVD, ep.requestEVD, ep.connectEVD, ep.attr = p.pz, p.recv, p.request, p.connect, *p.attr
	a := p.attr
	ep.recv.open(handle, number, p.pz, a.MaxRecvDTOs, a.MaxRecvIOV, a)
	ep.request.open(handle, number, p.pz, a.MaxRequestDTOs, a.MaxRequestIOV, a)
	ep.early.start()
	ep.connection.restart()
}

func (ep *EP) parts() epParts {
	attr := ep.attr
	return epParts{pz: ep.pz, recv: ep.recvEVD, request: ep.requestEVD, connect: ep.connectEVD, attr: &attr}
}

// direction gives the queue that an operation belongs to.
func (ep *EP) direction(op DTO) *direction {
	if op == DTOReceive {
		return &ep.recv
	}
	return &ep.request
}

// reap brings the records up to date with the library's queues. An endpoint
// keeps its EVDs alive, so that their gates need not be opened.
func (ep *EP) reap() {
	for _, evd := range []*EVD{ep.recvEVD, ep.requestEVD, ep.connectEVD} {
		if evd != nil {
			evd.reap()
		}
	}
}

// EPStatus is a snapshot of an endpoint.
type EPStatus struct {
	State EPState
	// RecvIdle is true when no receive is outstanding, RequestIdle when no
	// send, RDMA read or RDMA write is. An operation is outstanding until its
	// completion has been taken from the EVD.
	RecvIdle    bool
	RequestIdle bool
}

// GetStatus gives a snapshot of the endpoint. It waits for nothing and does not allocate.
//
// Implements:
//
//	DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
//	                             OUT DAT_EP_STATE *ep_state,
//	                             OUT DAT_BOOLEAN *recv_idle,
//	                             OUT DAT_BOOLEAN *request_idle)
func (ep *EP) GetStatus() (EPStatus, error) {
	const op = "dat_ep_get_status"
	if err := ep.object().enter(op, InvalidHandleEP); err != nil {
		return EPStatus{}, err
	}
	defer ep.obj.leave()
	state, err := ep.state(op)
	return EPStatus{
		State:       state,
		RecvIdle:    ep.recv.outstanding() == 0,
		RequestIdle: ep.request.outstanding() == 0,
	}, err
}

// state gives the library's state, and DISCONNECT_PENDING while the binding
// completes the requests for a graceful disconnect, which the library does not.
// The caller holds the gate.
func (ep *EP) state(op string) (EPState, error) {
	state, _, _, r := cgo.EPGetStatus(ep.handle)
	switch {
	case state == EPStateConnected && ep.connection.draining.Load():
		state = EPStateDisconnectPending
	case state == EPStateUnconnected && ep.connection.rescued.Load():
		state = EPStateDisconnected
	}
	return state, check(op, r)
}

// EPParam holds the parameters of an endpoint. State and addresses can only be
// queried, the rest can be modified too.
type EPParam struct {
	IA             *IA
	State          EPState
	LocalAddress   netip.Addr
	LocalPortQual  uint64
	RemoteAddress  netip.Addr // zero unless connected or connecting
	RemotePortQual uint64
	PZ             *PZ
	RecvEVD        *EVD
	RequestEVD     *EVD
	ConnectEVD     *EVD
	Attr           EPAttr
}

// Query gives the parameters of the endpoint. Port qualifiers are what the
// provider knows: the socket CM provider often reports 0.
//
// Implements:
//
//	DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle,
//	                        IN DAT_EP_PARAM_MASK ep_param_mask,
//	                        OUT DAT_EP_PARAM *ep_param)
func (ep *EP) Query() (EPParam, error) {
	const op = "dat_ep_query"
	if err := ep.object().enter(op, InvalidHandleEP); err != nil {
		return EPParam{}, err
	}
	defer ep.obj.leave()
	state, err := ep.state(op)
	if err != nil {
		return EPParam{}, err
	}
	var native cgo.EPParam
	if r := cgo.EPQuery(ep.handle, cgo.EPFieldAll, &native); !r.OK() {
		return EPParam{}, check(op, r)
	}
	return EPParam{
		IA:             ep.ia,
		State:          state,
		LocalAddress:   cgo.SockAddrAt(native.LocalIAAddressPtr).Addr(),
		LocalPortQual:  native.LocalPortQual,
		RemoteAddress:  cgo.SockAddrAt(native.RemoteIAAddressPtr).Addr(),
		RemotePortQual: native.RemotePortQual,
		PZ:             ep.pz,
		RecvEVD:        ep.recvEVD,
		RequestEVD:     ep.requestEVD,
		ConnectEVD:     ep.connectEVD,
		Attr:           ep.attr,
	}, nil
}

// Free frees the endpoint in any state; a connection is broken off. Completions
// that were not dequeued may still come or not, both is safe. A second Free
// gives ErrClosed.
//
// Implements:
//
//	DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Free() error {
	const op = "dat_ep_free"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	return ep.obj.seal(op, InvalidHandleEP, func() error {
		ep.connection.cancel()
		ep.lockDirections()
		defer ep.unlockDirections()
		ep.reap()
		if err := ep.freeNative(op); err != nil {
			return err
		}
		ep.ia.endpoints.remove(ep.number)
		// What the library left in its queues is dropped now, while its own
		// records of the endpoint are fresh.
		ep.reap()
		p := ep.parts()
		p.release()
		ep.handle, ep.recv.handle, ep.request.handle = 0, 0, 0
		return nil
	})
}

// freeNative frees the native endpoint. Connection events that name it are
// dropped from then on: their private data points into it. The library would
// disconnect by itself, but then nothing could get it out when that is stuck.
// The caller holds control and both directions.
func (ep *EP) freeNative(op string) error {
	ep.ia.endpoints.removeHandle(ep.handle)
	ep.disconnectNative()
	ep.settleRequests(op)
	if err := check(op, cgo.EPFree(ep.handle)); err != nil {
		ep.ia.endpoints.addHandle(ep, ep.handle)
		return err
	}
	return nil
}

func (ep *EP) lockDirections() {
	ep.request.mu.Lock()
	ep.recv.mu.Lock()
}

func (ep *EP) unlockDirections() {
	ep.recv.mu.Unlock()
	ep.request.mu.Unlock()
}
