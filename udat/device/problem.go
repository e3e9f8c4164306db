package device

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/problem"
)

// Problem is a reason why an adapter does not open, a device cannot be used, or
// an object cannot be made: something about the machine that a user can put
// right. The library's codes do not tell, so udat looks for the reason itself.
// The Error of the call and a Device's Err match it with errors.Is.
// ProblemNoPermission matches fs.ErrPermission, too.
type Problem = problem.Problem

// The problems.
const (
	ProblemUnknown           Problem = problem.Unknown           // unknown problem
	ProblemNoEntry           Problem = problem.NoEntry           // no entry in the registry
	ProblemBadEntry          Problem = problem.BadEntry          // unusable entry in the registry
	ProblemNoLibrary         Problem = problem.NoLibrary         // no library of the provider
	ProblemNoDevice          Problem = problem.NoDevice          // no such RDMA device
	ProblemNoDriver          Problem = problem.NoDriver          // no driver in libibverbs
	ProblemNoNode            Problem = problem.NoNode            // no device file
	ProblemNoPermission      Problem = problem.NoPermission      // no permission
	ProblemNoPort            Problem = problem.NoPort            // no such port
	ProblemPortDown          Problem = problem.PortDown          // port not active
	ProblemWrongInterface    Problem = problem.WrongInterface    // wrong network interface
	ProblemWrongProvider     Problem = problem.WrongProvider     // wrong provider for the device
	ProblemNoAddress         Problem = problem.NoAddress         // no address
	ProblemNoGID             Problem = problem.NoGID             // no usable GID
	ProblemThreadLimit       Problem = problem.ThreadLimit       // no more threads
	ProblemMemlockLimit      Problem = problem.MemlockLimit      // limit on locked memory too low
	ProblemFileLimit         Problem = problem.FileLimit         // limit on open files too low
	ProblemReadOnlyMemory    Problem = problem.ReadOnlyMemory    // read-only memory
	ProblemUnreadableMemory  Problem = problem.UnreadableMemory  // unreadable memory
	ProblemUnmappedMemory    Problem = problem.UnmappedMemory    // unmapped memory
	ProblemFileEnd           Problem = problem.FileEnd           // memory behind the end of its file
	ProblemUnpinnableFile    Problem = problem.UnpinnableFile    // file that cannot be pinned
	ProblemNoRoom            Problem = problem.NoRoom            // no room on the device or in the kernel
	ProblemGroupLimit        Problem = problem.GroupLimit        // limit of the control group reached
	ProblemRefusedAttributes Problem = problem.RefusedAttributes // attributes that the device refuses
	ProblemAddressGone       Problem = problem.AddressGone       // address that no interface has any more
	ProblemNoPorts           Problem = problem.NoPorts           // no free port
	ProblemCredentials       Problem = problem.Credentials       // changed credentials of the process
	ProblemWrongLibrary      Problem = problem.WrongLibrary      // wrong native library
)

// Problems lists what is in the way of using the device: its Err, or what is
// wrong with its ports. Each error has a Problem in it.
func (d Device) Problems() []error {
	if d.Err != nil {
		return []error{d.Err}
	}
	var problems []error
	for i := range d.Ports {
		port := &d.Ports[i]
		for _, err := range []error{portProblem(&d, port), gidProblem(&d, port)} {
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
func portProblem(d *Device, port *Port) error {
	if port.State == PortActive {
		return nil
	}
	advice := "is the cable connected, and a subnet manager running?"
	if port.LinkLayer == LinkLayerEthernet {
		netInterface := ""
		if len(port.Interfaces) > 0 {
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

// interfaceProblem looks at what the CMA provider needs of a network interface that the
// device says is its own.
func interfaceProblem(d *Device, port *Port, name string) error {
	i, err := net.InterfaceByName(name)
	if err != nil || !port.owns(i) {
		return fmt.Errorf("%w: the device %s is on the %s of another network namespace: run the program in that, as a container does that uses the host's network, or move the interface to this one",
			ProblemWrongInterface, d.Name, name)
	}
	err = machine.AddressProblem(i, netip.Addr{})
	if err != nil && d.Transport != TransportIWARP {
		err = fmt.Errorf("%w; or open %s, which connects over another network", err, datconf.SCM(d.Name, port.Number).Name)
	}
	return err
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
