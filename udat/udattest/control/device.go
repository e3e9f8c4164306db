// Code generated from scripts/vm/control; DO NOT EDIT.

package control

// DeviceKind is a kind of software RDMA device, by its name in "rdma link add".
type DeviceKind string

// The devices that a machine can have.
const (
	NoDevice DeviceKind = ""
	RoCE     DeviceKind = "rxe"
	IWARP    DeviceKind = "siw"
)

// DeviceKinds are all kinds.
var DeviceKinds = []DeviceKind{RoCE, IWARP}

// KindVariable is the environment variable with the kind of the machine's device.
const KindVariable = "UDAT_TESTBED_DEVICE"

// Name returns the device's name in a machine.
func (d DeviceKind) Name() string { return string(d) + "0" }

// Adapters returns the names of the adapters over the device in a machine's dat.conf: that of the CMA provider and,
// except over iWARP, that of the socket provider, which cannot connect iWARP queue pairs.
func (d DeviceKind) Adapters() []string {
	names := []string{"ofa-v2-cma-" + d.Name()}
	if d == RoCE {
		names = append(names, "ofa-v2-scm-"+d.Name())
	}
	return names
}
