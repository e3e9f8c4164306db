package device

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Adapter is what the name of a device means: an entry of the registry.
type Adapter struct {
	Name         string // of the entry: "cma:eth0" or "scm:mlx5_0/1"
	Library      string // of the provider
	InstanceData string // the device, for the provider
	Reason       string // why it is that provider, "" if the name says which
}

func cmaAdapter(netInterface string) *Adapter {
	return &Adapter{Name: "cma:" + netInterface, Library: cmaLibrary, InstanceData: cmaInstance(netInterface)}
}

func scmAdapter(device string, port int) *Adapter {
	return &Adapter{Name: fmt.Sprintf("scm:%s/%d", device, port), Library: scmLibrary, InstanceData: scmInstance(device, port)}
}

// portOf finds the port that instance data name.
func (d *Device) portOf(port string) *Port {
	number, err := strconv.ParseInt(port, 0, 32)
	if err != nil || number < 1 || number > int64(len(d.Ports)) {
		return nil
	}
	return &d.Ports[number-1]
}

// FindAdapter reads the name of a device: "cma:" and a network interface, "scm:" and a device with
// or without a port, a network interface alone, which is for the CMA provider, or a device alone, for
// which it chooses one. It returns nil for a name that is none.
func FindAdapter(name string) (*Adapter, error) {
	kind, rest, found := strings.Cut(name, ":")
	switch {
	case found && kind == "cma":
		if rest == "" || strings.ContainsAny(rest, " \t\n/") {
			return nil, fmt.Errorf("the name %q must be cma: and a network interface, like cma:eth0", name)
		}
		return cmaAdapter(rest), nil
	case found && kind == "scm":
		device, port, found := strings.Cut(rest, "/")
		number := 0
		if found {
			number, _ = strconv.Atoi(port)
		}
		if device == "" || strings.ContainsAny(device, " \t\n") || found && (number < 1 || number > maxPort) {
			return nil, fmt.Errorf("the name %q must be scm: and a device, with or without a port, like scm:mlx5_0/1", name)
		}
		if !found {
			number = activePort(device)
		}
		return scmAdapter(device, number), nil
	}
	return choose(name), nil
}

const maxPort = 255

// activePort returns the first active port of a device, or else its first.
func activePort(device string) int {
	devices, _ := List()
	if d := findDevice(devices, device); d != nil {
		return d.activePort()
	}
	return 1
}

func (d *Device) activePort() int {
	for _, port := range d.Ports {
		if port.State == PortActive {
			return port.Number
		}
	}
	return 1
}

// choose finds the adapter of a device or a network interface. The socket CM provider would connect
// over another network than that of the interface.
func choose(name string) *Adapter {
	devices, _ := List() // without them the name may be that of an interface
	if d := findDevice(devices, name); d != nil {
		return d.adapter()
	}
	if _, err := net.InterfaceByName(name); err != nil {
		return nil
	}
	return cmaAdapter(name)
}

// adapter chooses a provider for the device: CMA where it can be used.
func (d *Device) adapter() *Adapter {
	chosen := func(a *Adapter, format string, args ...any) *Adapter {
		a.Reason = fmt.Sprintf(format, args...)
		return a
	}
	for _, active := range []bool{true, false} {
		for _, port := range d.Ports {
			for _, name := range port.Interfaces {
				if (port.State == PortActive) == active && hasAddress(name) {
					return chosen(cmaAdapter(name), "the network interface %s of the device %s has an address", name, d.Name)
				}
			}
		}
	}
	if d.Transport == TransportIWARP && len(d.Ports) > 0 && len(d.Ports[0].Interfaces) > 0 {
		return chosen(cmaAdapter(d.Ports[0].Interfaces[0]), "the device %s speaks iWARP", d.Name)
	}
	return chosen(scmAdapter(d.Name, d.activePort()), "no network interface of the device %s has an address: it connects over another network", d.Name)
}

// portOfInterface finds the device and the port that a network interface belongs to.
func portOfInterface(devices []Device, name string) (*Device, *Port) {
	for i := range devices {
		for j := range devices[i].Ports {
			if port := &devices[i].Ports[j]; slices.Contains(port.Interfaces, name) {
				return &devices[i], port
			}
		}
	}
	return nil, nil
}
