package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/vm/control"
)

// A device that was removed opens no more adapters, though one of its name may be there again, until all that it has are
// closed.
func TestOpenRemovedDevice(t *testing.T) { onPort(t, openRemoved) }

func openRemoved(t *testing.T, name string) {
	if kind := control.DeviceKind(os.Getenv(control.KindVariable)); kind != control.RoCE {
		t.Logf("the kernel removes no device of the kind %s that is open", kind)
		return
	}
	first, _, r := cgo.IAOpen(name, 64)
	success(t, "IAOpen", r)
	second, _, r := cgo.IAOpen(name, 64)
	success(t, "IAOpen", r)
	refused := func() {
		t.Helper()
		_, _, r := cgo.IAOpen(name, 64)
		outcome(t, "IAOpen", r, cgo.InvalidState, cgo.InvalidStateIAInUse)
	}
	command(t, "rdma link delete "+portDevice)
	refused()
	command(t, "rdma link add "+portDevice+" type rxe netdev "+portInterface)
	refused()
	success(t, "IAClose", cgo.IAClose(first, cgo.CloseAbrupt))
	refused()
	success(t, "IAClose", cgo.IAClose(second, cgo.CloseAbrupt))
	openAdapter(t, name).connectedPair(t)
}
