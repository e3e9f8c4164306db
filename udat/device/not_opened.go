package device

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// filesOfAdapter is enough files for an adapter, and for an attempt to open one: soft-RoCE takes up to 9.
const filesOfAdapter = 16

// WhyEntryNotOpened says why the library did not open an entry of the registry, of which known are
// the names, and usable tells whether the entries of that name are of a version that the library
// opens. The first thing that is in the way is the one that is named.
func WhyEntryNotOpened(name string, known []string, usable bool) error {
	if err := FileLimit(filesOfList); err != nil { // before what looks into files
		return err
	}
	entries := findConfigEntries(name)
	switch {
	case !slices.Contains(known, name):
		return explainUnknownName(name, known)
	case !usable:
		return fmt.Errorf("%w: the entry %q in %s must say u2.0 and nonthreadsafe", ProblemBadEntry, name, configFile())
	case len(entries) == 0:
		return fmt.Errorf("%w: the entry %q is not in %s: that has changed since the program started, or the library reads another file", ProblemUnknown, name, configFile())
	}
	return explainEntry(entries)
}

// WhyNotOpened says why a provider did not open its device.
func WhyNotOpened(library, instanceData string) error {
	if err := FileLimit(filesOfList); err != nil {
		return err
	}
	return explainDevice(instanceData, library)
}

// MissingPort says that the device of a socket CM provider does not have the port, nil if it does
// or is not known.
func MissingPort(library, instanceData string) error {
	if !IsSCM(library) {
		return nil
	}
	device, port := splitInstance(instanceData)
	devices, _ := List() // without them the provider will fail, too
	d := findDevice(devices, device)
	if d == nil || d.Err != nil || d.portOf(port) != nil {
		return nil
	}
	return portMissing(d, port)
}

func explainUnknownName(name string, known []string) error {
	devices, _ := List()
	if d, _ := portOfInterface(devices, name); d != nil {
		return interfaceElsewhere(d, name)
	}
	file := configFile()
	state := "which has " + enumerate(known, func(s string) string { return s })
	if len(known) == 0 {
		state = "which has no valid entry"
	}
	if text, err := os.ReadFile(file); err != nil {
		state = "which cannot be read: " + cause(err)
	} else if number, line := badConfigLine(string(text)); number > 0 {
		const longest = 60
		if len(line) > longest {
			line = line[:longest] + "..."
		}
		state += fmt.Sprintf(", and whose line %d is no entry of eight fields: %q", number, line)
	}
	here := "this machine has no RDMA device"
	if len(devices) > 0 {
		here = "the RDMA devices are " + enumerate(devices, func(d Device) string { return d.Name })
	}
	return fmt.Errorf("%w: %q is neither an entry of %q, %s, nor a device (%s), nor a network interface", ProblemNoEntry, name, file, state, here)
}

// cause leaves out of an error what the reader knows already.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// enumerate lists the first few.
func enumerate[T any](all []T, name func(T) string) string {
	const most = 6
	var names []string
	for i, one := range all {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		names = append(names, name(one))
	}
	return strings.Join(names, ", ")
}

// explainEntry explains why the entries of a name did not open. The library takes
// the first whose provider's library loads.
func explainEntry(entries []configEntry) error {
	for _, e := range entries {
		loaded, _ := cgo.DLOpen(e.library)
		if loaded == 0 {
			continue
		}
		defer cgo.DLClose(loaded)
		if !cgo.IsProvider(loaded) {
			return fmt.Errorf("%w: %s of the entry %q in %s is not the library of a provider", ProblemNoLibrary, e.library, e.name, configFile())
		}
		if device, port := splitInstance(e.parameters); device == "" || port == "" {
			return fmt.Errorf(`%w: the parameters "%s" of the entry %q in %s must be a device, a blank and a port`, ProblemBadEntry, e.parameters, e.name, configFile())
		}
		reason := explainDevice(e.parameters, e.library)
		for _, p := range []Problem{ProblemNoDevice, ProblemNoPort, ProblemWrongInterface} {
			if errors.Is(reason, p) {
				return fmt.Errorf("%w (the entry %q in %s)", reason, e.name, configFile())
			}
		}
		return reason
	}
	_, message := cgo.DLOpen(entries[0].library)
	return fmt.Errorf("%w: that of the entry %q in %s cannot be loaded: %s", ProblemNoLibrary, entries[0].name, configFile(), LoadFailure(entries[0].library, message))
}

// explainDevice explains why a provider did not open its device.
func explainDevice(instanceData, library string) error {
	target, port := splitInstance(instanceData)
	devices, err := List()
	switch {
	case errors.Is(err, ProblemFileLimit):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ProblemUnknown, err)
	}
	if len(devices) == 0 {
		return fmt.Errorf("%w: this machine has none, its driver is not loaded, or it belongs to another network namespace, as that of a container's host", ProblemNoDevice)
	}
	if err := threadProblem(); err != nil {
		return err
	}
	switch {
	case isCMA(library):
		err = explainCMA(devices, target)
	case IsSCM(library):
		err = explainSCM(devices, target, port)
	default: // of the same family, the device comes first
		err = explainPort(devices, target, port)
	}
	if err == nil { // it may be enough for the provider: it is a reason only where there is no other
		err = cmp.Or(FileLimit(filesOfAdapter), memlockProblem())
	}
	if err == nil {
		err = fmt.Errorf("%w: with DAPL_DBG_TYPE=0xffff and DAPL_DBG_DEST=2 the provider's messages go to syslog", ProblemUnknown)
	}
	return err
}

// explainCMA looks at what the CMA provider needs: the connection manager's
// device file, an interface with an address, and that it is one of an RDMA
// device.
func explainCMA(devices []Device, target string) error {
	if err := cmp.Or(nodeProblem(connectionManagerNode), ConnectionManager()); err != nil {
		return err
	}
	i, err := net.InterfaceByName(target)
	if err != nil {
		if d, _ := portOfInterface(devices, target); d != nil {
			return interfaceElsewhere(d, target)
		}
		if i = interfaceWith(target); i == nil {
			return fmt.Errorf("%w: there is no network interface %q; %s", ProblemWrongInterface, target, interfacesOf(devices))
		}
	}
	d, port := portOfInterface(devices, i.Name)
	if d == nil {
		if err := firstError(devices); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s is not the interface of an RDMA device; %s", ProblemWrongInterface, i.Name, interfacesOf(devices))
	}
	named, _ := netip.ParseAddr(target) // the zero Addr for the name of an interface
	return cmp.Or(interfaceProblem(d, port, i.Name), portProblem(d, port, i.Name), addressProblem(i, named.WithZone("").Unmap()))
}

// interfaceWith finds the interface that has an address.
func interfaceWith(address string) *net.Interface {
	want, err := netip.ParseAddr(address)
	if err != nil {
		return nil
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if slices.Contains(addressesOf(&i), want.WithZone("").Unmap()) {
			return &i
		}
	}
	return nil
}

// OtherFamily says which adapter of the network interface that has the address own has one of the other family.
func OtherFamily(own netip.Addr) string {
	i := interfaceWith(own.String())
	if i == nil {
		return ""
	}
	for _, a := range addressesOf(i) {
		if a.Is4() != own.Is4() && !a.IsLinkLocalUnicast() {
			return fmt.Sprintf(", or open %q", cmaAdapter(a.String()).Name)
		}
	}
	return fmt.Sprintf(", or give %s one of the other family, and open cma: with that", i.Name)
}

func interfacesOf(devices []Device) string {
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

func firstError(devices []Device) error {
	for _, d := range devices {
		if d.Err != nil {
			return d.Err
		}
	}
	return nil
}

// explainSCM looks at what the socket CM provider needs: the device and the
// port, and an address for the sockets, from whatever interface.
func explainSCM(devices []Device, device, port string) error {
	err := explainPort(devices, device, port)
	if err != nil && !errors.Is(err, ProblemPortDown) {
		return err
	}
	d := findDevice(devices, device)
	p := d.portOf(port)
	if named, ok := os.LookupEnv("DAPL_SCM_GID_INDEX"); ok {
		index, err := strconv.ParseInt(named, 0, 32)
		if err != nil || !slices.ContainsFunc(p.GIDs, func(gid GID) bool { return gid.Index == int(index) }) {
			return fmt.Errorf("%w: DAPL_SCM_GID_INDEX names %q, where port %s of %s has none: name another, or unset it", ProblemNoGID, named, port, device)
		}
	} else if err := gidProblem(d, p); err != nil {
		return err
	}
	if name := os.Getenv("DAPL_SCM_NETDEV"); name != "" {
		i, lookup := net.InterfaceByName(name)
		if lookup != nil {
			i = interfaceWith(name)
		}
		if i == nil || !hasAddress(i.Name) {
			return fmt.Errorf("%w: DAPL_SCM_NETDEV names %s, which is no network interface with one, and no address of this machine", ProblemNoAddress, name)
		}
		return err
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && hasAddress(i.Name) {
			return err
		}
	}
	return fmt.Errorf("%w: the socket provider needs one, and no network interface of this network namespace but the loopback one has it", ProblemNoAddress)
}

// explainPort looks for a device and its port.
func explainPort(devices []Device, device, port string) error {
	d := findDevice(devices, device)
	switch {
	case d == nil:
		hint := ""
		if of, port := portOfInterface(devices, device); of != nil {
			hint = fmt.Sprintf("; %s is a network interface, its device and port are %q", device, scmInstance(of.Name, port.Number))
		}
		return fmt.Errorf("%w: %q is none of %s%s", ProblemNoDevice, device, enumerate(devices, func(d Device) string { return d.Name }), hint)
	case d.Err != nil:
		return d.Err
	}
	p := d.portOf(port)
	if p == nil {
		return portMissing(d, port)
	}
	return portProblem(d, p, "")
}

func portMissing(d *Device, port string) error {
	return fmt.Errorf("%w: the device %s has no port %s, the last is %d", ProblemNoPort, d.Name, port, len(d.Ports))
}

// LoadFailure returns why a library was not loaded. Of one for another processor the
// loader says that there is no such file.
func LoadFailure(path, message string) string {
	const beside = "goudat's scripts/native builds the providers beside libdat2: deploy the whole folder, or name the file by its path"
	const ident = 20 // class, order of bytes and processor are in the first bytes of an ELF file
	var library, program [ident]byte
	if !strings.Contains(path, "/") || readStart(path, library[:]) != nil || readStart("/proc/self/exe", program[:]) != nil ||
		!bytes.HasPrefix(library[:], program[:4]) || slices.Equal(library[4:6], program[4:6]) && slices.Equal(library[18:], program[18:]) {
		return message + "; " + beside
	}
	return path + ": it is for another processor than this program; " + beside
}

// readStart fills the buffer with the first bytes of a file.
func readStart(path string, buffer []byte) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadFull(file, buffer)
	return err
}
