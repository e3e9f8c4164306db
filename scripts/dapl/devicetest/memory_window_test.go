package devicetest

import (
	"bytes"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// hasWindows reports whether the device has memory windows. Soft-iWARP has none.
func (a *adapter) hasWindows(t testing.TB) bool {
	t.Helper()
	return queryIA(t, a.IAHandle).MaxRMRs > 0
}

// forEachWithWindows runs a test on the adapters of devices with memory windows.
func forEachWithWindows(t *testing.T, test func(t *testing.T, a *adapter)) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if !a.hasWindows(t) {
			t.Log("not tested: the device has no memory windows")
			return
		}
		test(t, a)
	})
}

// newWindow makes a window that is freed when the test ends, and createWindow one that the caller frees.
func newWindow(t testing.TB, pz cgo.PZHandle) cgo.RMRHandle {
	t.Helper()
	rmr := createWindow(t, pz)
	t.Cleanup(func() { success(t, "RMRFree", cgo.RMRFree(rmr)) })
	return rmr
}

func createWindow(t testing.TB, pz cgo.PZHandle) cgo.RMRHandle {
	t.Helper()
	rmr, r := cgo.RMRCreate(pz)
	success(t, "RMRCreate", r)
	return rmr
}

func bind(rmr cgo.RMRHandle, e *endpoint, m *memory, segment cgo.LMRTriplet, privileges cgo.MemPriv) (uint32, cgo.Return) {
	return cgo.RMRBind(rmr, m.LMRHandle, &segment, privileges, cgo.VATypeVA, e.EPHandle, 9, cgo.CompletionDefault)
}

// startBind binds a window for reads of the peer, and leaves the completion to the caller.
func startBind(t testing.TB, rmr cgo.RMRHandle, e *endpoint, m *memory, segment cgo.LMRTriplet) (context uint32) {
	t.Helper()
	context, r := bind(rmr, e, m, segment, cgo.MemPrivRemoteRead)
	success(t, "RMRBind", r)
	return context
}

// bound binds a window to memory, a piece of length 0 unbinds it, and returns its context.
func bound(t testing.TB, rmr cgo.RMRHandle, e *endpoint, m *memory, segment cgo.LMRTriplet, privileges cgo.MemPriv) uint32 {
	t.Helper()
	context, r := bind(rmr, e, m, segment, privileges)
	success(t, "RMRBind", r)
	event := e.request.completion(t, cgo.EventRMRBindCompletion, 9)
	if got := event.RMRBind().RMRHandle; got != rmr {
		t.Errorf("the completion is of the window %#x, want %#x", got, rmr)
	}
	return context
}

// windowPair is an endpoint whose memory a peer reaches, and the peer.
type windowPair struct {
	a           *adapter
	l           *listener
	owner, peer *endpoint
}

func (a *adapter) newWindowPair(t testing.TB) *windowPair {
	t.Helper()
	p := &windowPair{a: a, l: a.listen(t), owner: a.newEndpoint(t), peer: a.newEndpoint(t)}
	a.connect(t, p.l, p.peer, p.owner)
	return p
}

// tries has the peer read memory, or write it, and returns the outcome.
func (p *windowPair) tries(t testing.TB, remote cgo.RMRTriplet, write bool) cgo.DTOStatus {
	t.Helper()
	post := cgo.EPPostRDMARead
	if write {
		post = cgo.EPPostRDMAWrite
	}
	local := []cgo.LMRTriplet{p.peer.memory.local(0, int(remote.SegmentLength))}
	success(t, "posting", post(p.peer.EPHandle, local, 5, &remote, cgo.CompletionDefault))
	event := p.peer.request.expect(t, cgo.EventDTOCompletion)
	return event.DTO().Status
}

// reaches expects the peer to read and, if it may, to write what the window has.
func (p *windowPair) reaches(t testing.TB, context uint32, m *memory, offset int, write bool) {
	t.Helper()
	remote := m.remote(offset, 64)
	remote.RMRContext = context
	fill := func(b []byte, with byte) []byte {
		for i := range b {
			b[i] = with
		}
		return b
	}
	want := fill(m.bytes[offset:offset+64], byte(context))
	fill(p.peer.memory.bytes[:64], 0)
	if status := p.tries(t, remote, false); status != cgo.DTOSuccess || !bytes.Equal(p.peer.memory.bytes[:64], want) {
		t.Fatalf("the peer reads %x (%v), want %x", p.peer.memory.bytes[:64], status, want)
	}
	if !write {
		return
	}
	sent := fill(p.peer.memory.bytes[:64], ^byte(context))
	if status := p.tries(t, remote, true); status != cgo.DTOSuccess || !bytes.Equal(m.bytes[offset:offset+64], sent) {
		t.Fatalf("the peer writes %x (%v), want %x", m.bytes[offset:offset+64], status, sent)
	}
}

// refused expects the peer not to reach memory, and connects the endpoints once more.
func (p *windowPair) refused(t testing.TB, context uint32, m *memory, offset int, write bool) {
	t.Helper()
	remote := m.remote(offset, 64)
	remote.RMRContext = context
	before := bytes.Clone(m.bytes)
	if status := p.tries(t, remote, write); status != cgo.DTOErrRemoteAccess {
		t.Fatalf("the peer's operation ends with %v, want %v", status, cgo.DTOErrRemoteAccess)
	}
	if !bytes.Equal(m.bytes, before) {
		t.Fatal("the peer has changed the memory")
	}
	p.a.reconnect(t, p.peer, p.owner)
}

// A peer reaches a window from its bind to the next bind or the unbind, with the privileges of the bind, also over
// another connection.
func TestMemoryWindow(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		m := p.owner.memory
		rmr := newWindow(t, p.owner.pz)
		var param cgo.RMRParam
		outcome(t, "RMRQuery of a triplet", cgo.RMRQuery(rmr, cgo.RMRFieldAll, &param), cgo.InvalidParameter, cgo.InvalidArg2)
		success(t, "RMRQuery", cgo.RMRQuery(rmr, cgo.RMRFieldAll&^cgo.RMRFieldLMRTriplet, &param))
		if want := (cgo.RMRParam{IAHandle: a.IAHandle, PZHandle: p.owner.pz, RMRContext: param.RMRContext, RMRScope: cgo.RMRScopePZ, VAType: cgo.VATypeVA}); param != want {
			t.Errorf("got the parameters\n%+v, want\n%+v", param, want)
		}
		p.refused(t, param.RMRContext, m, 256, false)

		// What a peer expects to be the next context is none before the bind.
		next := param.RMRContext&^0xff | (param.RMRContext+1)&0xff
		p.refused(t, next, m, 256, false)
		first := bound(t, rmr, p.owner, m, m.local(256, 256), cgo.MemPrivRemoteRead|cgo.MemPrivRemoteWrite)
		if first != next {
			t.Errorf("the context is %#x, want %#x", first, next)
		}
		p.reaches(t, first, m, 256, true)
		p.reaches(t, first, m, 448, true)
		success(t, "RMRQuery", cgo.RMRQuery(rmr, cgo.RMRFieldAll, &param))
		if want := m.local(256, 256); param.LMRTriplet != want || param.RMRContext != first || param.MemPriv != cgo.MemPrivRemoteRead|cgo.MemPrivRemoteWrite {
			t.Errorf("got the parameters %+v, want those of %+v", param, want)
		}
		p.refused(t, param.RMRContext, m, memorySize-32, false)

		second := bound(t, rmr, p.owner, m, m.local(1024, 256), cgo.MemPrivRemoteRead)
		p.refused(t, first, m, 256, false)
		p.reaches(t, second, m, 1024, false)
		p.refused(t, second, m, 1024, true)
		p.reaches(t, second, m, 1024, false)

		outcome(t, "LMRFree of a bound region", cgo.LMRFree(m.LMRHandle), cgo.InvalidState, cgo.InvalidStateLMRInUse)
		none := bound(t, rmr, p.owner, m, cgo.LMRTriplet{}, 0)
		p.refused(t, second, m, 1024, false)
		p.refused(t, none, m, 1024, false)
		_, r := bind(rmr, p.owner, m, cgo.LMRTriplet{}, 0)
		outcome(t, "RMRBind of what is not bound", r, cgo.InvalidState, cgo.NoSubtype)
	})
}

// The end of a window ends what peers reach through it. Until then the memory cannot be freed.
func TestMemoryWindowFree(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		m := p.owner.memory
		for range 2 {
			rmr := createWindow(t, p.owner.pz)
			outcome(t, "PZFree", cgo.PZFree(p.owner.pz), cgo.InvalidState, cgo.InvalidStatePZInUse)
			context := bound(t, rmr, p.owner, m, m.local(0, 256), cgo.MemPrivRemoteRead|cgo.MemPrivRemoteWrite)
			p.reaches(t, context, m, 0, true)
			outcome(t, "LMRFree of a bound region", cgo.LMRFree(m.LMRHandle), cgo.InvalidState, cgo.InvalidStateLMRInUse)
			success(t, "RMRFree", cgo.RMRFree(rmr))
			p.refused(t, context, m, 0, false)
		}
	})
}

// A window takes the place of another memory region, which can be freed then. The endpoint that has bound it may go.
func TestMemoryWindowMoves(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		rmr := newWindow(t, p.owner.pz)
		other := a.newMemory(t, p.owner.pz)
		bound(t, rmr, p.owner, other, other.local(0, 64), cgo.MemPrivRemoteRead)
		outcome(t, "LMRFree of a bound region", cgo.LMRFree(other.LMRHandle), cgo.InvalidState, cgo.InvalidStateLMRInUse)
		context := bound(t, rmr, p.owner, p.owner.memory, p.owner.memory.local(0, 64), cgo.MemPrivAll)

		further := a.makeEndpoint(t, parts{pz: p.owner.pz})
		disconnect(t, p.peer, p.owner)
		reset(t, p.peer)
		a.connect(t, p.l, p.peer, further)
		p.reaches(t, context, p.owner.memory, 0, true)
		bound(t, rmr, further, p.owner.memory, cgo.LMRTriplet{}, 0)
	})
}

// A bind is refused that the adapter could not carry out.
func TestMemoryWindowRefuses(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		m := p.owner.memory
		rmr := newWindow(t, p.owner.pz)
		_, address := newPage(t)
		readable, context, _, _, r := cgo.LMRCreateVirtual(a.IAHandle, address, memorySize, p.owner.pz, cgo.MemPrivLocalRead, cgo.VATypeVA)
		success(t, "LMRCreateVirtual", r)
		t.Cleanup(func() { success(t, "LMRFree", cgo.LMRFree(readable)) })
		unconnected := a.makeEndpoint(t, parts{pz: p.owner.pz}).EPHandle
		whole, foreign := m.local(0, memorySize), p.peer.memory.local(0, 8)
		unwritable := cgo.LMRTriplet{VirtualAddress: uint64(address), SegmentLength: 8, LMRContext: context}
		tooLong, below, wrapping := whole, whole, whole
		tooLong.SegmentLength++
		below.VirtualAddress--
		wrapping.VirtualAddress, wrapping.SegmentLength = ^uint64(0)-7, 64
		ep, peer := p.owner.EPHandle, p.peer.EPHandle
		for _, test := range []struct {
			name       string
			lmr        cgo.LMRHandle
			segment    *cgo.LMRTriplet
			privileges cgo.MemPriv
			va         cgo.VAType
			ep         cgo.EPHandle
			flags      cgo.CompletionFlags
			want       cgo.ReturnType
			subtype    cgo.ReturnSubtype
		}{
			{"unconnected", m.LMRHandle, &whole, cgo.MemPrivAll, cgo.VATypeVA, unconnected, 0, cgo.InvalidState, cgo.InvalidStateEPUnconnected},
			{"null endpoint", m.LMRHandle, &whole, cgo.MemPrivAll, cgo.VATypeVA, 0, 0, cgo.InvalidHandle, cgo.InvalidHandleEP},
			{"null LMR", 0, &whole, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.InvalidHandle, cgo.InvalidHandleLMR},
			{"no segment", m.LMRHandle, nil, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.InvalidParameter, cgo.InvalidArg3},
			{"too long", m.LMRHandle, &tooLong, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.InvalidParameter, cgo.InvalidArg3},
			{"below", m.LMRHandle, &below, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.InvalidParameter, cgo.InvalidArg3},
			{"wrapping", m.LMRHandle, &wrapping, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.InvalidParameter, cgo.InvalidArg3},
			{"zero-based", m.LMRHandle, &whole, cgo.MemPrivAll, cgo.VATypeZB, ep, 0, cgo.ModelNotSupported, cgo.NoSubtype},
			{"suppressed", m.LMRHandle, &whole, cgo.MemPrivAll, cgo.VATypeVA, ep, cgo.CompletionSuppress, cgo.InvalidParameter, cgo.InvalidArg8},
			{"endpoint's zone", p.peer.memory.LMRHandle, &whole, cgo.MemPrivAll, cgo.VATypeVA, peer, 0, cgo.ProtectionViolation, cgo.NoSubtype},
			{"region's zone", p.peer.memory.LMRHandle, &foreign, cgo.MemPrivAll, cgo.VATypeVA, ep, 0, cgo.ProtectionViolation, cgo.NoSubtype},
			{"read", readable, &unwritable, cgo.MemPrivRemoteRead, cgo.VATypeVA, ep, 0, cgo.PrivilegesViolation, cgo.PrivilegesWrite},
			{"write", readable, &unwritable, cgo.MemPrivRemoteWrite, cgo.VATypeVA, ep, 0, cgo.PrivilegesViolation, cgo.PrivilegesWrite},
			{"atomic", readable, &unwritable, cgo.MemPrivIBRemoteAtomic, cgo.VATypeVA, ep, 0, cgo.PrivilegesViolation, cgo.PrivilegesWrite},
		} {
			_, r := cgo.RMRBind(rmr, test.lmr, test.segment, test.privileges, test.va, test.ep, 1, test.flags)
			outcome(t, "RMRBind, "+test.name, r, test.want, test.subtype)
		}
	})
}

// Until its bind completes, a window can neither be bound nor freed, nor its memory. The reset of the endpoint completes it.
func TestMemoryWindowPending(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		owner := a.makeEndpoint(t, parts{request: a.newEVD(t, queueLength, 0, cgo.EVDDTO)}) // nobody looks at it but the test
		peer := a.newPeer(t, owner)
		rmr, piece := createWindow(t, owner.pz), owner.memory.local(0, 64)
		startBind(t, rmr, owner, owner.memory, piece)
		_, r := bind(rmr, owner, owner.memory, piece, cgo.MemPrivRemoteRead)
		outcome(t, "RMRBind again", r, cgo.InvalidState, cgo.NoSubtype)
		outcome(t, "RMRFree", cgo.RMRFree(rmr), cgo.InvalidState, cgo.NoSubtype)
		outcome(t, "LMRFree", cgo.LMRFree(owner.memory.LMRHandle), cgo.InvalidState, cgo.InvalidStateLMRInUse)
		disconnect(t, peer, owner)
		reset(t, owner, peer)
		success(t, "RMRFree", cgo.RMRFree(rmr))
		if event := dequeue(t, owner.request.EVDHandle); event.Number != cgo.EventRMRBindCompletion {
			t.Errorf("got the event %v", event.Number)
		}
		a.connect(t, a.listen(t), peer, owner)
	})
}

// An adapter that is closed abruptly takes its windows along, bound or about to be.
func TestMemoryWindowAbruptClose(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		a = a.openAgain(t)
		pz := a.createPZ(t)
		_, address := newPage(t)
		lmr, lmrContext, _, _, r := cgo.LMRCreateVirtual(a.IAHandle, address, memorySize, pz, memoryPrivileges, cgo.VATypeVA)
		success(t, "LMRCreateVirtual", r)
		evd := a.createEVD(t, queueLength, 0, cgo.EVDConnection|cgo.EVDCR)
		done := a.createEVD(t, queueLength, 0, cgo.EVDDTO|cgo.EVDRMRBind)
		_, qual := a.createPSP(t, evd)
		active, passive := a.createEP(t, pz, done, done, evd, 0), a.createEP(t, pz, done, done, evd, 0)
		(&endpoint{EPHandle: active}).connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		for established := 0; established < 2; {
			switch event := awaitEvent(t, evd); event.Number {
			case cgo.EventConnectionRequest:
				success(t, "CRAccept", cgo.CRAccept(event.CRArrival().CRHandle, passive, nil))
			case cgo.EventConnectionEstablished:
				established++
			}
		}
		for range 2 {
			piece := cgo.LMRTriplet{VirtualAddress: uint64(address), SegmentLength: 64, LMRContext: lmrContext}
			_, r = cgo.RMRBind(createWindow(t, pz), lmr, &piece, cgo.MemPrivRemoteRead, cgo.VATypeVA, active, 1, cgo.CompletionDefault)
			success(t, "RMRBind", r)
		}
		outcome(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseGraceful), cgo.InvalidState, cgo.InvalidStateIAInUse)
		success(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseAbrupt))
	})
}

// noBinding makes memory regions that no window can be bound to, while a file exists.
const noBinding = `
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int rights)
{
	return NEXT(ibv_reg_mr)(pd, address, length, told() ? rights & ~IBV_ACCESS_MW_BIND : rights);
}
`

// A bind that fails ends the connection and what the window was bound to. The window can be bound again.
func TestMemoryWindowBindFails(t *testing.T) {
	if !inChild(t, noBinding) {
		return
	}
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		m := p.owner.memory
		rmr := newWindow(t, p.owner.pz)
		tell(t, "")
		useless := a.newMemory(t, p.owner.pz)
		untell(t)
		first := bound(t, rmr, p.owner, m, m.local(0, 64), cgo.MemPrivRemoteRead)
		second := startBind(t, rmr, p.owner, useless, useless.local(0, 64))
		event := p.owner.request.expect(t, cgo.EventRMRBindCompletion)
		switch status := event.RMRBind().Status; status {
		case cgo.RMROperationFailed:
		case cgo.DTOErrFlushed: // soft-RoCE takes the failure for the end of the queue pair
			success(t, "EPDisconnect", cgo.EPDisconnect(p.owner.EPHandle, cgo.CloseAbrupt))
		default:
			t.Errorf("the bind completes with %v", status)
		}
		p.a.reconnect(t, p.peer, p.owner)
		p.refused(t, first, m, 0, false)
		p.refused(t, second, useless, 0, false)
		context := bound(t, rmr, p.owner, m, m.local(64, 64), cgo.MemPrivRemoteRead)
		p.reaches(t, context, m, 64, false)
	})
}

// Not all devices check that a peer stays within a window, and not only within the memory region.
func TestMemoryWindowBounds(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		p := a.newWindowPair(t)
		m := p.owner.memory
		rmr := newWindow(t, p.owner.pz)
		remote := m.remote(128, 64)
		remote.RMRContext = bound(t, rmr, p.owner, m, m.local(0, 64), cgo.MemPrivRemoteRead)
		switch status := p.tries(t, remote, false); status {
		case cgo.DTOSuccess:
			t.Logf("%s lets a peer reach the whole region through a window", a.device)
		case cgo.DTOErrRemoteAccess:
			p.a.reconnect(t, p.peer, p.owner)
		default:
			t.Errorf("the peer's read ends with %v", status)
		}
	})
}

// A bind is a request: it takes room on its EVD, and keeps its place among the others.
func TestMemoryWindowTakesRoom(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 6, 1)
		e, length := shared[0], int(evd.length(t))
		windows := make([]cgo.RMRHandle, length+1)
		for i := range windows {
			windows[i] = createWindow(t, e.pz)
			defer func() { success(t, "RMRFree", cgo.RMRFree(windows[i])) }()
		}
		for range 10 {
			for i := range length {
				if i%2 == 0 {
					success(t, "EPPostRDMAWrite", e.write(peers[0], 9, cgo.CompletionDefault))
					continue
				}
				startBind(t, windows[i], e, e.memory, e.memory.local(i, 8))
			}
			_, r := bind(windows[length], e, e.memory, e.memory.local(0, 8), cgo.MemPrivRemoteRead)
			wantNoRoom(t, "RMRBind", r)
			for i, event := range evd.take(t, length) {
				want := cgo.EventDTOCompletion
				if i%2 == 1 {
					want = cgo.EventRMRBindCompletion
				}
				if event.Number != want {
					t.Fatalf("completion %d is %v, want %v", i, event.Number, want)
				}
			}
		}
	})
}

// The event of the end comes after the completion of a bind, and a graceful disconnect lets it succeed.
func TestMemoryWindowBeforeEnd(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, a *adapter) {
		for i := range 10 {
			p := a.newWindowPair(t)
			e := p.owner
			rmr := createWindow(t, e.pz)
			suppressed := func() {
				for cookie := range uint64(2) {
					success(t, "EPPostRDMAWrite", e.write(p.peer, cookie, cgo.CompletionSuppress))
				}
			}
			suppressed()
			startBind(t, rmr, e, e.memory, e.memory.local(0, 64))
			suppressed()
			graceful, how, who := i%2 == 0, cgo.CloseAbrupt, p.peer
			if graceful {
				how, who = cgo.CloseGraceful, e
			}
			success(t, "EPDisconnect", cgo.EPDisconnect(who.EPHandle, how))
			e.connect.expect(t, cgo.EventConnectionDisconnected)
			p.peer.connect.expect(t, cgo.EventConnectionDisconnected)
			event := dequeue(t, e.request.EVDHandle)
			for !graceful && event.Number == cgo.EventDTOCompletion { // a suppressed one that was flushed
				success(t, "EVDDequeue", cgo.EVDDequeue(e.request.EVDHandle, &event))
			}
			if event.Number != cgo.EventRMRBindCompletion || graceful && event.RMRBind().Status != cgo.DTOSuccess {
				t.Fatalf("got the event %v with the status %v", event.Number, event.RMRBind().Status)
			}
			success(t, "RMRFree", cgo.RMRFree(rmr))
			e.request.drain(t)
			p.peer.request.drain(t)
		}
	})
}
