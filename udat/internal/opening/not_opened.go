package opening

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/machine"
)

// filesOfAdapter is enough files for an adapter, and for an attempt to open one: soft-RoCE takes up
// to 9.
const filesOfAdapter = 16

// WhyEntryNotOpened says why the library did not open an entry of the registry, of which known are
// the names, and usable tells whether the entries of that name are of a version that the library
// opens. The first thing that is in the way is the one that is named.
func WhyEntryNotOpened(name string, known []string, usable bool) error {
	if err := machine.FileLimit(machine.FilesOfList); err != nil { // before what looks into files
		return err
	}
	entries := datconf.Find(name)
	switch {
	case !slices.Contains(known, name):
		return explainUnknownName(name, known)
	case !usable:
		return fmt.Errorf("%w: the entry %q in %s must say u2.0 and nonthreadsafe", device.ProblemBadEntry, name, datconf.File())
	case len(entries) == 0:
		return fmt.Errorf("%w: the entry %q is not in %s: that has changed since the program started, or the library reads another file", device.ProblemUnknown, name, datconf.File())
	}
	return explainEntry(entries)
}

// MissingPort says that the device of a socket CM provider does not have the port, nil if it does
// or is not known.
func MissingPort(library, instanceData string) error {
	if !datconf.IsSCM(library) {
		return nil
	}
	name, port, _ := strings.Cut(instanceData, " ")
	devices, _ := device.List() // without them the provider will fail, too
	d := findDevice(devices, name)
	if d == nil || d.Err != nil || portOf(d, port) != nil {
		return nil
	}
	return portMissing(d, port)
}

func explainUnknownName(name string, known []string) error {
	devices, _ := device.List()
	if err := interfaceProblem(devices, name); err != nil {
		return err
	}
	file := datconf.File()
	state := "which has " + enumerate(known, func(s string) string { return s })
	if len(known) == 0 {
		state = "which has no valid entry"
	}
	if text, err := os.ReadFile(file); err != nil {
		state = "which cannot be read: " + cause(err)
	} else if number, line := datconf.BadLine(string(text)); number > 0 {
		const longest = 60
		if len(line) > longest {
			line = line[:longest] + "..."
		}
		state += fmt.Sprintf(", and whose line %d is no entry of eight fields: %q", number, line)
	}
	here := "this machine has no RDMA device"
	if len(devices) > 0 {
		here = "the RDMA devices are " + enumerate(devices, func(d device.Device) string { return d.Name })
	}
	return fmt.Errorf("%w: %q is neither an entry of %q, %s, nor a device (%s), nor a network interface", device.ProblemNoEntry, name, file, state, here)
}

// explainEntry explains why the entries of a name did not open. The library takes
// the first whose provider's library loads.
func explainEntry(entries []datconf.Entry) error {
	for _, e := range entries {
		loaded, _ := cgo.DLOpen(e.Library)
		if loaded == 0 {
			continue
		}
		defer cgo.DLClose(loaded)
		if !cgo.IsProvider(loaded) {
			return fmt.Errorf("%w: %s of the entry %q in %s is not the library of a provider", device.ProblemNoLibrary, e.Library, e.Name, datconf.File())
		}
		if target, port, _ := strings.Cut(e.InstanceData, " "); target == "" || port == "" {
			return fmt.Errorf(`%w: the parameters "%s" of the entry %q in %s must be a device, a blank and a port`, device.ProblemBadEntry, e.InstanceData, e.Name, datconf.File())
		}
		reason := WhyNotOpened(e.Library, e.InstanceData)
		for _, p := range []device.Problem{device.ProblemNoDevice, device.ProblemNoPort, device.ProblemWrongInterface} {
			if errors.Is(reason, p) {
				return fmt.Errorf("%w (the entry %q in %s)", reason, e.Name, datconf.File())
			}
		}
		return reason
	}
	_, message := cgo.DLOpen(entries[0].Library)
	return fmt.Errorf("%w: that of the entry %q in %s cannot be loaded: %s", device.ProblemNoLibrary, entries[0].Name, datconf.File(), LoadFailure(entries[0].Library, message))
}

// WhyNotOpened says why a provider did not open its device.
func WhyNotOpened(library, instanceData string) error {
	target, port, _ := strings.Cut(instanceData, " ")
	devices, err := device.List()
	switch {
	case errors.Is(err, device.ProblemFileLimit):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", device.ProblemUnknown, err)
	}
	if len(devices) == 0 {
		return fmt.Errorf("%w: this machine has none, its driver is not loaded, or it belongs to another network namespace, as that of a container's host", device.ProblemNoDevice)
	}
	if err := machine.ThreadProblem(); err != nil {
		return err
	}
	switch {
	case datconf.IsCMA(library):
		err = explainCMA(devices, target)
	case datconf.IsSCM(library):
		err = explainSCM(devices, target, port)
	default: // of the same family, the device comes first
		err = explainPort(devices, target, port)
	}
	if err == nil { // it may be enough for the provider: it is a reason only where there is no other
		err = cmp.Or(machine.FileLimit(filesOfAdapter), machine.MemlockProblem())
	}
	if err == nil {
		err = fmt.Errorf("%w: with DAPL_DBG_TYPE=0xffff and DAPL_DBG_DEST=2 the provider's messages go to syslog", device.ProblemUnknown)
	}
	return err
}

// explainCMA looks at what the CMA provider needs: the connection manager's device file, an
// interface with an address, and that it is one of an RDMA device.
func explainCMA(devices []device.Device, target string) error {
	if err := cmp.Or(machine.NodeProblem(machine.ConnectionManagerNode), machine.Credentials(machine.ConnectionManagerNode)); err != nil {
		return err
	}
	i, unusable := interfaceOf(target)
	if i == nil {
		return cmp.Or(unusable, interfaceProblem(devices, target),
			fmt.Errorf("%w: there is no network interface %q, and none with that address; %s", device.ProblemWrongInterface, target, interfacesOf(devices)))
	}
	if d, _ := portOfInterface(devices, i.Name); d == nil {
		if i := slices.IndexFunc(devices, func(d device.Device) bool { return d.Err != nil }); i >= 0 {
			return devices[i].Err
		}
		return fmt.Errorf("%w: %s is not the interface of an RDMA device; %s", device.ProblemWrongInterface, i.Name, interfacesOf(devices))
	}
	return cmp.Or(unusable, interfaceProblem(devices, i.Name))
}

// interfaceOf returns the network interface that a name or an address means, nil for none, and why
// the address cannot be that of an adapter.
func interfaceOf(named string) (*net.Interface, error) {
	if i, err := net.InterfaceByName(named); err == nil {
		return i, nil
	}
	address, err := netip.ParseAddr(named)
	switch {
	case err != nil:
		return nil, nil
	case address.Zone() != "" && !address.IsLinkLocalUnicast():
		return nil, fmt.Errorf("%w: %v has a zone, which only a link-local address may have: name %v", device.ProblemWrongInterface, address, address.WithZone("").Unmap())
	case address.Is6() && !address.IsLinkLocalUnicast() && !address.IsGlobalUnicast():
		return nil, fmt.Errorf("%w: no adapter has the address %v: name that of its interface", device.ProblemWrongInterface, address)
	}
	with, _ := machine.InterfacesWith(address)
	switch len(with) {
	case 0:
		return nil, nil
	case 1:
		return &with[0], machine.AddressProblem(&with[0], address.WithZone("").Unmap())
	}
	return nil, fmt.Errorf("%w: %s have the address %v: name its zone, as in %[3]v%%%s", device.ProblemWrongInterface,
		enumerate(with, func(i net.Interface) string { return i.Name }), address, with[0].Name)
}

// OtherFamily says which adapter of the network interface that has the address own has one of the
// other family.
func OtherFamily(own netip.Addr) string {
	with, _ := machine.InterfacesWith(own)
	if len(with) == 0 {
		return ""
	}
	for _, a := range machine.Addresses(&with[0]) {
		if a.Is4() != own.Is4() && !a.IsLinkLocalUnicast() && machine.AddressProblem(&with[0], a) == nil {
			return fmt.Sprintf(", or open %q", datconf.CMA(a.String()).Name)
		}
	}
	return fmt.Sprintf(", or add an address of the other family to %s, and open cma: with that", with[0].Name)
}

func interfacesOf(devices []device.Device) string {
	var all []string
	for _, d := range devices {
		for _, port := range d.Ports {
			for _, name := range port.Interfaces {
				all = append(all, name+" of "+d.Name)
			}
		}
	}
	if len(all) == 0 {
		return "no network interface belongs to an RDMA device"
	}
	return "those of RDMA devices are " + enumerate(all, func(s string) string { return s })
}

// explainSCM looks at what the socket CM provider needs: the device and the
// port, and an address for the sockets, from whatever interface.
func explainSCM(devices []device.Device, name, port string) error {
	err := explainPort(devices, name, port)
	if err != nil && !errors.Is(err, device.ProblemPortDown) {
		return err
	}
	d := findDevice(devices, name)
	p := portOf(d, port)
	if named, ok := os.LookupEnv("DAPL_SCM_GID_INDEX"); ok {
		index, err := strconv.ParseInt(named, 0, 32)
		if err != nil || !slices.ContainsFunc(p.GIDs, func(gid device.GID) bool { return gid.Index == int(index) }) {
			return fmt.Errorf("%w: DAPL_SCM_GID_INDEX names %q, where port %s of %s has none: name another, or unset it", device.ProblemNoGID, named, port, name)
		}
	} else if err := problemOf(d, *p, device.ProblemNoGID); err != nil {
		return err
	}
	if named, ok := os.LookupEnv("DAPL_SCM_NETDEV"); ok {
		i, unusable := interfaceOf(named)
		if unusable != nil {
			return fmt.Errorf("%w (DAPL_SCM_NETDEV names it)", unusable)
		}
		if i == nil || !hasAddress(i.Name) {
			return fmt.Errorf("%w: DAPL_SCM_NETDEV names %q, which is no network interface with one, and no address of this machine", device.ProblemNoAddress, named)
		}
		return err
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && hasAddress(i.Name) {
			return err
		}
	}
	return fmt.Errorf("%w: the socket provider needs one, and no network interface of this network namespace but the loopback one has it", device.ProblemNoAddress)
}

// explainPort looks for a device and its port.
func explainPort(devices []device.Device, name, port string) error {
	d := findDevice(devices, name)
	switch {
	case d == nil:
		hint := ""
		if of, port := portOfInterface(devices, name); of != nil {
			hint = fmt.Sprintf("; %s is a network interface, its device and port are %q", name, datconf.SCM(of.Name, port.Number).InstanceData)
		}
		return fmt.Errorf("%w: %q is none of %s%s", device.ProblemNoDevice, name, enumerate(devices, func(d device.Device) string { return d.Name }), hint)
	case d.Err != nil:
		return d.Err
	}
	p := portOf(d, port)
	if p == nil {
		return portMissing(d, port)
	}
	return problemOf(d, *p, device.ProblemPortDown)
}

func portMissing(d *device.Device, port string) error {
	return fmt.Errorf("%w: the device %s has no port %s, the last is %d", device.ProblemNoPort, d.Name, port, len(d.Ports))
}

// interfaceProblem looks at a network interface of one of the devices, and at its port.
func interfaceProblem(devices []device.Device, name string) error {
	d, port := portOfInterface(devices, name)
	if d == nil {
		return nil
	}
	one := *port
	one.Interfaces = []string{name}
	return problemOf(d, one, device.ProblemWrongInterface, device.ProblemNoAddress, device.ProblemPortDown)
}

// problemOf returns the first of these problems that the device has if that port is its only one.
func problemOf(d *device.Device, port device.Port, kinds ...device.Problem) error {
	one := *d
	one.Ports = []device.Port{port}
	problems := one.Problems()
	for _, kind := range kinds {
		if i := slices.IndexFunc(problems, func(err error) bool { return errors.Is(err, kind) }); i >= 0 {
			return problems[i]
		}
	}
	return nil
}
