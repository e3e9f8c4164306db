package devicetest

import (
	"net"
	"testing"

	"github.com/goudat/goudat/cgo"
)

func (a *adapter) newDatagramEndpoint(t *testing.T) *endpoint {
	t.Helper()
	return a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		attr := endpointAttr()
		attr.ServiceType, attr.MaxRDMASize, attr.MaxRDMAReadIn, attr.MaxRDMAReadOut = cgo.ServiceTypeIBUD, 0, 0, 0
		attr.MaxMessageSize = 1024
		return cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, attr)
	})
}

// A peer that closes the socket has not rejected an attempt for datagrams: that has failed.
func TestClosedAttemptForDatagrams(t *testing.T) {
	watch(t)
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		peer, err := net.ListenTCP("tcp", &net.TCPAddr{IP: a.address.Addr().AsSlice()})
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		go func() {
			for {
				c, err := peer.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		e := a.newDatagramEndpoint(t)
		const portOffset = 1000 // of socket CM
		e.connectTo(t, a.address, uint64(peer.Addr().(*net.TCPAddr).Port-portOffset), cgo.TimeoutInfinite)
		e.connect.expect(t, cgo.EventIBUDConnectionError)
	})
}

// An address handle is destroyed once: by the program, or with the endpoint.
func TestAddressHandle(t *testing.T) {
	watch(t)
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Log("nothing to test: iWARP has no datagrams")
			return
		}
		var r cgo.Return
		ud := *a
		ud.IAHandle, _, r = cgo.IAOpen(a.name, queueLength)
		success(t, "IAOpen", r)
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
