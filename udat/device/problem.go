package device

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
	ProblemNoAddress                        // no address
	ProblemNoGID                            // no usable GID
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

// Problems lists what is in the way of using the device: its Err, or what is
// wrong with its ports. Each error has a Problem in it.
func (d Device) Problems() []error {
	if d.Err != nil {
		return []error{d.Err}
	}
	var problems []error
	for i := range d.Ports {
		port := &d.Ports[i]
		for _, err := range []error{portProblem(&d, port, ""), gidProblem(&d, port)} {
			if err != nil {
				problems = append(problems, err)
			}
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

// gidProblem says that a port of RoCE has no GID, which is its address there; nil otherwise.
func gidProblem(d *Device, port *Port) error {
	if d.Transport != TransportInfiniBand || port.LinkLayer != LinkLayerEthernet || len(port.GIDs) > 0 {
		return nil
	}
	return fmt.Errorf("%w: the table of port %d of %s has none: add an address to its network interface; in a container, move the interface into it, or use the host's network",
		ProblemNoGID, port.Number, d.Name)
}

// nodeProblem says why a device file cannot be used, nil if it can.
func nodeProblem(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case err == nil:
		file.Close()
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: you may not read and write %s: change its mode or its group, or be root", ProblemNoPermission, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no %s: load the kernel modules ib_uverbs and rdma_ucm; pass %s into a container", ProblemNoNode, path, nodesFolder)
	}
	return cmp.Or(fileLimit(err, "it cannot open "+path), fmt.Errorf("%w: %w", ProblemUnknown, err))
}

// interfaceProblem looks at what the CMA provider needs of a network interface that the
// device says is its own.
func interfaceProblem(d *Device, port *Port, name string) error {
	i, err := net.InterfaceByName(name)
	if err != nil || !port.owns(i) {
		return interfaceElsewhere(d, name)
	}
	if err := addressProblem(i, netip.Addr{}); err != nil {
		return fmt.Errorf("%w%s", err, d.overTCP(port))
	}
	return nil
}

// overTCP names the adapter of a port that needs no address of its own.
func (d *Device) overTCP(port *Port) string {
	if d.Transport == TransportIWARP {
		return ""
	}
	return "; or open " + scmAdapter(d.Name, port.Number).Name + ", which connects over another network"
}

func interfaceElsewhere(d *Device, netInterface string) error {
	return fmt.Errorf("%w: the device %s is on the %s of another network namespace: run the program in that, as a container does that uses the host's network, or move the interface to this one",
		ProblemWrongInterface, d.Name, netInterface)
}

// owns reports whether a network interface is the one that the port's GIDs name. A device
// can be used in other network namespaces than that of its interface, and they may have
// another of that name.
func (p *Port) owns(i *net.Interface) bool {
	named := func(gid GID) bool { return gid.Interface == i.Name }
	of := gidsOf(i)
	return len(i.HardwareAddr) != 6 || !slices.ContainsFunc(p.GIDs, named) ||
		slices.ContainsFunc(p.GIDs, func(gid GID) bool { return named(gid) && of(gid) })
}

// gidsOf returns whether the kernel may have made a GID for a network interface of Ethernet: of its
// hardware address, or of one of its IP addresses.
func gidsOf(i *net.Interface) func(GID) bool {
	mac := i.HardwareAddr
	if len(mac) != 6 {
		return func(GID) bool { return false }
	}
	id := []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]} // RFC 4291, appendix A
	addresses := addressesOf(i)
	return func(gid GID) bool {
		raw := gid.Addr.As16()
		return bytes.HasSuffix(raw[:], id) || bytes.HasPrefix(raw[:], mac) || slices.Contains(addresses, gid.Addr.Unmap())
	}
}
