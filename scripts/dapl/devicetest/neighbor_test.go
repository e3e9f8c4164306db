package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// changeHardwareAddress has the neighbor table say that the adapter's address has another hardware address. This machine
// itself does not look for it there.
func (a *adapter) changeHardwareAddress(t *testing.T) {
	t.Helper()
	devices, err := device.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name == a.device {
			address, netdev := a.address.Addr().String(), d.Ports[0].Interfaces[0]
			ip(t, "neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", netdev)
			ip(t, "neigh", "del", address, "dev", netdev)
		}
	}
}

// A connection goes on when the hardware address of the peer changes. An attempt may end, but for both sides.
func TestChangedHardwareAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive, late, answer := a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive, nil)
		a.startConnect(t, l, late, cgo.TimeoutInfinite)
		request := l.request(t)
		a.changeHardwareAddress(t)
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t), nil) // its events come later
		active.connect.empty(t)
		passive.connect.empty(t)
		passive.postRecv(t, 1)
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, 2, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 2)
		passive.recv.completion(t, cgo.EventDTOCompletion, 1)

		success(t, "CRAccept", cgo.CRAccept(request, answer.EPHandle, nil))
		ends, peers := late.connect.next(t).Number, answer.connect.next(t).Number
		if (ends == cgo.EventConnectionEstablished) != (peers == cgo.EventConnectionEstablished) {
			t.Errorf("the attempt ends with %v, and with %v for the peer", ends, peers)
		}
	})
}
