package conformance

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// probes try what the native library does by itself where a clause applies, and describe it in a few words. They try
// nothing that crashes, hangs or damages the library.
var probes = map[string]func(*probe) string{
	"C-01": func(p *probe) string {
		return p.asRequired(p.state(p.endpoint(nil)) == cgo.EPStateUnconnected)
	},
	"C-03": func(p *probe) string { return p.withoutEVD(func(q *queues) { q.recv = 0 }) },
	"C-04": func(p *probe) string { return p.withoutEVD(func(q *queues) { q.request = 0 }) },
	"C-05": func(p *probe) string {
		q := p.queues(16)
		q.connect = 0
		_, r := p.create(q, attributes())
		return p.accepted(r)
	},
	"C-06": func(p *probe) string {
		ep, r := p.create(p.queues(64), nil)
		p.success(r)
		var param cgo.EPParam
		p.success(cgo.EPQuery(ep, cgo.EPFieldAll, &param))
		return p.asRequired(param.EPAttr.MaxRecvDTOs > 0 && param.EPAttr.MaxMessageSize > 0)
	},
	"C-08": (*probe).inlineSend,
	"C-10": (*probe).transfers,
	"C-11": (*probe).transfers,
	"C-12": (*probe).binds,
	"C-13": (*probe).connects,
	"C-14": (*probe).connects,
	"C-16": (*probe).connects,
	"C-18": func(p *probe) string { return p.flags(cgo.EVDDTO, threshold, unsignalled) },
	"C-19": func(p *probe) string { return p.flags(cgo.EVDDTO|cgo.EVDSoftware, unsignalled, unsignalled) },
	"C-20": func(p *probe) string { return p.flags(cgo.EVDDTO, unsignalled, threshold) },
	"C-21": func(p *probe) string { return p.flags(cgo.EVDDTO, solicited, threshold) },
	"C-22": func(p *probe) string {
		q, foreign := p.queues(16), newProbe(p.name)
		defer foreign.close()
		q.pz = foreign.zone()
		ep, r := cgo.EPCreate(p.ia, q.pz, q.recv, q.request, q.connect, attributes())
		if r.OK() {
			cgo.EPFree(ep) // before the zone
		}
		return fmt.Sprintf("a zone of another adapter is %s", p.accepted(r))
	},
	"C-23": func(p *probe) string {
		many, none := attributes(), attributes()
		many.MaxRecvIOV = 1 << 20
		none.MaxRequestIOV, none.MaxMessageSize, none.QOS = 0, 0, cgo.QOSPremium
		_, manyReturn := p.create(p.queues(16), many)
		_, noneReturn := p.create(p.queues(16), none)
		return fmt.Sprintf("too many segments: %s; no request segments, no message size and an unknown quality of service: %s",
			p.accepted(manyReturn), p.accepted(noneReturn))
	},
	"C-24": func(p *probe) string {
		attr := attributes()
		attr.MaxRecvDTOs = 500
		_, r := p.create(p.queues(8), attr)
		return "an EVD with room for 8 completions for an endpoint with 500 receives is " + p.accepted(r)
	},

	"G-02": func(p *probe) string {
		e := p.endpoint(nil)
		_, idle, _, _ := cgo.EPGetStatus(e.ep)
		p.success(cgo.EPPostRecv(e.ep, e.local(), 1, 0))
		p.success(cgo.EPPostRecv(e.ep, e.local(), 2, 0))
		_, busy, _, _ := cgo.EPGetStatus(e.ep)
		return counts(idle, busy)
	},
	"G-03": func(p *probe) string {
		a, _ := p.pair()
		_, _, idle, _ := cgo.EPGetStatus(a.ep)
		p.success(cgo.EPPostSend(a.ep, a.local(), 1, 0))
		p.success(cgo.EPPostSend(a.ep, a.local(), 2, 0))
		_, _, busy, _ := cgo.EPGetStatus(a.ep)
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		return counts(idle, busy)
	},
	"G-05": func(p *probe) string {
		_, _, _, r := cgo.EPGetStatus(0)
		return p.ofNull(r)
	},

	"M-01": fixedField(cgo.EPFieldIAHandle),
	"M-02": fixedField(cgo.EPFieldEPState),
	"M-03": fixedField(cgo.EPFieldLocalIAAddressPtr),
	"M-04": fixedField(cgo.EPFieldLocalPortQual),
	"M-05": fixedField(cgo.EPFieldRemoteIAAddressPtr),
	"M-06": fixedField(cgo.EPFieldRemotePortQual),
	"M-28": func(p *probe) string { return p.ofNull(cgo.EPModify(0, cgo.EPFieldMaxRecvDTOs, &cgo.EPParam{})) },

	"D-01": func(p *probe) string {
		a, b := p.pair()
		p.success(cgo.EPDisconnect(b.ep, cgo.CloseAbrupt))
		p.expect(b.connect, cgo.EventConnectionDisconnected)
		p.expect(a.connect, cgo.EventConnectionDisconnected)
		return p.disconnects(cgo.CloseAbrupt)
	},
	"D-03": (*probe).flushes,
	"D-05": (*probe).flushes,
	"D-06": func(p *probe) string {
		a, b := p.pair()
		for cookie := range uint64(4) {
			p.success(cgo.EPPostSend(a.ep, a.local(), cookie, 0))
		}
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseGraceful))
		p.expect(a.connect, cgo.EventConnectionDisconnected)
		p.expect(b.connect, cgo.EventConnectionDisconnected)
		for range 4 {
			event := p.next(a.request)
			if event.DTO().Status == cgo.DTOSuccess {
				return "sends without a receive have succeeded"
			}
		}
		return "sends that wait for a receive are flushed at once, as with an abrupt one"
	},
	"D-12": func(p *probe) string { return p.disconnects(cgo.CloseAbrupt) },
	"D-13": func(p *probe) string { return p.disconnects(cgo.CloseAbrupt) },
	"D-14": func(p *probe) string { return p.disconnects(cgo.CloseAbrupt) },
	"D-15": func(p *probe) string {
		_, r := cgo.EVDCreate(p.ia, 64, 0, cgo.EVDDTO|cgo.EVDConnection)
		return "such an EVD is " + p.accepted(r)
	},
	"D-16": func(p *probe) string {
		a, b := p.pair()
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		p.expect(a.connect, cgo.EventConnectionDisconnected)
		p.expect(b.connect, cgo.EventConnectionDisconnected)
		return p.asRequired(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt).OK() && p.state(a) == cgo.EPStateDisconnected)
	},
	"D-17": func(p *probe) string {
		return p.asRequired(cgo.EPDisconnect(p.endpoint(nil).ep, cgo.CloseAbrupt).Type() == cgo.InvalidState)
	},
	"D-18": func(p *probe) string {
		e := p.reserved()
		return p.asRequired(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt).Type() == cgo.InvalidState && p.state(e) == cgo.EPStateReserved)
	},
	"D-23": func(p *probe) string { return "the flags 77 are accepted: " + p.disconnects(77) },
	"D-24": func(p *probe) string { return p.ofNull(cgo.EPDisconnect(0, cgo.CloseAbrupt)) },

	"F-01": func(p *probe) string { return p.asRequired(cgo.EPFree(p.endpoint(nil).take()).OK()) },
	"F-03": func(p *probe) string {
		a, b := p.pair()
		freed := cgo.EPFree(a.take()).OK()
		p.expect(b.connect, cgo.EventConnectionDisconnected)
		return p.asRequired(freed && cgo.EPFree(b.take()).OK())
	},
	"F-09": func(p *probe) string {
		e := p.endpoint(nil)
		inUse := cgo.EVDFree(e.recv).Type() == cgo.InvalidState
		p.success(cgo.EPFree(e.take()))
		return p.asRequired(inUse && p.freed(e.recv) && p.freed(e.request) && p.freed(e.connect))
	},
	"F-04": func(p *probe) string {
		e := p.reserved()
		refused := cgo.EPFree(e.ep).Type() == cgo.InvalidState
		p.success(cgo.RSPFree(e.rsp))
		e.rsp = 0
		return p.asRequired(refused && p.state(e) == cgo.EPStateUnconnected && cgo.EPFree(e.take()).OK())
	},
	"F-12": func(p *probe) string { return p.ofNull(cgo.EPFree(0)) },
}

func fixedField(mask cgo.EPParamMask) func(*probe) string {
	return func(p *probe) string {
		return p.asRequired(cgo.EPModify(p.endpoint(nil).ep, mask, &cgo.EPParam{}).Type() == cgo.InvalidParameter)
	}
}

func counts(idle, busy uint32) string {
	if idle == 0 && busy == 2 {
		return "the flag is a count: 0, which is false, when idle, and 2 with two operations outstanding"
	}
	return fmt.Sprintf("the flag is %d when idle and %d with two operations outstanding", idle, busy)
}

func name(r cgo.Return) string { return r.Type().String() }

func (p *probe) asRequired(ok bool) string {
	if ok {
		return "as required"
	}
	return "otherwise than required"
}

func (p *probe) accepted(r cgo.Return) string {
	if r.OK() {
		return "accepted"
	}
	return "refused with " + name(r)
}

func (p *probe) ofNull(r cgo.Return) string {
	if r.Type() == cgo.InvalidHandle {
		return "a null handle is refused as required"
	}
	return "a null handle returns " + name(r)
}

func (p *probe) withoutEVD(leave func(*queues)) string {
	q := p.queues(16)
	leave(&q)
	_, r := p.create(q, attributes())
	attr := attributes()
	if q.recv == 0 {
		attr.MaxRecvDTOs = 0
	} else {
		attr.MaxRequestDTOs, attr.MaxRequestIOV = 0, 0
	}
	_, none := p.create(q, attr)
	return fmt.Sprintf("with operations in that direction it is %s, without any it is %s", p.accepted(r), p.accepted(none))
}

// flags makes two endpoints. The request EVD of each is the receive EVD of the other.
func (p *probe) flags(stream cgo.EVDFlags, first, second udat.CompletionFlags) string {
	q := p.queues(64)
	q.recv = p.queue(64, stream)
	attr := attributes()
	attr.RecvCompletionFlags = cgo.CompletionFlags(first)
	_, r := p.create(q, attr)
	p.success(r)
	attr.RecvCompletionFlags = cgo.CompletionFlags(second)
	_, r = p.create(q, attr)
	if stream != cgo.EVDDTO {
		return fmt.Sprintf("%v is %s", second, p.accepted(r))
	}
	return fmt.Sprintf("%v beside %v is %s", second, first, p.accepted(r))
}

// inlineSend sends memory of another zone, so short that it is copied at once.
func (p *probe) inlineSend() string {
	a, b := p.pair()
	foreign := p.memory(p.zone())
	p.success(cgo.EPPostRecv(b.ep, b.local(), 1, 0))
	outside := foreign.local(8)
	if r := cgo.EPPostSend(a.ep, outside, 2, 0); !r.OK() {
		return "a send from another zone is refused with " + name(r)
	}
	event := p.next(a.request)
	if status := event.DTO().Status; status != cgo.DTOSuccess {
		return "a short send from another zone completes with " + status.String()
	}
	return "a short send from memory of another zone succeeds"
}

// transfers reports on which EVDs completions arrive.
func (p *probe) transfers() string {
	a, b := p.pair()
	p.success(cgo.EPPostRecv(b.ep, b.local(), 1, 0))
	p.success(cgo.EPPostSend(a.ep, a.local(), 2, 0))
	sent, received := p.next(a.request), p.next(b.recv)
	return p.asRequired(sent.DTO().UserCookie == 2 && received.DTO().UserCookie == 1)
}

// binds reports whether the bind of an RMR completes where it must.
func (p *probe) binds() string {
	a, _ := p.pair()
	rmr, r := cgo.RMRCreate(a.pz)
	if !r.OK() {
		return "no RMR can be made: " + name(r)
	}
	defer cgo.RMRFree(rmr)
	local := a.local()
	_, r = cgo.RMRBind(rmr, a.lmr, &local[0], cgo.MemPrivRemoteRead, cgo.VATypeVA, a.ep, 2, 0)
	p.success(r)
	event := p.next(a.request)
	return p.asRequired(event.Number == cgo.EventRMRBindCompletion && event.RMRBind().UserCookie == 2 && event.RMRBind().Status == cgo.DTOSuccess)
}

// connects reports whether a connection is established, with its events.
func (p *probe) connects() string {
	a, b := p.pair()
	return p.asRequired(p.state(a) == cgo.EPStateConnected && p.state(b) == cgo.EPStateConnected)
}

// flushes reports how posted receives end with the connection.
func (p *probe) flushes() string {
	const n = 4
	a, b := p.pair()
	for cookie := range uint64(n) {
		p.success(cgo.EPPostRecv(a.ep, a.local(), cookie, 0))
	}
	p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
	p.expect(a.connect, cgo.EventConnectionDisconnected)
	p.expect(b.connect, cgo.EventConnectionDisconnected)
	for cookie := range uint64(n) {
		event := p.next(a.recv)
		if dto := event.DTO(); dto.UserCookie != cookie || dto.Status == cgo.DTOSuccess {
			return "otherwise than required"
		}
	}
	return "as required"
}

// freed frees an EVD early.
func (p *probe) freed(evd cgo.EVDHandle) bool {
	p.early[evd] = true
	return cgo.EVDFree(evd).OK()
}

// disconnects reports the result of a disconnect.
func (p *probe) disconnects(flags cgo.CloseFlags) string {
	a, b := p.pair()
	p.success(cgo.EPDisconnect(a.ep, flags))
	p.expect(a.connect, cgo.EventConnectionDisconnected)
	p.expect(b.connect, cgo.EventConnectionDisconnected)
	if flags != cgo.CloseAbrupt {
		return "the connection ends"
	}
	return p.asRequired(p.state(a) == cgo.EPStateDisconnected && p.state(b) == cgo.EPStateDisconnected)
}

// observe returns the result of a clause's probe, or "" if there is none.
func observe(t *testing.T, id, adapter string) (seen string) {
	t.Helper()
	do := probes[id]
	if do == nil {
		return ""
	}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case probeFailure:
			seen = "could not be tried: " + string(problem)
			t.Log(seen)
		default:
			panic(problem)
		}
	}()
	p := newProbe(adapter)
	defer p.close()
	return do(p)
}

// probe is an adapter opened through the raw layer, with the objects to free.
type probe struct {
	name     string
	ia       cgo.IAHandle
	address  *cgo.SockAddr
	cleanups []func() error
	early    map[cgo.EVDHandle]bool // EVDs that are freed already
}

// probeFailure is the reason why a probe cannot continue.
type probeFailure string

func (p *probe) fail(format string, args ...any) { panic(probeFailure(fmt.Sprintf(format, args...))) }

func (p *probe) success(r cgo.Return) {
	if !r.OK() {
		p.fail("a call that should succeed returned %v", r)
	}
}

func newProbe(adapter string) *probe {
	p := &probe{name: adapter, early: make(map[cgo.EVDHandle]bool)}
	const asyncQLen = 64
	var r cgo.Return
	p.ia, _, r = cgo.IAOpen(adapter, asyncQLen)
	if !r.OK() {
		p.fail("the adapter has no entry in dat.conf")
	}
	var attr cgo.IAAttr
	_, r = cgo.IAQuery(p.ia, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
	if !r.OK() {
		p.close()
		p.fail("dat_ia_query returned %v", r)
	}
	address := cgo.SockAddrAt(attr.IAAddressPtr)
	p.address = &address
	return p
}

// close frees the probe's objects, the last first, and the adapter.
func (p *probe) close() {
	flags := cgo.CloseGraceful
	for _, do := range slices.Backward(p.cleanups) {
		if do() != nil {
			flags = cgo.CloseAbrupt
		}
	}
	cgo.IAClose(p.ia, flags)
}

func (p *probe) cleanup(do func() cgo.Return) {
	p.cleanups = append(p.cleanups, func() error {
		if !do().OK() {
			return errors.New("something is in use")
		}
		return nil
	})
}

func (p *probe) zone() cgo.PZHandle {
	pz, r := cgo.PZCreate(p.ia)
	p.success(r)
	p.cleanup(func() cgo.Return { return cgo.PZFree(pz) })
	return pz
}

func (p *probe) queue(length int32, flags cgo.EVDFlags) cgo.EVDHandle {
	evd, r := cgo.EVDCreate(p.ia, length, 0, flags)
	p.success(r)
	p.cleanup(func() cgo.Return {
		if p.early[evd] {
			return 0
		}
		return cgo.EVDFree(evd)
	})
	return evd
}

// next waits for the next event of an EVD.
func (p *probe) next(evd cgo.EVDHandle) (event cgo.Event) {
	for deadline := time.Now().Add(udattest.Patience); time.Now().Before(deadline); {
		const slice = uint32(100 * time.Millisecond / time.Microsecond)
		_, r := cgo.EVDWait(evd, slice, 1, &event)
		switch r.Type() {
		case cgo.Success:
			return event
		case cgo.TimeoutExpired, cgo.InterruptedCall, cgo.QueueEmpty:
		default:
			p.fail("dat_evd_wait returned %v", r)
		}
	}
	p.fail("no event came in %v", udattest.Patience)
	return event
}

func (p *probe) expect(evd cgo.EVDHandle, want cgo.EventNumber) cgo.Event {
	event := p.next(evd)
	if event.Number != want {
		p.fail("the event is %v, not %v", event.Number, want)
	}
	return event
}

// region is registered memory outside the Go heap.
type region struct {
	lmr        cgo.LMRHandle
	address    uintptr
	lmrContext uint32
}

const regionSize = 4096

func (p *probe) memory(pz cgo.PZHandle) region {
	page, err := syscall.Mmap(-1, 0, regionSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		p.fail("%v", err)
	}
	p.cleanups = append(p.cleanups, func() error { return syscall.Munmap(page) })
	address := uintptr(unsafe.Pointer(&page[0]))
	lmr, context, _, _, r := cgo.LMRCreateVirtual(p.ia, address, regionSize, pz, cgo.MemPrivAll, cgo.VATypeVA)
	p.success(r)
	p.cleanup(func() cgo.Return { return cgo.LMRFree(lmr) })
	return region{lmr, address, context}
}

func (m region) local(length uint32) []cgo.LMRTriplet {
	return []cgo.LMRTriplet{{VirtualAddress: uint64(m.address), SegmentLength: length, LMRContext: m.lmrContext}}
}

func attributes() *cgo.EPAttr {
	return &cgo.EPAttr{
		ServiceType:    cgo.ServiceTypeRC,
		MaxMessageSize: regionSize,
		MaxRDMASize:    regionSize,
		MaxRecvDTOs:    8,
		MaxRequestDTOs: 8,
		MaxRecvIOV:     2,
		MaxRequestIOV:  2,
		MaxRDMAReadIn:  2,
		MaxRDMAReadOut: 2,
	}
}

// queues are the objects that an endpoint uses.
type queues struct {
	pz                     cgo.PZHandle
	recv, request, connect cgo.EVDHandle
}

func (p *probe) queues(length int32) queues {
	return queues{p.zone(), p.queue(length, cgo.EVDDTO), p.queue(length, cgo.EVDDTO), p.queue(16, cgo.EVDConnection)}
}

// node is an endpoint with the objects that it uses.
type node struct {
	queues
	region
	ep  cgo.EPHandle
	rsp cgo.RSPHandle // 0 unless reserved
}

// take hands over the endpoint to a caller, who frees it.
func (e *node) take() cgo.EPHandle {
	ep := e.ep
	e.ep = 0
	return ep
}

func (e *node) local() []cgo.LMRTriplet { return e.region.local(message) }

func (p *probe) create(q queues, attr *cgo.EPAttr) (cgo.EPHandle, cgo.Return) {
	ep, r := cgo.EPCreate(p.ia, q.pz, q.recv, q.request, q.connect, attr)
	if r.OK() {
		p.cleanup(func() cgo.Return { return cgo.EPFree(ep) })
	}
	return ep, r
}

// endpoint makes an endpoint. attr may be nil for suitable attributes.
func (p *probe) endpoint(attr *cgo.EPAttr) *node {
	if attr == nil {
		attr = attributes()
	}
	e := &node{queues: p.queues(16)}
	e.region = p.memory(e.pz)
	var r cgo.Return
	e.ep, r = cgo.EPCreate(p.ia, e.pz, e.recv, e.request, e.connect, attr)
	p.success(r)
	p.cleanup(func() cgo.Return {
		if e.rsp != 0 {
			cgo.RSPFree(e.rsp)
		}
		if e.ep == 0 {
			return 0
		}
		return cgo.EPFree(e.ep)
	})
	return e
}

func (p *probe) state(e *node) cgo.EPState {
	state, _, _, r := cgo.EPGetStatus(e.ep)
	p.success(r)
	return state
}

// reserved makes an endpoint with a reserved service point.
func (p *probe) reserved() *node {
	requests := p.queue(16, cgo.EVDCR)
	e := p.endpoint(nil)
	var r cgo.Return
	e.rsp, r = cgo.RSPCreate(p.ia, uint64(udattest.ConnQual()), e.ep, requests)
	p.success(r)
	return e
}

// pair makes two connected endpoints.
func (p *probe) pair() (active, passive *node) {
	requests := p.queue(16, cgo.EVDCR)
	qual := uint64(udattest.ConnQual())
	psp, r := cgo.PSPCreate(p.ia, qual, requests, cgo.PSPConsumer)
	p.success(r)
	p.cleanup(func() cgo.Return { return cgo.PSPFree(psp) })
	active, passive = p.endpoint(nil), p.endpoint(nil)
	p.success(cgo.EPConnect(active.ep, p.address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
	request := p.expect(requests, cgo.EventConnectionRequest)
	p.success(cgo.CRAccept(request.CRArrival().CRHandle, passive.ep, nil))
	p.expect(active.connect, cgo.EventConnectionEstablished)
	p.expect(passive.connect, cgo.EventConnectionEstablished)
	p.cleanups = append(p.cleanups, func() error {
		if active.ep != 0 && p.state(active) == cgo.EPStateConnected {
			cgo.EPDisconnect(active.ep, cgo.CloseAbrupt)
			p.expect(active.connect, cgo.EventConnectionDisconnected)
			p.expect(passive.connect, cgo.EventConnectionDisconnected)
		}
		return nil
	})
	return active, passive
}
