package devicetest

import (
	"net"
	"testing"

	"github.com/goudat/goudat/cgo"
)

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
		e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			attr := endpointAttr()
			attr.ServiceType, attr.MaxRDMASize, attr.MaxRDMAReadIn, attr.MaxRDMAReadOut = cgo.ServiceTypeIBUD, 0, 0, 0
			attr.MaxMessageSize = 1024
			return cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, attr)
		})
		const portOffset = 1000 // of socket CM
		e.connectTo(t, a.address, uint64(peer.Addr().(*net.TCPAddr).Port-portOffset), cgo.TimeoutInfinite)
		e.connect.expect(t, cgo.EventIBUDConnectionError)
	})
}
