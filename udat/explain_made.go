package udat

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// checkMade is check for calls that make an object. What the kernel refuses
// because of a limit of a control group comes as an empty queue.
func checkMade(op string, r cgo.Return) error {
	switch r.Type() {
	case cgo.QueueEmpty:
		return explained(op, classError|Return(ErrInsufficientResources), groupLimit())
	case cgo.InsufficientResources:
		return explained(op, Return(r), noRoom())
	}
	return check(op, r)
}

// groupLimit is the problem behind an EAGAIN of the kernel.
func groupLimit() error {
	return cmp.Or(groupProblem(), fmt.Errorf("%w: a control group of this process (see /proc/self/cgroup) has reached its rdma.max: raise that, "+
		"or free objects, also in other processes of the group", ProblemGroupLimit))
}

// groupProblem reports a control group of the process that has as many objects of an RDMA
// device as it may have. The library's codes mostly do not tell.
func groupProblem() error {
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(fields) < 3 || fields[1] != "" && fields[1] != "rdma" {
			continue
		}
		top := filepath.Join("/sys/fs/cgroup", fields[1])
		for folder := filepath.Join(top, fields[2]); strings.HasPrefix(folder, top+"/"); folder = filepath.Dir(folder) {
			most := groupCounts(filepath.Join(folder, "rdma.max"))
			for what, n := range groupCounts(filepath.Join(folder, "rdma.current")) {
				if limit, limited := most[what]; limited && n >= limit {
					return fmt.Errorf("%w: the processes of the group have %s=%d: raise that in %s/rdma.max, or free objects", ProblemGroupLimit, what, n, folder)
				}
			}
		}
	}
	return nil
}

// groupCounts reads lines like "mlx5_0 hca_handle=2 hca_object=max", without what has no limit.
func groupCounts(file string) map[string]int {
	counts := make(map[string]int)
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, field := range fields[min(1, len(fields)):] {
			name, value, _ := strings.Cut(field, "=")
			if n, err := strconv.Atoi(value); err == nil {
				counts[fields[0]+" "+name] = n
			}
		}
	}
	return counts
}

// noRoom looks for the reason why the device or the kernel has no room for an object.
func noRoom() error {
	return cmp.Or(credentialsProblem(nodesFolder), groupProblem(), memlockProblem(), fmt.Errorf(
		"%w: ask for shorter queues and fewer segments, or free objects, also in other processes (rdma resource show); "+
			"a limit on memory may be too low (ulimit -v, memory.max of the control group, vm.max_map_count)", ProblemNoRoom))
}

// checkMade is checkMade for endpoints.
func (p *epParts) checkMade(op string, ia *IA, r cgo.Return) error {
	switch a := &p.attr; r.Type() {
	case cgo.InvalidAddress: // the connection manager could not bind the endpoint to the adapter's address
		if err := ia.addressGone(op); err != nil {
			return err
		}
		return explained(op, classError|Return(ErrInsufficientResources), fmt.Errorf("%w: each endpoint of the CMA provider takes one of net.ipv4.ip_local_port_range, "+
			"and all of %v seem to be taken: widen the range, or free endpoints, also in other processes", ProblemNoPorts, ia.attr.Address))
	case cgo.InvalidParameter:
		return explained(op, Return(r), fmt.Errorf("%w: each alone is within the limits, together MaxRecvDTOs %d, MaxRequestDTOs %d, MaxRecvIOV %d and MaxRequestIOV %d may be too much: "+
			"ask for less; does DAPL_MAX_INLINE ask for more than the device has? Or have all processes together its %d endpoints, MaxEPs (rdma resource show)?",
			ProblemRefusedAttributes, a.MaxRecvDTOs, a.MaxRequestDTOs, a.MaxRecvIOV, a.MaxRequestIOV, ia.attr.MaxEPs))
	}
	if err := p.checkRoom(op, r); err != nil {
		return err
	}
	return checkMade(op, r)
}

// checkRoom explains that a shared queue has more receives than the EVD has room for.
func (p *epParts) checkRoom(op string, r cgo.Return) error {
	if r.Type() != cgo.InsufficientResources || r.Subtype() != cgo.ResourceTEVD {
		return nil
	}
	return refuse(op, ErrInsufficientResources, ResourceTEVD, "the receives that are posted to the shared queue have no room on the receive event dispatcher: "+
		"make it longer with Resize, or take completions")
}

// addressGone is the error of a call that fails because the address of the adapter has gone.
// The library reads the address when it opens the device, and keeps both for all adapters of
// a name.
func (ia *IA) addressGone(op string) error {
	address := ia.attr.Address
	addresses, err := net.InterfaceAddrs()
	if err != nil || !address.Is4() || slices.ContainsFunc(addresses, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err != nil || prefix.Addr() == address
	}) {
		return nil
	}
	return explained(op, classError|Return(ErrInvalidAddress), fmt.Errorf("%w: the adapter uses %v, its address when it was first opened, and no network interface has that any more: add it again (ip address add), "+
		"or close all adapters of this program whose provider is %q, and open again", ProblemAddressGone, address, ia.providerAttr.ProviderName))
}

// checkOpened refuses an adapter that opens and can neither listen nor connect, since the
// library has opened its device before.
func (ia *IA) checkOpened(op string) error {
	if err := ia.addressGone(op); err != nil {
		return err
	}
	if ia.overTCP {
		return nil
	}
	if err := credentialsProblem(connectionManagerNode); err != nil {
		return explained(op, classError|Return(ErrPrivilegesViolation), err)
	}
	return nil
}
