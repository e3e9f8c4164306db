package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// probes try what the native library does where a clause applies, and describe it in a few words. Each runs in a process
// of its own, which may crash or hang.
var probes = map[string]func(*probe) string{
	"C-01": func(p *probe) string { return asRequired(p.state(p.endpoint()) == cgo.EPStateUnconnected) },
	"C-02": func(p *probe) string {
		attr := attributes()
		attr.MaxRecvDTOs = -1
		ep, r := p.create(p.queues(16), attr)
		return asRequired(!r.OK() && ep == 0)
	},
	"C-03": func(p *probe) string { return p.withoutEVD(func(q *queues) { q.recv = 0 }) },
	"C-04": func(p *probe) string { return p.withoutEVD(func(q *queues) { q.request = 0 }) },
	"C-05": func(p *probe) string {
		e := p.endpoint()
		connect := e.connect
		e.connect = 0
		var r cgo.Return
		e.ep, r = p.create(e.queues, attributes())
		p.success(r)
		p.step("an endpoint that gets it later")
		e.connect = connect
		p.success(cgo.EPModify(e.ep, cgo.EPFieldConnectEVDHandle, &cgo.EPParam{ConnectEVDHandle: connect}))
		peer := p.endpoint()
		p.connect(peer, e)
		p.exchange(peer, e)
		return asRequired(true)
	},
	"C-06": func(p *probe) string {
		var r cgo.Return
		e := &node{queues: p.queues(64)}
		e.ep, r = p.create(e.queues, nil)
		p.success(r)
		attr := p.query(e).EPAttr
		return asRequired(attr.MaxRecvDTOs > 0 && attr.MaxMessageSize > 0)
	},
	"C-07": func(p *probe) string {
		e := &node{queues: p.queues(64)}
		var r cgo.Return
		e.ep, r = p.create(e.queues, nil)
		p.success(r)
		param := p.query(e)
		param.EPAttr.MaxRecvDTOs = 5
		p.success(cgo.EPModify(e.ep, cgo.EPFieldMaxRecvDTOs, &param))
		ok := p.state(e) == cgo.EPStateUnconnected
		p.step("freeing it after dat_ep_modify")
		return asRequired(cgo.EPFree(e.ep).OK() && ok)
	},
	"C-08": func(p *probe) string {
		a, b := p.pair()
		foreign := p.memory(p.zone())
		p.success(cgo.EPPostRecv(b.ep, b.local(), 0, 0))
		if r := cgo.EPPostSend(a.ep, foreign.local(8), 0, 0); !r.OK() {
			return "a send from another zone is refused with " + name(r)
		}
		if status := p.statuses(a.request, 1)[0]; status != cgo.DTOSuccess {
			return "a short send from another zone completes with " + status.String()
		}
		return "a short send from another zone succeeds"
	},
	"C-09": func(p *probe) string {
		a, b := p.pair()
		write := func(to region) cgo.DTOStatus {
			remote := &cgo.RMRTriplet{VirtualAddress: uint64(to.address), SegmentLength: message, RMRContext: to.rmrContext}
			p.success(cgo.EPPostRDMAWrite(a.ep, a.local(), 0, remote, 0))
			return p.statuses(a.request, 1)[0]
		}
		foreign := p.memory(p.zone())
		a.page[0] = 1
		reached := write(b.region) == cgo.DTOSuccess
		if write(foreign) == cgo.DTOSuccess {
			p.next(a.connect) // over iWARP it succeeds when it was handed over, and the connection ends
		}
		return asRequired(reached && foreign.page[0] == 0)
	},
	"C-10": transfers,
	"C-11": transfers,
	"C-12": func(p *probe) string {
		a, _ := p.pair()
		rmr, r := cgo.RMRCreate(a.pz)
		if !r.OK() {
			return "no RMR can be made: " + name(r)
		}
		local := a.local()
		_, r = cgo.RMRBind(rmr, a.lmr, &local[0], cgo.MemPrivRemoteRead, cgo.VATypeVA, a.ep, 2, 0)
		p.success(r)
		event := p.next(a.request)
		return asRequired(event.Number == cgo.EventRMRBindCompletion && event.RMRBind().UserCookie == 2 && event.RMRBind().Status == cgo.DTOSuccess)
	},
	"C-13": connects,
	"C-14": connects,
	"C-15": func(p *probe) string {
		a, b := p.pair()
		active, passive := p.endpoint(), p.endpoint()
		p.success(cgo.EPDupConnect(active.ep, a.ep, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort))
		request := p.expect(p.requests, cgo.EventConnectionRequest)
		p.accept(request.CRArrival().CRHandle, active, passive)
		other := p.endpoint()
		p.step("a connection like that of an endpoint that has accepted")
		if r := cgo.EPDupConnect(other.ep, b.ep, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort); !r.OK() {
			return "as required; from an endpoint that has accepted it is refused with " + name(r)
		}
		event := p.next(other.connect)
		return fmt.Sprintf("as required; from an endpoint that has accepted it ends with %v", event.Number)
	},
	"C-16": connects,
	"C-17": func(p *probe) string {
		e, _, qual := p.reserved()
		if _, r := cgo.RSPCreate(p.ia, qual, p.endpoint().ep, p.requests); r.OK() {
			return "a second service point takes the place of the first, whose endpoint stays RESERVED"
		}
		client := p.endpoint()
		p.success(cgo.CRAccept(p.dial(client, qual), 0, nil))
		p.expect(e.connect, cgo.EventConnectionEstablished)
		p.expect(client.connect, cgo.EventConnectionEstablished)
		return asRequired(true)
	},
	"C-18": func(p *probe) string { return p.flags(cgo.EVDDTO, threshold, unsignalled) },
	"C-19": func(p *probe) string { return p.flags(cgo.EVDDTO|cgo.EVDSoftware, threshold, unsignalled) },
	"C-20": func(p *probe) string { return p.flags(cgo.EVDDTO, unsignalled, threshold) },
	"C-21": func(p *probe) string { return p.flags(cgo.EVDDTO, solicited, threshold) },
	"C-22": func(p *probe) string {
		q, own := p.queues(16), p.ia
		p.open(adapterOfProbe())
		q.pz = p.zone()
		p.ia = own
		_, r := p.create(q, attributes())
		return "a zone of another adapter is " + accepted(r)
	},
	"C-23": func(p *probe) string {
		many, none := attributes(), attributes()
		many.MaxRecvIOV = 1 << 20
		none.MaxRequestIOV, none.MaxMessageSize, none.QOS = 0, 0, cgo.QOSPremium
		_, manyReturn := p.create(p.queues(16), many)
		_, noneReturn := p.create(p.queues(16), none)
		return fmt.Sprintf("too many segments: %s; no request segments, no message size and an unknown quality of service: %s",
			accepted(manyReturn), accepted(noneReturn))
	},
	"C-24": func(p *probe) string {
		attr := attributes()
		attr.MaxRecvDTOs = 500
		_, r := p.create(p.queues(8), attr)
		return "an EVD with room for 8 completions for an endpoint with 500 receives is " + accepted(r)
	},
	"C-25": func(p *probe) string {
		attr := attributes()
		attr.ServiceType = 77
		_, r := p.create(p.queues(16), attr)
		return "an unknown service type is " + accepted(r)
	},
	"C-26": func(p *probe) string {
		return p.besides(8, func() bool {
			for range 8 {
				if ep, r := p.create(p.queues(16), attributes()); !r.OK() || !cgo.EPFree(ep).OK() {
					return false
				}
			}
			return true
		}, func() {})
	},

	"G-01": func(p *probe) string {
		e, _, qual := p.reserved()
		client := p.endpoint()
		wrong := ""
		see := func(e *node, want cgo.EPState) {
			if state := p.state(e); state != want && wrong == "" {
				wrong = fmt.Sprintf("%v instead of %v", state, want)
			}
		}
		see(client, cgo.EPStateUnconnected)
		see(e, cgo.EPStateReserved)
		request := p.dial(client, qual)
		see(client, cgo.EPStateActiveConnectionPending)
		see(e, cgo.EPStatePassiveConnectionPending)
		p.success(cgo.CRAccept(request, 0, nil))
		p.expect(client.connect, cgo.EventConnectionEstablished)
		p.expect(e.connect, cgo.EventConnectionEstablished)
		see(client, cgo.EPStateConnected)
		see(e, cgo.EPStateConnected)
		p.success(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt))
		p.ended(e, client)
		see(client, cgo.EPStateDisconnected)
		see(e, cgo.EPStateDisconnected)
		if wrong != "" {
			return wrong
		}
		return asRequired(true)
	},
	"G-02": func(p *probe) string {
		e := p.endpoint()
		_, idle, _, _ := cgo.EPGetStatus(e.ep)
		p.posts(e, 2, cgo.EPPostRecv)
		_, busy, _, _ := cgo.EPGetStatus(e.ep)
		return idleFlags(idle, busy)
	},
	"G-03": func(p *probe) string {
		a, _ := p.pair()
		_, _, idle, _ := cgo.EPGetStatus(a.ep)
		p.posts(a, 2, cgo.EPPostSend)
		_, _, busy, _ := cgo.EPGetStatus(a.ep)
		return idleFlags(idle, busy)
	},
	"G-04": func(p *probe) string {
		a, b := p.pair()
		p.posts(b, 1, cgo.EPPostRecv)
		ok := p.state(b) == cgo.EPStateConnected
		p.posts(a, 1, cgo.EPPostSend)
		p.next(b.recv)
		return asRequired(ok && p.state(b) == cgo.EPStateConnected)
	},
	"G-05": func(p *probe) string {
		return p.ofInvalid(func(ep cgo.EPHandle) cgo.Return { _, _, _, r := cgo.EPGetStatus(ep); return r })
	},
	"G-06": func(p *probe) string {
		a, b := p.pair()
		return p.besides(4, func() bool {
			for range 1000 {
				if state, _, _, r := cgo.EPGetStatus(b.ep); !r.OK() || state != cgo.EPStateConnected {
					return false
				}
			}
			return true
		}, func() {
			for range 100 {
				p.exchange(a, b)
			}
		})
	},

	"M-01": fixedField(cgo.EPFieldIAHandle),
	"M-02": fixedField(cgo.EPFieldEPState),
	"M-03": fixedField(cgo.EPFieldLocalIAAddressPtr),
	"M-04": fixedField(cgo.EPFieldLocalPortQual),
	"M-05": fixedField(cgo.EPFieldRemoteIAAddressPtr),
	"M-06": fixedField(cgo.EPFieldRemotePortQual),
	"M-07": modifies(cgo.EPFieldPZHandle, func(p *probe, e *node, to *cgo.EPParam) {
		e.pz = p.zone()
		e.region, to.PZHandle = p.memory(e.pz), e.pz
	}),
	"M-08": func(p *probe) string {
		e, peer := p.endpoint(), p.endpoint()
		p.posts(e, 2, cgo.EPPostRecv)
		param := p.query(e)
		param.PZHandle = p.zone()
		p.success(cgo.EPModify(e.ep, cgo.EPFieldPZHandle, &param))
		if event, ok := p.glance(e.recv); ok {
			return asRequired(event.DTO().Status == cgo.DTOErrLocalProtection)
		}
		p.step("using the endpoint")
		p.connect(peer, e)
		p.posts(peer, 1, cgo.EPPostSend)
		return fmt.Sprintf("a receive completes with %v when a message comes", p.statuses(e.recv, 1)[0])
	},
	"M-09": modifies(cgo.EPFieldRecvEVDHandle, func(p *probe, e *node, to *cgo.EPParam) {
		e.recv = p.queue(64, cgo.EVDDTO)
		to.RecvEVDHandle = e.recv
	}),
	"M-10": modifies(cgo.EPFieldRequestEVDHandle, func(p *probe, e *node, to *cgo.EPParam) {
		e.request = p.queue(64, cgo.EVDDTO)
		to.RequestEVDHandle = e.request
	}),
	"M-11": modifies(cgo.EPFieldConnectEVDHandle, func(p *probe, e *node, to *cgo.EPParam) {
		e.connect = p.queue(16, cgo.EVDConnection)
		to.ConnectEVDHandle = e.connect
	}),
	"M-12": oneValue(cgo.EPFieldServiceType, func(a *cgo.EPAttr) { a.ServiceType = 77 }),
	"M-13": modifiesAttr(cgo.EPFieldMaxMessageSize, func(a *cgo.EPAttr) { a.MaxMessageSize = 1024 }),
	"M-14": modifiesAttr(cgo.EPFieldMaxRDMASize, func(a *cgo.EPAttr) { a.MaxRDMASize = 1024 }),
	"M-15": oneValue(cgo.EPFieldQOS, func(a *cgo.EPAttr) { a.QOS = 77 }),
	"M-16": modifiesAttr(cgo.EPFieldRecvCompletionFlags, func(a *cgo.EPAttr) { a.RecvCompletionFlags = cgo.CompletionFlags(unsignalled) }),
	"M-17": modifiesAttr(cgo.EPFieldRequestCompletionFlags, func(a *cgo.EPAttr) { a.RequestCompletionFlags = cgo.CompletionFlags(unsignalled) }),
	"M-18": modifiesAttr(cgo.EPFieldMaxRecvDTOs, func(a *cgo.EPAttr) { a.MaxRecvDTOs = 20 }),
	"M-19": modifiesAttr(cgo.EPFieldMaxRequestDTOs, func(a *cgo.EPAttr) { a.MaxRequestDTOs = 20 }),
	"M-20": modifiesAttr(cgo.EPFieldMaxRecvIOV, func(a *cgo.EPAttr) { a.MaxRecvIOV = 3 }),
	"M-21": modifiesAttr(cgo.EPFieldMaxRequestIOV, func(a *cgo.EPAttr) { a.MaxRequestIOV = 3 }),
	"M-22": modifiesAttr(cgo.EPFieldMaxRDMAReadIn, func(a *cgo.EPAttr) { a.MaxRDMAReadIn = 1 }),
	"M-23": modifiesAttr(cgo.EPFieldMaxRDMAReadOut, func(a *cgo.EPAttr) { a.MaxRDMAReadOut = 1 }),
	"M-24": unsupportedField(cgo.EPFieldNumTransportAttr | cgo.EPFieldTransportSpecificAttr),
	"M-25": unsupportedField(cgo.EPFieldNumProviderAttr | cgo.EPFieldProviderSpecificAttr),
	"M-26": func(p *probe) string {
		a, _ := p.pair()
		before := p.query(a)
		taken := 0
		for bit := cgo.EPFieldServiceType; bit <= cgo.EPFieldMaxRDMAReadOut; bit <<= 1 {
			if cgo.EPModify(a.ep, bit, &before).Type() != cgo.InvalidState {
				taken++
			}
		}
		if p.query(a) != before {
			return "a refused call changes the endpoint"
		}
		if taken > 0 {
			return fmt.Sprintf("when CONNECTED, %d of 12 attributes are not refused for the state", taken)
		}
		return asRequired(true)
	},
	"M-27": func(p *probe) string {
		e := p.endpoint()
		before := p.query(e)
		var wrong []string
		for _, try := range []struct {
			what string
			mask cgo.EPParamMask
			set  func(*cgo.EPParam)
		}{
			{"an unknown bit", 1 << 40, func(*cgo.EPParam) {}},
			{"an unknown service type", cgo.EPFieldServiceType, func(to *cgo.EPParam) { to.EPAttr.ServiceType = 77 }},
			{"an unknown quality of service", cgo.EPFieldQOS, func(to *cgo.EPParam) { to.EPAttr.QOS = 77 }},
			{"a count below 0", cgo.EPFieldMaxRecvIOV, func(to *cgo.EPParam) { to.EPAttr.MaxRecvIOV = -1 }},
			{"an EVD of another kind", cgo.EPFieldRecvEVDHandle, func(to *cgo.EPParam) { to.RecvEVDHandle = e.connect }},
		} {
			p.step(try.what)
			param := before
			try.set(&param)
			if cgo.EPModify(e.ep, try.mask, &param).OK() {
				wrong = append(wrong, try.what)
			}
		}
		if wrong != nil {
			return "accepted: " + strings.Join(wrong, ", ")
		}
		return asRequired(p.query(e) == before)
	},
	"M-28": func(p *probe) string {
		return p.ofInvalid(func(ep cgo.EPHandle) cgo.Return {
			return cgo.EPModify(ep, cgo.EPFieldMaxRecvDTOs, &cgo.EPParam{EPAttr: *attributes()})
		})
	},
	"M-29": func(p *probe) string {
		e := p.endpoint()
		param := p.query(e)
		param.EPAttr.MaxRecvDTOs = 50
		p.success(cgo.EPModify(e.ep, cgo.EPFieldMaxRecvDTOs, &param))
		p.step("posting as many receives as were asked for")
		p.posts(e, 50, cgo.EPPostRecv)
		return asRequired(p.query(e).EPAttr.MaxRecvDTOs == 50)
	},
	"M-30": func(p *probe) string {
		e := p.endpoint()
		before := p.query(e)
		param := before
		param.EPAttr.MaxRecvDTOs, param.EPAttr.MaxRequestIOV = 20, -1
		if cgo.EPModify(e.ep, cgo.EPFieldMaxRecvDTOs|cgo.EPFieldMaxRequestIOV, &param).OK() {
			return "an invalid value beside a valid one is accepted"
		}
		if p.query(e) != before {
			return "a refused call changes one of two fields"
		}
		return asRequired(true)
	},

	"D-01": func(p *probe) string {
		a, b := p.pair()
		p.success(cgo.EPDisconnect(b.ep, cgo.CloseAbrupt))
		p.ended(a, b)
		return disconnects(p)
	},
	"D-02": flushes,
	"D-03": flushes,
	"D-04": func(p *probe) string {
		a, b := p.pair()
		p.posts(b, 4, cgo.EPPostRecv)
		p.posts(a, 8, cgo.EPPostSend)
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		p.ended(a, b)
		for _, list := range [][]cgo.DTOStatus{p.statuses(a.request, 8), p.statuses(b.recv, 4)} {
			failed := slices.IndexFunc(list, func(s cgo.DTOStatus) bool { return s != cgo.DTOSuccess })
			if failed >= 0 && !allFailed(list[failed:]) {
				return asRequired(false)
			}
		}
		return asRequired(true)
	},
	"D-05": flushes,
	"D-06": func(p *probe) string {
		a, b := p.pair()
		p.posts(a, 4, cgo.EPPostSend)
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseGraceful))
		for cookie := range uint64(4) { // too late if the connection has ended already
			cgo.EPPostRecv(b.ep, b.local(), cookie, 0)
		}
		if allFailed(p.statuses(a.request, 4)) {
			return "sends that wait for a receive are flushed at once, as with an abrupt one"
		}
		p.ended(a, b)
		return asRequired(true)
	},
	"D-07": func(p *probe) string {
		p.pending()
		return asRequired(true)
	},
	"D-08": func(p *probe) string {
		a, b := p.pending()
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		p.ended(a, b)
		return asRequired(p.state(a) == cgo.EPStateDisconnected)
	},
	"D-09": func(p *probe) string {
		a, _ := p.pending()
		return asRequired(cgo.EPDisconnect(a.ep, cgo.CloseGraceful).OK() && p.state(a) == cgo.EPStateDisconnectPending)
	},
	"D-10": func(p *probe) string {
		e := p.endpoint()
		a, b := p.pair()
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		p.ended(a, b)
		return asRequired(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt) == cgo.EPDisconnect(e.ep, cgo.CloseGraceful) &&
			cgo.EPDisconnect(a.ep, cgo.CloseAbrupt) == cgo.EPDisconnect(a.ep, cgo.CloseGraceful))
	},
	"D-11": func(p *probe) string {
		a, _ := p.pending()
		return asRequired(cgo.EPPostSend(a.ep, a.local(), 9, 0).Type() == cgo.InvalidState)
	},
	"D-12": disconnects,
	"D-13": disconnects,
	"D-14": disconnects,
	"D-15": func(p *probe) string {
		_, r := cgo.EVDCreate(p.ia, 64, 0, cgo.EVDDTO|cgo.EVDConnection)
		return "such an EVD is " + accepted(r)
	},
	"D-16": func(p *probe) string {
		a, b := p.pair()
		p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
		p.ended(a, b)
		return asRequired(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt).OK() && p.state(a) == cgo.EPStateDisconnected)
	},
	"D-17": func(p *probe) string { return p.refusesDisconnect(p.endpoint()) },
	"D-18": func(p *probe) string {
		e, _, _ := p.reserved()
		return p.refusesDisconnect(e)
	},
	"D-19": func(p *probe) string {
		e, _, qual := p.reserved()
		p.dial(p.endpoint(), qual)
		return p.refusesDisconnect(e)
	},
	"D-20": tentative,
	"D-21": func(p *probe) string {
		e := p.endpoint()
		p.posts(e, 2, cgo.EPPostRecv)
		p.dial(e, p.listen())
		p.success(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt))
		p.ended(e)
		p.step("flushing the receives")
		return asRequired(allFailed(p.statuses(e.recv, 2)))
	},
	"D-22": func(p *probe) string {
		qual := p.listen()
		peer, _, err := startPeer(adapterOfProbe(), qual, 1)
		if err != nil {
			p.fail(err.Error())
		}
		p.peer = peer.Process
		event := p.expect(p.requests, cgo.EventConnectionRequest)
		if err := stop(peer.Process); err != nil {
			p.fail(err.Error())
		}
		e := p.endpoint()
		p.posts(e, 2, cgo.EPPostRecv)
		p.success(cgo.CRAccept(event.CRArrival().CRHandle, e.ep, nil))
		if p.iwarp { // the peer has no say, and the accept may be over before the connection is there
			p.expect(e.connect, cgo.EventConnectionEstablished)
		}
		if state := p.state(e); state != cgo.EPStateCompletionPending {
			return fmt.Sprintf("the endpoint is in %v when it has accepted", state)
		}
		p.success(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt))
		p.ended(e)
		p.step("flushing the receives")
		return asRequired(allFailed(p.statuses(e.recv, 2)))
	},
	"D-23": func(p *probe) string {
		a, b := p.pair()
		if r := cgo.EPDisconnect(a.ep, 77); !r.OK() {
			return asRequired(r.Type() == cgo.InvalidParameter && p.state(a) == cgo.EPStateConnected)
		}
		p.ended(a, b)
		return "the flags 77 are accepted: the connection ends"
	},
	"D-24": func(p *probe) string {
		return p.ofInvalid(func(ep cgo.EPHandle) cgo.Return { return cgo.EPDisconnect(ep, cgo.CloseAbrupt) })
	},

	"F-01": func(p *probe) string { return asRequired(cgo.EPFree(p.endpoint().ep).OK()) },
	"F-02": func(p *probe) string {
		e := p.endpoint()
		request := p.dial(e, p.listen())
		p.step("freeing it")
		p.success(cgo.EPFree(e.ep))
		p.step("rejecting its request")
		cgo.CRReject(request, nil)
		return asRequired(true)
	},
	"F-03": func(p *probe) string {
		a, b := p.pair()
		freed := cgo.EPFree(a.ep).OK()
		p.ended(b)
		return asRequired(freed && cgo.EPFree(b.ep).OK())
	},
	"F-04": func(p *probe) string {
		e, rsp, _ := p.reserved()
		refused := cgo.EPFree(e.ep).Type() == cgo.InvalidState
		p.success(cgo.RSPFree(rsp))
		return asRequired(refused && p.state(e) == cgo.EPStateUnconnected && cgo.EPFree(e.ep).OK())
	},
	"F-05": func(p *probe) string {
		e, _, qual := p.reserved()
		request := p.dial(p.endpoint(), qual)
		refused := cgo.EPFree(e.ep).Type() == cgo.InvalidState
		p.step("rejecting the request")
		p.success(cgo.CRReject(request, nil))
		if state := p.state(e); state != cgo.EPStateUnconnected {
			return fmt.Sprintf("after the rejection the endpoint is in %v", state)
		}
		p.step("freeing the endpoint after the rejection")
		return asRequired(cgo.EPFree(e.ep).OK() && refused)
	},
	"F-06": tentative,
	"F-07": func(p *probe) string {
		a, b := p.pair()
		p.posts(b, 8, cgo.EPPostRecv)
		p.posts(a, 4, cgo.EPPostSend)
		p.statuses(a.request, 4)
		p.success(cgo.EPFree(b.ep))
		p.step("taking them")
		var event cgo.Event
		for cgo.EVDDequeue(b.recv, &event).OK() {
		}
		p.ended(a)
		return asRequired(true)
	},
	"F-08": func(p *probe) string {
		a, b := p.pair()
		p.posts(a, 4, cgo.EPPostRecv)
		p.posts(a, 1, cgo.EPPostSend)
		p.success(cgo.EPFree(a.ep))
		p.ended(b)
		p.step("freeing the memory that they used")
		return asRequired(cgo.LMRFree(a.lmr).OK() && cgo.PZFree(a.pz).OK())
	},
	"F-09": func(p *probe) string {
		e := p.endpoint()
		inUse := cgo.EVDFree(e.recv).Type() == cgo.InvalidState
		p.success(cgo.EPFree(e.ep))
		return asRequired(inUse && cgo.EVDFree(e.recv).OK() && cgo.EVDFree(e.request).OK() && cgo.EVDFree(e.connect).OK())
	},
	"F-10": func(p *probe) string {
		return p.ofInvalid(func(ep cgo.EPHandle) cgo.Return { return cgo.EPReset(ep) })
	},
	"F-11": func(p *probe) string { return p.ofInvalid(cgo.EPFree) },
	"F-12": func(p *probe) string { return p.ofInvalid(cgo.EPFree) },
}

func name(r cgo.Return) string { return r.Type().String() }

func asRequired(ok bool) string {
	if ok {
		return "as required"
	}
	return "otherwise than required"
}

func accepted(r cgo.Return) string {
	if r.OK() {
		return "accepted"
	}
	return "refused with " + name(r)
}

// ofInvalid makes a call on invalid endpoints.
func (p *probe) ofInvalid(call func(cgo.EPHandle) cgo.Return) string {
	if r := call(0); r.Type() != cgo.InvalidHandle {
		return "a null handle returns " + name(r)
	}
	e := p.endpoint()
	p.success(cgo.EPFree(e.ep))
	p.step("a freed handle")
	if r := call(e.ep); r.Type() != cgo.InvalidHandle {
		return "a freed handle returns " + name(r)
	}
	return asRequired(true)
}

func idleFlags(idle, busy uint32) string {
	if idle == 1 && busy == 0 {
		return asRequired(true)
	}
	return fmt.Sprintf("the flag is %d when idle and %d with two operations outstanding", idle, busy)
}

func fixedField(mask cgo.EPParamMask) func(*probe) string {
	return func(p *probe) string {
		return asRequired(cgo.EPModify(p.endpoint().ep, mask, &cgo.EPParam{}).Type() == cgo.InvalidParameter)
	}
}

// unsupportedField tries fields that no provider has.
func unsupportedField(mask cgo.EPParamMask) func(*probe) string {
	return func(p *probe) string {
		e := p.endpoint()
		param := p.query(e)
		r := cgo.EPModify(e.ep, mask, &param)
		return "without any, the fields are " + accepted(r)
	}
}

// oneValue tries a field that has only one value.
func oneValue(mask cgo.EPParamMask, wrong func(*cgo.EPAttr)) func(*probe) string {
	return func(p *probe) string {
		e := p.endpoint()
		param := p.query(e)
		same := cgo.EPModify(e.ep, mask, &param)
		wrong(&param.EPAttr)
		return fmt.Sprintf("the only value is %s, another one %s", accepted(same), accepted(cgo.EPModify(e.ep, mask, &param)))
	}
}

func modifiesAttr(mask cgo.EPParamMask, set func(*cgo.EPAttr)) func(*probe) string {
	return modifies(mask, func(_ *probe, _ *node, to *cgo.EPParam) { set(&to.EPAttr) })
}

// modifies changes a field in UNCONNECTED and in PASSIVE_CONNECTION_PENDING, and then uses the endpoint. Of the zone,
// which cannot change any more, it leaves out the latter.
func modifies(mask cgo.EPParamMask, set func(*probe, *node, *cgo.EPParam)) func(*probe) string {
	return func(p *probe) string {
		e, peer := p.endpoint(), p.endpoint()
		seen := asRequired(true)
		change := func() {
			before, changed := p.query(e), *e
			param := before
			set(p, &changed, &param)
			if r := cgo.EPModify(e.ep, mask, &param); !r.OK() {
				p.note(fmt.Sprintf("refused with %s in %v", name(r), param.EPState))
				seen = ""
				return
			}
			*e = changed
			after := p.query(e)
			after.LocalPortQual = param.LocalPortQual // means nothing before the connection
			if after != param {
				p.note("accepted, and query has the old value")
				seen = ""
			}
		}
		change()
		p.requests = p.queue(16, cgo.EVDCR)
		qual := uint64(udattest.ConnQual())
		_, r := cgo.RSPCreate(p.ia, qual, e.ep, p.requests)
		p.success(r)
		request := p.dial(peer, qual)
		if mask != cgo.EPFieldPZHandle {
			change()
		}
		p.step("the endpoint's connection")
		p.success(cgo.CRAccept(request, 0, nil))
		p.expect(peer.connect, cgo.EventConnectionEstablished)
		p.expect(e.connect, cgo.EventConnectionEstablished)
		p.step("a message after the change")
		p.exchange(peer, e)
		p.exchange(e, peer)
		connected := p.query(e)
		if r := cgo.EPModify(e.ep, mask, &connected); r.Type() != cgo.InvalidState {
			p.note("not refused in CONNECTED")
			seen = ""
		}
		p.step("freeing the endpoint")
		p.success(cgo.EPFree(e.ep))
		return seen
	}
}

// withoutEVD makes an endpoint that lacks an EVD, with operations in its direction and without.
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
	return fmt.Sprintf("with operations in that direction it is %s, without any it is %s", accepted(r), accepted(none))
}

// flags makes two endpoints whose receives complete on the same EVD.
func (p *probe) flags(stream cgo.EVDFlags, first, second udat.CompletionFlags) string {
	q := p.queues(64)
	q.recv = p.queue(64, stream)
	attr := attributes()
	if stream == cgo.EVDDTO {
		attr.RecvCompletionFlags = cgo.CompletionFlags(first)
		_, r := p.create(q, attr)
		p.success(r)
	}
	attr.RecvCompletionFlags = cgo.CompletionFlags(second)
	_, r := p.create(q, attr)
	if stream != cgo.EVDDTO {
		return fmt.Sprintf("%v is %s", second, accepted(r))
	}
	return fmt.Sprintf("%v beside %v is %s", second, first, accepted(r))
}

// besides makes calls from several goroutines beside others.
func (p *probe) besides(n int, call func() bool, others func()) string {
	var calling sync.WaitGroup
	results := make([]bool, n)
	for i := range results {
		calling.Add(1)
		go func() {
			defer calling.Done()
			results[i] = call()
		}()
	}
	others()
	calling.Wait()
	return asRequired(!slices.Contains(results, false))
}

func transfers(p *probe) string {
	a, b := p.pair()
	p.exchange(a, b)
	return asRequired(true)
}

func connects(p *probe) string {
	a, b := p.pair()
	return asRequired(p.state(a) == cgo.EPStateConnected && p.state(b) == cgo.EPStateConnected)
}

func disconnects(p *probe) string {
	a, b := p.pair()
	p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
	p.ended(a, b)
	return asRequired(p.state(a) == cgo.EPStateDisconnected && p.state(b) == cgo.EPStateDisconnected)
}

// flushes reports how posted receives end with the connection.
func flushes(p *probe) string {
	a, b := p.pair()
	p.posts(a, 4, cgo.EPPostRecv)
	p.posts(b, 4, cgo.EPPostRecv)
	p.success(cgo.EPDisconnect(a.ep, cgo.CloseAbrupt))
	p.ended(a, b)
	return asRequired(allFailed(p.statuses(a.recv, 4)) && allFailed(p.statuses(b.recv, 4)))
}

// pending makes an endpoint that sends without a receive keep in DISCONNECT_PENDING. It ends the probe if they do not.
func (p *probe) pending() (e, peer *node) {
	e, peer = p.pair()
	p.posts(e, 4, cgo.EPPostSend)
	p.success(cgo.EPDisconnect(e.ep, cgo.CloseGraceful))
	if _, ok := p.glance(e.connect); ok {
		p.fail("the connection ends at once, although there are no receives for the sends")
	}
	if state := p.state(e); state != cgo.EPStateDisconnectPending {
		p.fail(fmt.Sprintf("the state is %v", state))
	}
	return e, peer
}

func (p *probe) refusesDisconnect(e *node) string {
	before := p.state(e)
	return asRequired(cgo.EPDisconnect(e.ep, cgo.CloseAbrupt).Type() == cgo.InvalidState && p.state(e) == before)
}

// tentative tries the service points whose requests have an endpoint in TENTATIVE_CONNECTION_PENDING.
func tentative(p *probe) string {
	p.requests = p.queue(16, cgo.EVDCR)
	qual := uint64(udattest.ConnQual())
	if _, r := cgo.PSPCreate(p.ia, qual, p.requests, cgo.PSPProvider); !r.OK() {
		return "a service point with the provider flag is " + accepted(r)
	}
	request := p.dial(p.endpoint(), qual)
	p.step("rejecting a request with an endpoint of the provider")
	r := cgo.CRReject(request, nil)
	return "rejecting a request with an endpoint of the provider is " + accepted(r)
}
