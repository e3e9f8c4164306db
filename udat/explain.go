package udat

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// Problem is a reason why an adapter does not open, a device cannot be used, or
// an object cannot be made: something about the machine that a user can put
// right. The library's codes do not tell, so udat looks for the reason itself.
// The Error of the call and a Device's Err match it with errors.Is.
// ProblemNoPermission matches fs.ErrPermission, too.
type Problem uint8

// The problems.
const (
	ProblemUnknown           Problem = iota // unknown problem
	ProblemNoEntry                          // no entry in the registry
	ProblemBadEntry                         // unusable entry in the registry
	ProblemNoLibrary                        // no library of the provider
	ProblemNoDevice                         // no such RDMA device
	ProblemNoDriver                         // no driver in libibverbs
	ProblemNoNode                           // no device file
	ProblemNoPermission                     // no permission
	ProblemNoPort                           // no such port
	ProblemPortDown                         // port not active
	ProblemWrongInterface                   // wrong network interface
	ProblemWrongProvider                    // wrong provider for the device
	ProblemNoAddress                        // no IPv4 address
	ProblemThreadLimit                      // no more threads
	ProblemMemlockLimit                     // limit on locked memory too low
	ProblemFileLimit                        // limit on open files too low
	ProblemReadOnlyMemory                   // read-only memory
	ProblemUnreadableMemory                 // unreadable memory
	ProblemUnmappedMemory                   // unmapped memory
	ProblemFileEnd                          // memory behind the end of its file
	ProblemUnpinnableFile                   // file that cannot be pinned
	ProblemNoRoom                           // no room on the device or in the kernel
	ProblemGroupLimit                       // limit of the control group reached
	ProblemRefusedAttributes                // attributes that the device refuses
	ProblemAddressGone                      // address that no interface has any more
	ProblemNoPorts                          // no free port
	ProblemCredentials                      // changed credentials of the process
	ProblemWrongLibrary                     // wrong native library
)

// Error returns the problem in a few words.
func (p Problem) Error() string { return p.String() }

// Is implements the matching of fs.ErrPermission.
func (p Problem) Is(target error) bool {
	return p == ProblemNoPermission && target == fs.ErrPermission
}

// explainOpenFailure makes the error of a dat_ia_open that failed: the code, and
// what a user can do. The first thing that is in the way is the one that is
// named. The caller holds registry.
func explainOpenFailure(op, name string, r cgo.Return, p *provider) error {
	reason := filesProblem() // before what looks into files
	if reason == nil {
		reason = findReason(name, p)
	}
	return explained(op, Return(r), reason)
}

// checkProvider refuses the socket CM provider on iWARP: it opens, and connects the
// queue pairs in a way that only InfiniBand and RoCE have.
func (ia *IA) checkProvider(op string) error {
	if !ia.iwarp || !ia.overTCP {
		return nil
	}
	return explained(op, classError|Return(ErrModelNotSupported), fmt.Errorf("%w: the socket CM provider cannot connect over iWARP, which the device %s speaks: open %[2]q, which is the CMA provider on it",
		ProblemWrongProvider, ia.attr.AdapterName))
}

// explained makes an error with a reason that has a Problem in it.
func explained(op string, r Return, reason error) error {
	return &Error{Op: op, Return: r, Detail: reason.Error(), Err: reason}
}

// findReason says why dat_ia_open failed.
func findReason(name string, p *provider) error {
	if p != nil {
		return explainDevice(p.instanceData, p.libraryName)
	}
	infos, err := configProviders()
	if err != nil {
		return err
	}
	entries := findConfigEntries(name)
	of := slices.DeleteFunc(slices.Clone(infos), func(i ProviderInfo) bool { return i.IAName != name })
	switch {
	case len(of) == 0:
		return explainUnknownName(name, infos)
	case !slices.ContainsFunc(of, ProviderInfo.opens):
		return fmt.Errorf("%w: the entry %q in %s must say u2.0 and nonthreadsafe", ProblemBadEntry, name, configFile())
	case len(entries) == 0:
		return fmt.Errorf("%w: the entry %q is not in %s: that has changed since the program started, or the library reads another file", ProblemUnknown, name, configFile())
	}
	return explainEntry(entries)
}

// opens reports whether dat_ia_open takes the entry.
func (i ProviderInfo) opens() bool {
	return i.VersionMajor == cgo.VersionMajor && i.VersionMinor == cgo.VersionMinor && !i.ThreadSafe
}

func explainUnknownName(name string, infos []ProviderInfo) error {
	devices, _ := Devices()
	if d, _ := portOfInterface(devices, name); d != nil {
		return interfaceElsewhere(d, name)
	}
	file := configFile()
	state := "which has " + enumerate(infos, func(i ProviderInfo) string { return i.IAName })
	if len(infos) == 0 {
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
	return fmt.Errorf("%w: that of the entry %q in %s cannot be loaded: %s", ProblemNoLibrary, entries[0].name, configFile(), loadFailure(entries[0].library, message))
}

// explainDevice explains why a provider did not open its device.
func explainDevice(instanceData, library string) error {
	target, port := splitInstance(instanceData)
	devices, err := Devices()
	if err != nil {
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
	case isSCM(library):
		err = explainSCM(devices, target, port)
	default: // of the same family, the device comes first
		err = explainPort(devices, target, port)
	}
	if err == nil {
		err = memlockProblem()
	}
	if err == nil {
		err = fmt.Errorf("%w: with DAPL_DBG_TYPE=0xffff and DAPL_DBG_DEST=2 the provider's messages go to syslog", ProblemUnknown)
	}
	return err
}

// explainCMA looks at what the CMA provider needs: the connection manager's
// device file, an interface with an IPv4 address, and that it is one of an RDMA
// device.
func explainCMA(devices []Device, target string) error {
	if err := cmp.Or(nodeProblem(connectionManagerNode), credentialsProblem(connectionManagerNode)); err != nil {
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
	return cmp.Or(interfaceProblem(d, port, i.Name), portProblem(d, port, i.Name))
}

// interfaceProblem looks at what the CMA provider needs of a network interface that the
// device says is its own.
func interfaceProblem(d *Device, port *Port, name string) error {
	i, err := net.InterfaceByName(name)
	switch {
	case err != nil || !port.owns(i):
		return interfaceElsewhere(d, name)
	case !ipv4(name).IsValid():
		return fmt.Errorf("%w: the network interface %s has none, and the CMA provider needs one: ip address add ADDRESS/BITS dev %[2]s", ProblemNoAddress, name)
	}
	return nil
}

func interfaceElsewhere(d *Device, netInterface string) error {
	return fmt.Errorf("%w: the device %s is on the %s of another network namespace: run the program in that, as a container does that uses the host's network, or move the interface to this one",
		ProblemWrongInterface, d.Name, netInterface)
}

// owns reports whether a network interface is the one that the port's GIDs name. A device
// can be used in other network namespaces than that of its interface, and they may have
// another of that name. The kernel makes a GID of the interface's hardware address, or of
// one of its IP addresses.
func (p *Port) owns(i *net.Interface) bool {
	mac := i.HardwareAddr
	if len(mac) != 6 {
		return true
	}
	id := []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]} // RFC 4291, appendix A
	addresses := addressesOf(i)
	named := false
	for _, gid := range p.GIDs {
		if gid.Interface != i.Name {
			continue
		}
		named = true
		raw := gid.Addr.As16()
		if bytes.HasSuffix(raw[:], id) || bytes.HasPrefix(raw[:], mac) || slices.Contains(addresses, gid.Addr.Unmap()) {
			return true
		}
	}
	return !named
}

// interfaceWith finds the interface that has an address.
func interfaceWith(address string) *net.Interface {
	want, err := netip.ParseAddr(address)
	if err != nil {
		return nil
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if slices.Contains(addressesOf(&i), want) {
			return &i
		}
	}
	return nil
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

// threadProblem reports that the provider could begin no thread. It has two threads for the first adapter of its own, one
// for each other, and one for time-outs.
func threadProblem() error {
	if errno := cgo.TryThread(); errno != 0 {
		return fmt.Errorf("%w: the provider needs some of its own: %w: raise the limit on the user's processes (ulimit -u) or that of the container or service (pids.max of the cgroup, TasksMax=)",
			ProblemThreadLimit, errno)
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
	if name := os.Getenv("DAPL_SCM_NETDEV"); name != "" {
		if !ipv4(name).IsValid() {
			return fmt.Errorf("%w: DAPL_SCM_NETDEV names %s, and there is no such network interface with one", ProblemNoAddress, name)
		}
		return err
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && ipv4(i.Name).IsValid() {
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

// Problems lists what is in the way of using the device: its Err, or what is
// wrong with its ports. Each error has a Problem in it.
func (d Device) Problems() []error {
	if d.Err != nil {
		return []error{d.Err}
	}
	var problems []error
	for i := range d.Ports {
		port := &d.Ports[i]
		if err := portProblem(&d, port, ""); err != nil {
			problems = append(problems, err)
		}
		switch {
		case len(port.Interfaces) == 0:
			problems = append(problems, fmt.Errorf("%w: port %d of %s has no network interface, and the CMA provider needs one", ProblemNoAddress, port.Number, d.Name))
		case !slices.ContainsFunc(port.Interfaces, func(name string) bool { return interfaceProblem(&d, port, name) == nil }):
			problems = append(problems, interfaceProblem(&d, port, port.Interfaces[0]))
		}
	}
	return problems
}

// portProblem says what to do about a port that is not active, nil if it is.
func portProblem(d *Device, port *Port, netInterface string) error {
	if port.State == PortActive {
		return nil
	}
	advice := "is the cable connected, and a subnet manager running?"
	if port.LinkLayer == LinkLayerEthernet {
		if netInterface == "" && len(port.Interfaces) > 0 {
			netInterface = port.Interfaces[0]
		}
		advice = fmt.Sprintf("is the cable connected? ip link set %s up", netInterface)
	}
	return fmt.Errorf("%w: port %d of %s is in the state %v (%v): %s", ProblemPortDown, port.Number, d.Name, port.State, port.PhysState, advice)
}

// memlockProblem holds a low limit on locked memory for the reason of a failure
// for which there is no better one: the drivers of many devices lock what they
// share with them.
func memlockProblem() error {
	const little = 1 << 20
	if limit := lockableMemory(); limit < little || lockedMemory() > limit-little {
		return lockedTooLittle(limit)
	}
	return nil
}

func lockedTooLittle(limit uint64) error {
	return fmt.Errorf("%w: this process may lock %d bytes and has locked %d: raise the limit (ulimit -l, memlock in /etc/security/limits.conf, LimitMEMLOCK= of a service)",
		ProblemMemlockLimit, limit, lockedMemory())
}

// lockedMemory returns the bytes that are registered with devices.
func lockedMemory() uint64 {
	kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(processStatus("VmPin"), " kB"), 10, 64)
	return kilobytes << 10
}

func processStatus(field string) string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
