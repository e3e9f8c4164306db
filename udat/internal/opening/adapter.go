// Package opening finds what the name of an adapter means, and why one does not open. Its tests are
// those of udat/device, which open adapters.
package opening

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/machine"
)

// Adapter is what the name of a device means.
type Adapter struct {
	datconf.Entry
	Reason string // why it is that provider, "" if the name says which
}

// FindAdapter reads the name of a device: "cma:" and a network interface, "scm:" and a device with
// or without a port, a network interface alone, which is for the CMA provider, or a device alone,
// for which it chooses one. It returns nil for a name that is none.
func FindAdapter(name string) (*Adapter, error) {
	kind, rest, found := strings.Cut(name, ":")
	switch {
	case found && kind == "cma":
		if rest == "" || strings.ContainsAny(rest, " \t\n/") {
			return nil, fmt.Errorf("the name %q must be cma: and a network interface, like cma:eth0", name)
		}
		return &Adapter{Entry: datconf.CMA(rest)}, nil
	case found && kind == "scm":
		const maxPort = 255
		rdma, port, found := strings.Cut(rest, "/")
		number, _ := strconv.Atoi(port)
		if rdma == "" || strings.ContainsAny(rdma, " \t\n") || found && (number < 1 || number > maxPort) {
			return nil, fmt.Errorf("the name %q must be scm: and a device, with or without a port, like scm:mlx5_0/1", name)
		}
		if !found {
			devices, _ := device.List()
			number = activePort(findDevice(devices, rdma))
		}
		return &Adapter{Entry: datconf.SCM(rdma, number)}, nil
	}
	return choose(name), nil
}

// activePort returns the first active port of a device, or else its first. nil is a device that is
// not there.
func activePort(d *device.Device) int {
	if d != nil {
		for _, port := range d.Ports {
			if port.State == device.PortActive {
				return port.Number
			}
		}
	}
	return 1
}

// choose finds the adapter of a device or a network interface. The socket CM provider would connect
// over another network than that of the interface.
func choose(name string) *Adapter {
	devices, _ := device.List() // without them the name may be that of an interface
	if d := findDevice(devices, name); d != nil {
		return adapterOf(d)
	}
	if _, err := net.InterfaceByName(name); err != nil {
		return nil
	}
	return &Adapter{Entry: datconf.CMA(name)}
}

// adapterOf chooses a provider for the device: CMA where it can be used.
func adapterOf(d *device.Device) *Adapter {
	for _, active := range []bool{true, false} {
		for _, port := range d.Ports {
			for _, name := range port.Interfaces {
				if (port.State == device.PortActive) == active && hasAddress(name) {
					return &Adapter{datconf.CMA(name), fmt.Sprintf("the network interface %s of the device %s has an address", name, d.Name)}
				}
			}
		}
	}
	if d.Transport == device.TransportIWARP && len(d.Ports) > 0 && len(d.Ports[0].Interfaces) > 0 {
		return &Adapter{datconf.CMA(d.Ports[0].Interfaces[0]), fmt.Sprintf("the device %s speaks iWARP", d.Name)}
	}
	return &Adapter{datconf.SCM(d.Name, activePort(d)), fmt.Sprintf("no network interface of the device %s has an address: it connects over another network", d.Name)}
}

// hasAddress reports whether a network interface has an address that programs can use.
func hasAddress(name string) bool {
	i, err := net.InterfaceByName(name)
	return err == nil && machine.AddressProblem(i, netip.Addr{}) == nil
}

func findDevice(devices []device.Device, name string) *device.Device {
	i := slices.IndexFunc(devices, func(d device.Device) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &devices[i]
}

// portOf finds the port that instance data name.
func portOf(d *device.Device, port string) *device.Port {
	number, err := strconv.ParseInt(port, 0, 32)
	if err != nil || number < 1 || number > int64(len(d.Ports)) {
		return nil
	}
	return &d.Ports[number-1]
}

// portOfInterface finds the device and the port that a network interface belongs to.
func portOfInterface(devices []device.Device, name string) (*device.Device, *device.Port) {
	for i := range devices {
		for j := range devices[i].Ports {
			if port := &devices[i].Ports[j]; slices.Contains(port.Interfaces, name) {
				return &devices[i], port
			}
		}
	}
	return nil, nil
}
