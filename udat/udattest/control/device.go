// Code generated from scripts/vm/control; DO NOT EDIT.

package control

// DeviceKind is a kind of RDMA device that is software, by its name in "rdma link add".
type DeviceKind string

// The devices that a machine can have.
const (
	NoDevice DeviceKind = ""
	RoCE     DeviceKind = "rxe"
	IWARP    DeviceKind = "siw"
)

// DeviceKinds are all kinds.
var DeviceKinds = []DeviceKind{RoCE, IWARP}

// KindVariable is in a program's environment, with the kind of its machine's device.
const KindVariable = "UDAT_TESTBED_DEVICE"

// Name is what the device is called in a machine.
func (d DeviceKind) Name() string { return string(d) + "0" }

// Adapters are those over the device that a machine's dat.conf has, by name: that of the CMA provider, and that of the socket
// provider, which has no way to connect the queue pairs of iWARP.
func (d DeviceKind) Adapters() []string {
	names := []string{"ofa-v2-cma-" + d.Name()}
	if d == RoCE {
		names = append(names, "ofa-v2-scm-"+d.Name())
	}
	return names
}
