package devicetest

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// outcome fails the test when a call did not return the type and subtype wanted.
func outcome(t testing.TB, call string, got cgo.Return, want cgo.ReturnType, subtype cgo.ReturnSubtype) {
	t.Helper()
	check(t, got.Type() == want && got.Subtype() == subtype, "%s returned %v, want %v", call, got, cgo.Return(want)|cgo.Return(subtype))
}

func success(t testing.TB, call string, got cgo.Return) {
	t.Helper()
	outcome(t, call, got, cgo.Success, cgo.NoSubtype)
}

func check(t testing.TB, ok bool, format string, arguments ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, arguments...)
	}
}

func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	check(t, got == want, "%s: got %v, want %v", what, got, want)
}

// must returns what a call has made that has to succeed.
func must[T any](made T, r cgo.Return) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		success(t, "the call", r)
		return made
	}
}

// adapter is an open interface adapter.
type adapter struct {
	cgo.IAHandle
	name    string
	device  string
	async   cgo.EVDHandle
	address *cgo.SockAddr
	iwarp   bool // which the device speaks
}

func openAdapter(t testing.TB, name string) *adapter {
	t.Helper()
	a := &adapter{name: name}
	var r cgo.Return
	a.IAHandle, a.async, r = cgo.IAOpen(name, 64)
	success(t, "IAOpen "+name, r)
	t.Cleanup(func() { success(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseGraceful)) })
	attr := queryIA(t, a.IAHandle)
	address := cgo.SockAddrAt(attr.IAAddressPtr)
	a.address = &address
	a.device = nameOf(attr)
	a.iwarp = speaksIWARP(t, attr)
	return a
}

// noHost is an address of the adapter's network that no host of the test bed has.
func (a *adapter) noHost() *cgo.SockAddr {
	ip := a.address.Addr().AsSlice()
	ip[len(ip)-1] ^= 0xc0
	addr, _ := netip.AddrFromSlice(ip)
	none := cgo.NewSockAddr(addr)
	return &none
}

func speaksIWARP(t testing.TB, attr cgo.IAAttr) bool {
	t.Helper()
	return deviceNamed(t, nameOf(attr)).Transport == device.TransportIWARP
}

func nameOf(attr cgo.IAAttr) string {
	name, _, _ := bytes.Cut(attr.AdapterName[:], []byte{0})
	return string(name)
}

func deviceNamed(t testing.TB, name string) device.Device {
	t.Helper()
	devices, err := device.List()
	do(t, err)
	i := slices.IndexFunc(devices, func(d device.Device) bool { return d.Name == name })
	check(t, i >= 0, "there is no device %s", name)
	return devices[i]
}

// extended checks a call of InfiniBand's extensions, and reports whether the device has them. Those of iWARP refuse it.
func (a *adapter) extended(t testing.TB, call string, r cgo.Return) bool {
	t.Helper()
	if a.iwarp {
		outcome(t, call, r, cgo.NotImplemented, cgo.NoSubtype)
		return false
	}
	success(t, call, r)
	return true
}

// extensionOf returns the extension that an adapter must have.
func extensionOf(iwarp bool) cgo.Extension {
	if iwarp {
		return cgo.ExtensionNone
	}
	return cgo.ExtensionIB
}

// expectEnd expects the end of a connection on which an operation has failed.
func (a *adapter) expectEnd(t testing.TB, q queue) {
	t.Helper()
	event := q.next(t)
	if event.Number != cgo.EventConnectionBroken && !(a.iwarp && event.Number == cgo.EventConnectionDisconnected) {
		t.Fatalf("got the event %v, want %v", event.Number, cgo.EventConnectionBroken)
	}
}

// forEachAdapter runs a test on each adapter; forEachSocketCM and forEachCMA on those of one provider.
func forEachAdapter(t *testing.T, test func(t *testing.T, a *adapter)) {
	forEachNamed(t, func(string) bool { return true }, test)
}

func forEachSocketCM(t *testing.T, test func(t *testing.T, a *adapter)) {
	forEachNamed(t, namesSocketCM, test)
}

func forEachCMA(t *testing.T, test func(t *testing.T, a *adapter)) {
	forEachNamed(t, func(name string) bool { return !namesSocketCM(name) }, test)
}

func forEachNamed(t *testing.T, fits func(name string) bool, test func(t *testing.T, a *adapter)) {
	for _, name := range udattest.Names(t) {
		if fits(name) {
			t.Run(name, func(t *testing.T) { watch(t); test(t, openAdapter(t, name)) })
		}
	}
}

func namesSocketCM(name string) bool { return strings.Contains(name, "scm") }

func queryIA(t testing.TB, ia cgo.IAHandle) (attr cgo.IAAttr) {
	t.Helper()
	must(cgo.IAQuery(ia, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil))(t)
	return attr
}

// forEachInTestbed and forEachSocketCMInTestbed are for tests that change the machine.
func forEachInTestbed(t *testing.T, test func(t *testing.T, a *adapter)) {
	if udattest.InTestbed(t) {
		forEachAdapter(t, test)
	}
}

func forEachSocketCMInTestbed(t *testing.T, test func(t *testing.T, a *adapter)) {
	if udattest.InTestbed(t) {
		forEachSocketCM(t, test)
	}
}

// watch ends the process when a test takes too long: nothing can stop a call that hangs.
func watch(t *testing.T) {
	watchdog := time.AfterFunc(2*udattest.Patience, func() { panic("a call does not return") })
	t.Cleanup(func() { watchdog.Stop() })
}

// eventually waits for what has no event.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(udattest.Patience); !done(); time.Sleep(time.Millisecond) {
		check(t, !time.Now().After(deadline), "not in %v: %s", udattest.Patience, what)
	}
}

func isSocketCM(a *adapter) bool { return namesSocketCM(a.name) }

func (a *adapter) startConnect(t testing.TB, l *listener, e *endpoint, timeout uint32) {
	t.Helper()
	e.connectTo(t, a.address, l.qual, timeout)
}

// poll takes an event, if there is one.
func (q queue) poll(t testing.TB) (event cgo.Event, there bool) {
	t.Helper()
	r := cgo.EVDDequeue(q.EVDHandle, &event)
	if r.Type() != cgo.QueueEmpty {
		success(t, "EVDDequeue", r)
	}
	return event, r.OK()
}

func (q queue) empty(t testing.TB) {
	t.Helper()
	event, there := q.poll(t)
	check(t, !there, "there is another event: %v", event.Number)
}

// queue is an EVD with its own CNO, which a test uses to wait for events.
type queue struct {
	cgo.EVDHandle
	cno cgo.CNOHandle
}

const queueLength = 64

// createCNO and createEVD make what the caller frees; newCNO and newEVD make what is freed when the test ends.
func (a *adapter) createCNO(t testing.TB) cgo.CNOHandle {
	t.Helper()
	cno := must(cgo.CNOCreate(a.IAHandle, 0, 0))(t)
	return cno
}

func (a *adapter) newCNO(t testing.TB) cgo.CNOHandle {
	t.Helper()
	cno := a.createCNO(t)
	t.Cleanup(func() { success(t, "CNOFree", cgo.CNOFree(cno)) })
	return cno
}

func (a *adapter) createEVD(t testing.TB, length int32, cno cgo.CNOHandle, flags cgo.EVDFlags) cgo.EVDHandle {
	t.Helper()
	evd := must(cgo.EVDCreate(a.IAHandle, length, cno, flags))(t)
	return evd
}

func (a *adapter) newEVD(t testing.TB, length int32, cno cgo.CNOHandle, flags cgo.EVDFlags) cgo.EVDHandle {
	t.Helper()
	evd := a.createEVD(t, length, cno, flags)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
	return evd
}

func (a *adapter) newQueue(t testing.TB, flags cgo.EVDFlags) queue {
	t.Helper()
	cno := a.newCNO(t)
	return queue{a.newEVD(t, queueLength, cno, flags), cno}
}

func dequeue(t testing.TB, evd cgo.EVDHandle) (event cgo.Event) {
	t.Helper()
	success(t, "EVDDequeue", cgo.EVDDequeue(evd, &event))
	return event
}

// next waits for the next event and takes it.
func (q queue) next(t testing.TB) cgo.Event {
	t.Helper()
	deadline := time.Now().Add(udattest.Patience)
	for time.Now().Before(deadline) {
		if event, there := q.poll(t); there {
			return event
		}
		// A trigger at the end of the time-out is lost.
		if _, r := cgo.CNOWait(q.cno, uint32(time.Second/time.Microsecond)); r.Type() != cgo.QueueEmpty {
			success(t, "CNOWait", r)
		}
	}
	t.Fatalf("no event came in %v", udattest.Patience)
	panic("not reached")
}

func (q queue) expect(t testing.TB, want cgo.EventNumber) cgo.Event {
	t.Helper()
	event := q.next(t)
	same(t, "got the event", event.Number, want)
	return event
}

// drain takes all waiting events.
func (q queue) drain(t testing.TB) {
	t.Helper()
	for there := true; there; {
		_, there = q.poll(t)
	}
}

// completion expects a data transfer operation to complete with success.
func (q queue) completion(t testing.TB, want cgo.EventNumber, cookie uint64) cgo.Event {
	t.Helper()
	event := q.expect(t, want)
	if dto := event.DTO(); dto.UserCookie != cookie || dto.Status != cgo.DTOSuccess {
		t.Fatalf("operation %d completed with %v, want operation %d to succeed", dto.UserCookie, dto.Status, cookie)
	}
	return event
}

func (a *adapter) newPZ(t testing.TB) cgo.PZHandle {
	t.Helper()
	pz := must(cgo.PZCreate(a.IAHandle))(t)
	t.Cleanup(func() { success(t, "PZFree", cgo.PZFree(pz)) })
	return pz
}

// memory is registered memory outside the Go heap.
type memory struct {
	cgo.LMRHandle
	bytes                  []byte
	address                uintptr
	lmrContext, rmrContext uint32
}

const (
	memorySize       = 4096
	memoryPrivileges = cgo.MemPrivAll | cgo.MemPrivIBRemoteAtomic
)

// newPage returns memory that does not move, and its address.
func newPage(t testing.TB) ([]byte, uintptr) { return newPages(t, memorySize) }

func newPages(t testing.TB, size int) ([]byte, uintptr) {
	t.Helper()
	page, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	do(t, err)
	t.Cleanup(func() {
		if err := syscall.Munmap(page); err != nil {
			t.Error(err)
		}
	})
	return page, uintptr(unsafe.Pointer(&page[0]))
}

func (a *adapter) newMemory(t testing.TB, pz cgo.PZHandle) *memory {
	t.Helper()
	return a.newLongMemory(t, pz, memorySize)
}

func (a *adapter) newLongMemory(t testing.TB, pz cgo.PZHandle, length int) *memory {
	t.Helper()
	m := &memory{}
	m.bytes, m.address = newPages(t, length)
	var size uint64
	var r cgo.Return
	m.LMRHandle, m.lmrContext, m.rmrContext, size, r = cgo.LMRCreateVirtual(a.IAHandle, m.address, uint64(length), pz, memoryPrivileges, cgo.VATypeVA)
	success(t, "LMRCreateVirtual", r)
	t.Cleanup(func() { success(t, "LMRFree", cgo.LMRFree(m.LMRHandle)) })
	check(t, size == uint64(length), "registered %d bytes, want %d", size, length)
	return m
}

func (m *memory) local(offset, length int) cgo.LMRTriplet {
	return cgo.LMRTriplet{VirtualAddress: uint64(m.address) + uint64(offset), SegmentLength: uint32(length), LMRContext: m.lmrContext}
}

func (m *memory) remote(offset, length int) cgo.RMRTriplet {
	return cgo.RMRTriplet{VirtualAddress: uint64(m.address) + uint64(offset), SegmentLength: uint32(length), RMRContext: m.rmrContext}
}

// endpoint is an endpoint with its own event dispatchers and memory.
type endpoint struct {
	cgo.EPHandle
	pz                     cgo.PZHandle
	recv, request, connect queue
	memory                 *memory
}

func endpointAttr() *cgo.EPAttr {
	return &cgo.EPAttr{
		ServiceType: cgo.ServiceTypeRC, MaxMessageSize: memorySize, MaxRDMASize: memorySize,
		MaxRecvDTOs: 8, MaxRequestDTOs: 8, MaxRecvIOV: 2, MaxRequestIOV: 2, MaxRDMAReadIn: 2, MaxRDMAReadOut: 2,
	}
}

func (a *adapter) newEndpoint(t testing.TB) *endpoint {
	t.Helper()
	return a.makeEndpoint(t, parts{})
}

// newPeer returns an endpoint that is connected to e.
func (a *adapter) newPeer(t testing.TB, e *endpoint) *endpoint {
	t.Helper()
	peer := a.newEndpoint(t)
	a.connect(t, a.listen(t), peer, e)
	return peer
}

// parts are what an endpoint is made of, where it is not its own.
type parts struct {
	pz            cgo.PZHandle
	recv, request cgo.EVDHandle
	srq           cgo.SRQHandle
	attr          *cgo.EPAttr
}

func (a *adapter) makeEndpoint(t testing.TB, p parts) *endpoint {
	t.Helper()
	e := &endpoint{pz: p.pz}
	if e.pz == 0 {
		e.pz = a.newPZ(t)
	}
	e.recv, e.request, e.connect = a.newQueue(t, cgo.EVDDTO), a.newQueue(t, cgo.EVDDTO), a.newQueue(t, cgo.EVDConnection)
	e.memory = a.newMemory(t, e.pz)
	if p.recv != 0 {
		e.recv.EVDHandle = p.recv
	}
	if p.request != 0 {
		e.request.EVDHandle = p.request
	}
	if p.attr == nil {
		p.attr = endpointAttr()
	}
	var r cgo.Return
	if p.srq != 0 {
		e.EPHandle, r = cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, p.srq, p.attr)
	} else {
		e.EPHandle, r = cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, p.attr)
	}
	success(t, "creating an endpoint", r)
	t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(e.EPHandle)) })
	return e
}

// newBare makes an endpoint of EVDs and a zone that it may lack, and frees it when the test ends.
func (a *adapter) newBare(t testing.TB, pz cgo.PZHandle, recv, request, connect cgo.EVDHandle, attr *cgo.EPAttr) cgo.EPHandle {
	t.Helper()
	ep := must(cgo.EPCreate(a.IAHandle, pz, recv, request, connect, attr))(t)
	t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(ep)) })
	return ep
}

func (e *endpoint) state(t testing.TB) cgo.EPState {
	t.Helper()
	state, _, _, r := cgo.EPGetStatus(e.EPHandle)
	success(t, "EPGetStatus", r)
	return state
}

func (e *endpoint) wantState(t testing.TB, want cgo.EPState) {
	t.Helper()
	same(t, "the endpoint is in the state", e.state(t), want)
}

// listener is a service point with a queue for its requests.
type listener struct {
	cgo.PSPHandle
	qual     uint64
	requests queue
}

// createListener makes one that the caller frees.
func (a *adapter) createListener(t testing.TB) *listener {
	t.Helper()
	return a.createListenerOn(t, a.newQueue(t, cgo.EVDCR))
}

func (a *adapter) createListenerOn(t testing.TB, requests queue) *listener {
	t.Helper()
	psp, qual, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
	success(t, "PSPCreateAny", r)
	return &listener{psp, qual, requests}
}

func (a *adapter) listen(t testing.TB) *listener {
	t.Helper()
	return a.listenOn(t, a.newQueue(t, cgo.EVDCR))
}

func (a *adapter) listenOn(t testing.TB, requests queue) *listener {
	t.Helper()
	l := a.createListenerOn(t, requests)
	t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(l.PSPHandle)) })
	return l
}

func (l *listener) request(t testing.TB) cgo.CRHandle {
	t.Helper()
	event := l.requests.expect(t, cgo.EventConnectionRequest)
	return event.CRArrival().CRHandle
}

// ask has an endpoint ask for a connection, and returns the request.
func (a *adapter) ask(t testing.TB, l *listener, e *endpoint) cgo.CRHandle {
	t.Helper()
	e.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
	return l.request(t)
}

// accept accepts a request, on an endpoint or that which is reserved, and expects that both ends are connected.
func accept(t testing.TB, request cgo.CRHandle, on cgo.EPHandle, ends ...*endpoint) {
	t.Helper()
	success(t, "CRAccept", cgo.CRAccept(request, on, nil))
	for _, e := range ends {
		e.connect.expect(t, cgo.EventConnectionEstablished)
	}
}

// reject rejects a request, and expects that its endpoint learns it.
func reject(t testing.TB, request cgo.CRHandle, e *endpoint) {
	t.Helper()
	success(t, "CRReject", cgo.CRReject(request, nil))
	e.connect.expect(t, cgo.EventConnectionPeerRejected)
}

func reset(t testing.TB, endpoints ...*endpoint) {
	t.Helper()
	for _, e := range endpoints {
		success(t, "EPReset", cgo.EPReset(e.EPHandle))
	}
}

// send posts a message, and deliver waits for its completion, too.
func (e *endpoint) send(t testing.TB, cookie uint64, flags cgo.CompletionFlags) {
	t.Helper()
	success(t, "EPPostSend", cgo.EPPostSend(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, cookie, flags))
}

func (e *endpoint) deliver(t testing.TB, cookie uint64) {
	t.Helper()
	e.send(t, cookie, cgo.CompletionDefault)
	e.request.completion(t, cgo.EventDTOCompletion, cookie)
}

// postWrite and postRead move bytes of an endpoint's memory, at its beginning, to or from its peer's.
func (e *endpoint) postWrite(t testing.TB, to *endpoint, length int, cookie uint64, flags cgo.CompletionFlags) {
	t.Helper()
	remote := to.memory.remote(0, length)
	success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, length)}, cookie, &remote, flags))
}

func (e *endpoint) postRead(t testing.TB, from *endpoint, length int, cookie uint64) {
	t.Helper()
	remote := from.memory.remote(0, length)
	success(t, "EPPostRDMARead", cgo.EPPostRDMARead(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, length)}, cookie, &remote, cgo.CompletionDefault))
}

// connect connects two endpoints, and disconnects them when the test ends.
func (a *adapter) connect(t testing.TB, l *listener, active, passive *endpoint) {
	t.Helper()
	accept(t, a.ask(t, l, active), passive.EPHandle, active, passive)
	t.Cleanup(func() {
		if active.state(t) == cgo.EPStateConnected {
			disconnect(t, active, passive)
		}
	})
}

func disconnect(t testing.TB, e, peer *endpoint) {
	t.Helper()
	e.abort(t)
	peer.connect.expect(t, cgo.EventConnectionDisconnected)
}

// connectedPair returns an endpoint that has connected and one that has accepted.
func (a *adapter) connectedPair(t testing.TB) (active, passive *endpoint) {
	t.Helper()
	active, passive = a.newEndpoint(t), a.newEndpoint(t)
	a.connect(t, a.listen(t), active, passive)
	return active, passive
}
