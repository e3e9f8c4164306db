package devicetest

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// extension checks the event of an extended operation.
func extension(t *testing.T, event cgo.Event, operation cgo.DTO, want cgo.IBExtType) *cgo.IBExtensionEventData {
	t.Helper()
	same(t, "the completed operation", event.DTO().Operation, operation)
	data := event.IBExtension()
	check(t, data.Type == want && data.Status == cgo.IBOpSuccess, "the extension data is %v, %v, want %v", data.Type, data.Status, want)
	return data
}

func TestIBPostRDMAWriteImmed(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		success(t, "IBPostRecvUD", cgo.IBPostRecvUD(passive.EPHandle, []cgo.LMRTriplet{passive.memory.local(0, 64)}, 1, cgo.CompletionDefault))
		copy(active.memory.bytes, "immediate")
		remote := passive.memory.remote(512, 9)
		const immediate = 0x12345678
		if !a.extended(t, "IBPostRDMAWriteImmed", cgo.IBPostRDMAWriteImmed(active.EPHandle,
			[]cgo.LMRTriplet{active.memory.local(0, 4), active.memory.local(4, 5)}, 2, &remote, immediate, cgo.CompletionDefault)) {
			return
		}
		extension(t, active.request.completion(t, cgo.EventIBDTO, 2), cgo.DTOIBRDMAWriteImmed, cgo.IBExtRDMAWriteImmed)
		received := passive.recv.completion(t, cgo.EventIBDTO, 1)
		data := extension(t, received, cgo.DTOIBRecvImmed, cgo.IBExtRDMAWriteImmedData)
		same(t, "the immediate data", data.ImmedData, immediate)
		same(t, "the peer's memory", string(passive.memory.bytes[512:521]), "immediate")
	})
}

// An extended request is refused before the connection, and flushed after it, as the requests of DAT are.
func TestIBRequestOutsideOfConnection(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		local, remote := active.memory.local(0, 8), passive.memory.remote(8, 8)
		posts := []struct {
			call      string
			operation cgo.DTO
			post      func(*endpoint) cgo.Return
		}{
			{"IBPostRDMAWriteImmed", cgo.DTOIBRDMAWriteImmed, func(e *endpoint) cgo.Return {
				return cgo.IBPostRDMAWriteImmed(e.EPHandle, []cgo.LMRTriplet{local}, 3, &remote, 1, cgo.CompletionDefault)
			}},
			{"IBPostFetchAndAdd", cgo.DTOIBFetchAdd, func(e *endpoint) cgo.Return {
				return cgo.IBPostFetchAndAdd(e.EPHandle, 1, &local, 3, &remote, cgo.CompletionDefault)
			}},
			{"IBPostCmpAndSwap", cgo.DTOIBCmpSwap, func(e *endpoint) cgo.Return {
				return cgo.IBPostCmpAndSwap(e.EPHandle, 1, 2, &local, 3, &remote, cgo.CompletionDefault)
			}},
		}
		if a.iwarp {
			for _, p := range posts {
				a.extended(t, p.call, p.post(active))
			}
			return
		}
		for _, p := range posts {
			outcome(t, p.call, p.post(a.newEndpoint(t)), cgo.InvalidState, cgo.InvalidStateEPUnconnected)
		}
		disconnect(t, active, passive)
		for _, p := range posts {
			success(t, p.call, p.post(active))
			event := active.request.next(t)
			dto := event.DTO()
			check(t, dto.UserCookie == 3 && dto.Status == cgo.DTOErrFlushed && dto.Operation == p.operation, "%s after the connection completes as %+v", p.call, *dto)
			active.wantIdle(t, true, true)
		}
		active.request.empty(t)
	})
}

func TestIBAtomics(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		const initial, added, swapped = 1 << 40, 7, 99
		result, target := active.memory.bytes[:8], passive.memory.bytes[8:16]
		local, remote := active.memory.local(0, 8), passive.memory.remote(8, 8)
		binary.NativeEndian.PutUint64(target, initial)

		check := func(old, now uint64) {
			t.Helper()
			same(t, "the old value", binary.NativeEndian.Uint64(result), old)
			same(t, "the new value", binary.NativeEndian.Uint64(target), now)
		}
		if !a.extended(t, "IBPostFetchAndAdd", cgo.IBPostFetchAndAdd(active.EPHandle, added, &local, 1, &remote, cgo.CompletionDefault)) {
			a.extended(t, "IBPostCmpAndSwap", cgo.IBPostCmpAndSwap(active.EPHandle, initial, swapped, &local, 2, &remote, cgo.CompletionDefault))
			return
		}
		extension(t, active.request.completion(t, cgo.EventIBDTO, 1), cgo.DTOIBFetchAdd, cgo.IBExtFetchAndAdd)
		check(initial, initial+added)

		success(t, "IBPostCmpAndSwap", cgo.IBPostCmpAndSwap(active.EPHandle, initial+added, swapped, &local, 2, &remote, cgo.CompletionDefault))
		extension(t, active.request.completion(t, cgo.EventIBDTO, 2), cgo.DTOIBCmpSwap, cgo.IBExtCmpAndSwap)
		check(initial+added, swapped)

		success(t, "IBPostCmpAndSwap", cgo.IBPostCmpAndSwap(active.EPHandle, initial, 0, &local, 3, &remote, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventIBDTO, 3)
		check(swapped, swapped)
	})
}

// Datagrams need a special type of endpoint, which no provider makes over Ethernet. There are no other operations.
func TestIBRefuses(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		var ah cgo.IBAddrHandle
		refusal, subtype := cgo.InvalidHandle, cgo.InvalidHandleEP
		if a.iwarp {
			refusal, subtype = cgo.NotImplemented, cgo.NoSubtype
		}
		outcome(t, "IBPostSendUD", cgo.IBPostSendUD(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 16)}, &ah, 1, cgo.CompletionDefault),
			refusal, subtype)
		outcome(t, "IBUDCMFree", cgo.IBUDCMFree(e.EPHandle, 0), cgo.NotImplemented, cgo.NoSubtype)
		outcome(t, "IBUDAHFree of a zone", cgo.IBUDAHFree(cgo.EPHandle(e.pz), &ah), refusal, subtype)
		const unknown cgo.IBOp = 999
		outcome(t, "ExtensionOp", cgo.ExtensionOp(cgo.Handle(a.IAHandle), unknown), cgo.NotImplemented, cgo.NoSubtype)
		outcome(t, "ExtensionOp(0)", cgo.ExtensionOp(0, unknown), cgo.InvalidHandle, cgo.InvalidHandle1)
	})
}

// The adapter must not be opened in between.
func TestIBOpenQuery(t *testing.T) {
	for _, name := range udattest.Names(t) {
		var ia cgo.IAAttr
		var provider cgo.ProviderAttr
		query := must(cgo.IBOpenQuery(name, cgo.IAFieldAll, &ia, cgo.ProviderFieldAll, &provider))(t)
		success(t, "IBCloseQuery", cgo.IBCloseQuery(query))
		if ia.ExtensionSupported != extensionOf(speaksIWARP(t, ia)) || provider.MaxPrivateDataSize == 0 {
			t.Errorf("%s has the extensions %v and %d bytes of private data", name, ia.ExtensionSupported, provider.MaxPrivateDataSize)
		}
	}
	_, r := cgo.IBOpenQuery("no such adapter", cgo.IAFieldAll, new(cgo.IAAttr), cgo.ProviderFieldNone, nil)
	outcome(t, "IBOpenQuery", r, cgo.ProviderNotFound, cgo.NameNotRegistered)
	outcome(t, "IBCloseQuery(0)", cgo.IBCloseQuery(0), cgo.InvalidHandle, cgo.InvalidHandleIA)
}

func TestIBStrerror(t *testing.T) {
	for code, want := range map[cgo.Return]string{
		cgo.ClassError | cgo.Return(cgo.ExtensionBase): "DAT_IB_ERR",
		cgo.QueueFull.Return():                         "DAT_QUEUE_FULL",
	} {
		same(t, "StrerrorExtension", must(cgo.StrerrorExtension(code))(t), want)
	}
	same(t, "StrerrorExtStatus", must(cgo.StrerrorExtStatus(cgo.IBOpErr))(t), "DAT_IB_OP_ERR")
	_, r := cgo.StrerrorExtStatus(77)
	outcome(t, "StrerrorExtStatus of an unknown status", r, cgo.InvalidParameter, cgo.NoSubtype)
}

func (a *adapter) newDatagramEndpoint(t *testing.T) *endpoint {
	t.Helper()
	attr := endpointAttr()
	attr.ServiceType, attr.MaxRDMASize, attr.MaxRDMAReadIn, attr.MaxRDMAReadOut = cgo.ServiceTypeIBUD, 0, 0, 0
	attr.MaxMessageSize = 1024
	return a.makeEndpoint(t, parts{attr: attr})
}

// A peer that closes the socket has not rejected an attempt for datagrams: that has failed.
func TestClosedAttemptForDatagrams(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		qual := uint64(udattest.ConnQual())
		serveTCP(t, a.tcpAddress(qual), func(*net.TCPConn) {})
		e := a.newDatagramEndpoint(t)
		e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		e.connect.expect(t, cgo.EventIBUDConnectionError)
	})
}

// An address handle is destroyed once: by the program, or with the endpoint.
func TestAddressHandle(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return
		}
		ud := openAdapter(lasting{t}, a.name)
		t.Cleanup(func() { success(t, "IAClose", cgo.IAClose(ud.IAHandle, cgo.CloseAbrupt)) }) // the service point stays in use
		l, active, passive := ud.listen(t), ud.newDatagramEndpoint(t), ud.newDatagramEndpoint(t)
		active.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
		request := l.requests.expect(t, cgo.EventIBUDConnectionRequest)
		success(t, "CRAccept", cgo.CRAccept(request.CRArrival().CRHandle, passive.EPHandle, nil))
		passive.connect.expect(t, cgo.EventIBUDConnectionEstablished)
		event := active.connect.expect(t, cgo.EventIBUDConnectionEstablished)
		ah := event.IBExtension().RemoteAH
		success(t, "IBUDAHFree", cgo.IBUDAHFree(active.EPHandle, &ah))
		outcome(t, "IBUDAHFree again", cgo.IBUDAHFree(active.EPHandle, &ah), cgo.InvalidParameter, cgo.InvalidArg2)
	})
}
