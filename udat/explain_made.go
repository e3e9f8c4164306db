package udat

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
)

// checkMade is check for calls that make an object. What the kernel refuses
// because of a limit of a control group comes as an empty queue.
func checkMade(op string, r cgo.Return) error {
	switch r.Type() {
	case cgo.QueueEmpty:
		return explained(op, classError|Return(ErrInsufficientResources), device.GroupLimit())
	case cgo.InsufficientResources:
		return explained(op, Return(r), device.NoRoom())
	}
	return check(op, r)
}

// checkMade is checkMade for endpoints.
func (p *epParts) checkMade(op string, ia *IA, r cgo.Return) error {
	switch a := &p.attr; r.Type() {
	case cgo.InvalidAddress: // the connection manager could not bind the endpoint to the adapter's address
		if err := ia.addressGone(op); err != nil {
			return err
		}
		return explained(op, classError|Return(ErrInsufficientResources), fmt.Errorf("%w: each endpoint of the CMA provider takes one of net.ipv4.ip_local_port_range, "+
			"and all of %v seem to be taken: widen the range, or free endpoints, also in other processes", device.ProblemNoPorts, ia.attr.Address))
	case cgo.InvalidParameter:
		return explained(op, Return(r), fmt.Errorf("%w: each alone is within the limits, together MaxRecvDTOs %d, MaxRequestDTOs %d, MaxRecvIOV %d and MaxRequestIOV %d may be too much: "+
			"ask for less; does DAPL_MAX_INLINE ask for more than the device has? Or have all processes together its %d endpoints, MaxEPs (rdma resource show)?",
			device.ProblemRefusedAttributes, a.MaxRecvDTOs, a.MaxRequestDTOs, a.MaxRecvIOV, a.MaxRequestIOV, ia.attr.MaxEPs))
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
		"or close all adapters of this program whose provider is %q, and open again", device.ProblemAddressGone, address, ia.providerAttr.ProviderName))
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
	if err := device.ConnectionManager(); err != nil {
		return explained(op, classError|Return(ErrPrivilegesViolation), err)
	}
	return nil
}
