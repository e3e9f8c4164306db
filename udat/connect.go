package udat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"syscall"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/opening"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// TimeoutInfinite is a time-out that never ends.
const TimeoutInfinite time.Duration = math.MaxInt64

// longestTimeout is the longest time that the library counts.
const longestTimeout = (math.MaxUint32 - 1) * time.Microsecond

// microseconds returns a time-out as the library has it, rounded up.
func microseconds(timeout time.Duration) uint32 {
	if timeout == TimeoutInfinite {
		return cgo.TimeoutInfinite
	}
	return uint32((min(timeout, longestTimeout) + time.Microsecond - 1) / time.Microsecond)
}

// Connect asks the service that listens on qual at the adapter with the address remote for a
// connection, and sends privateData along. The outcome is one of these events on the connect EVD,
// which begin with EventConnection: Established, NonPeerRejected (nobody listens, or a queue of
// requests is full), PeerRejected (by the program there), Unreachable, TimedOut (no answer within
// timeout), Broken (the connection manager of a side failed).
//
// The endpoint must be UNCONNECTED, and timeout positive. remote must be a unicast address, with
// CMA of the family of the adapter's, and no loopback address; socket CM takes 127.0.0.1. A
// link-local address without a zone is on the adapter's network. If the kernel refuses the address,
// Connect with socket CM fails with ErrInvalidAddress and the kernel's reason, such as
// syscall.ENETUNREACH; with CMA that is an event. ProviderAttr.MaxPrivateDataSize limits
// privateData; CMA pads it to that.
//
//	Implements: DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_IA_ADDRESS_PTR remote_ia_address, IN DAT_CONN_QUAL remote_conn_qual,
//	    IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data,
//	    IN DAT_QOS quality_of_service, IN DAT_CONNECT_FLAGS connect_flags)
func (ep *EP) Connect(remote netip.Addr, qual ConnQual, timeout time.Duration, privateData []byte) error {
	const op = "dat_ep_connect"
	remote = remote.Unmap()
	switch {
	case ep == nil:
		return objectOf(ep).unusable(op, InvalidHandleEP)
	case !remote.IsValid() || remote.IsUnspecified():
		return refuse(op, ErrInvalidAddress, InvalidAddressMalformed, "the address is %v: use that of the peer's adapter, see IAAttr.Address", remote)
	case remote.IsMulticast():
		return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "the address is %v, it must be a unicast address", remote)
	}
	if err := qual.check(op, InvalidArg3); err != nil {
		return err
	}
	return ep.connect(op, timeout, InvalidArg4, privateData, InvalidArg5, func() error {
		if remote.IsLoopback() && !ep.ia.overTCP && !ep.ia.attr.Address.IsLoopback() { // CMA would ask the peer in vain
			return noAdapterHas(op, remote)
		}
		address := cgo.NewSockAddr(remote)
		if !address.Addr().IsValid() {
			return refuse(op, ErrInvalidAddress, InvalidAddressMalformed, "the address is %v, and there is no network interface %q: leave the zone out, which means the adapter's network", remote, remote.Zone())
		}
		r := cgo.EPConnect(ep.handle, &address, uint64(qual), microseconds(timeout), privateData, cgo.QOSBestEffort, cgo.ConnectDefault)
		// The code is the same without an address of the family and without a free port.
		if r.Type() == cgo.InvalidAddress || r.Type() == cgo.InsufficientResources && errors.Is(tryAddress(remote), syscall.EADDRNOTAVAIL) {
			return ep.ia.explainAddress(op, remote, r)
		}
		return checkFile(op, r, ep.ia.overTCP)
	})
}

// connect is Connect and DupConnect. The subtypes are those of errors of the arguments before them.
func (ep *EP) connect(op string, timeout time.Duration, timeoutArg ReturnSubtype, privateData []byte, dataArg ReturnSubtype, native func() error) (err error) {
	if timeout <= 0 {
		return refuse(op, ErrInvalidParameter, timeoutArg, "the time-out is %v, it must be positive: TimeoutInfinite waits forever", timeout)
	}
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	if err := ep.ia.checkPrivateData(op, privateData, dataArg); err != nil {
		return err
	}
	if err := ep.requireConnectable(op, EPStateUnconnected); err != nil {
		return err
	}
	defer ep.shadow.Begin(shadow.Call(op)).End(&err)
	return ep.ia.counters.Load().attempt(ep, native)
}

// explainAddress adds what the kernel says of an address that the library refused. CMA refuses one
// only while the interface of the adapter is down.
func (ia *IA) explainAddress(op string, address netip.Addr, r cgo.Return) error {
	if own := ia.attr.Address; !ia.overTCP && address.Is4() != own.Is4() {
		return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "the address is %v, and the adapter's %v: use an address of the peer that is of the same family%s", address, own, opening.OtherFamily(own))
	}
	if address == netip.IPv6Loopback() {
		return noAdapterHas(op, address)
	}
	subtype, refusal := ReturnSubtype(r.Subtype()), tryAddress(address)
	// tryAddress asks for UDP, and a moment later: both may succeed where the connect failed.
	detail := fmt.Sprintf("the provider could not begin to connect to %v: try again, and look for a network interface that is down, or a packet filter", address)
	switch {
	case errors.Is(refusal, syscall.EACCES):
		subtype = InvalidAddressUnsupported
		detail = fmt.Sprintf("%v is a broadcast address (%v): use the address of a peer's adapter", address, refusal)
	case errors.Is(refusal, syscall.EADDRNOTAVAIL):
		subtype = InvalidAddressUnreachable
		detail = fmt.Sprintf("the kernel cannot send to %v (%v): no network interface has an address from which to: ip address add", address, refusal)
	case !ia.overTCP && ia.notInZone(address.Zone()):
		detail = fmt.Sprintf("%v is on the network of %s, and the adapter is not: leave the zone out, or open an adapter of that interface", address, address.Zone())
	case refusal != nil:
		detail = fmt.Sprintf("the kernel cannot send to %v (%v): is it the address of the peer's adapter? ip route get %v shows the route", address, refusal, address.WithZone(""))
	}
	return logged(&Error{Op: op, Return: classError | Return(ErrInvalidAddress) | Return(subtype), Detail: detail, Err: refusal})
}

func noAdapterHas(op string, address netip.Addr) error {
	return refuse(op, ErrInvalidAddress, InvalidAddressUnsupported, "no adapter has the address %v: use IAAttr.Address", address)
}

// notInZone reports that the interface of a zone does not have the adapter's address.
func (ia *IA) notInZone(zone string) bool {
	with, err := machine.InterfacesWith(ia.attr.Address.WithZone(zone))
	return zone != "" && err == nil && len(with) == 0
}

// DupConnect is Connect to the service of another connected endpoint of the adapter. That endpoint
// must have called Connect: the provider does not know the service of an accepted connection.
//
//	Implements: DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_HANDLE ep_dup_handle, IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
//	    IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service)
func (ep *EP) DupConnect(from *EP, timeout time.Duration, privateData []byte) error {
	const op = "dat_ep_dup_connect"
	if err := objectOf(ep).usable(op, InvalidHandleEP); err != nil {
		return err
	}
	if err := objectOf(from).usable(op, InvalidHandleEP); err != nil {
		return err
	}
	return ep.connect(op, timeout, InvalidArg3, privateData, InvalidArg4, func() error {
		if err := objectOf(from).enter(op, InvalidHandleEP); err != nil {
			return err
		}
		defer from.obj.Leave()
		if err := from.obj.requireAdapterOf(&ep.obj, op, InvalidHandleEP); err != nil {
			return err
		}
		if err := from.requireState(op, EPStateConnected); err != nil {
			return err
		}
		r := cgo.EPDupConnect(ep.handle, from.handle, microseconds(timeout), privateData, cgo.QOSBestEffort)
		if r.Type() == cgo.InvalidParameter {
			return refuse(op, ErrInvalidParameter, InvalidArg2, "the connection of the other endpoint was accepted: it is not known where its peer listens: use Connect")
		}
		return checkFile(op, r, ep.ia.overTCP)
	})
}

// ConnectAndWait calls Connect and waits for the outcome on the connect EVD. No other endpoint or
// wait may use that EVD meanwhile. ConnectAndWait returns the private data of the peer's answer. If
// there is no connection, the error is an *EventError; Reset the endpoint before it connects again.
// If ctx ends first, ConnectAndWait disconnects the endpoint abruptly and returns the context's
// error. The event of that follows on the connect EVD.
func (ep *EP) ConnectAndWait(ctx context.Context, remote netip.Addr, qual ConnQual, privateData []byte) ([]byte, error) {
	if err := ep.Connect(remote, qual, TimeoutInfinite, privateData); err != nil {
		return nil, err
	}
	return ep.waitEstablished(ctx)
}

func (ep *EP) waitEstablished(ctx context.Context) (privateData []byte, err error) {
	if err := ep.lockRequests(waitOp); err != nil {
		return nil, err
	}
	connect := ep.parts.connect
	ep.unlockRequests()
	event, err := connect.Expect(ctx, EventConnectionEstablished)
	if err == nil && event.EP() != ep {
		err = &EventError{Want: EventConnectionEstablished, Event: event}
	}
	if wrong := (*EventError)(nil); err != nil && !errors.As(err, &wrong) {
		_ = ep.Disconnect(CloseAbrupt)
	}
	return event.PrivateData(), err
}

// Disconnect ends the connection, or the attempt to connect, and does not wait. Both sides get
// EventConnectionDisconnected on their connect EVDs, after the completions of all requests, for
// which the library waits up to 250 ms. CloseAbrupt fails outstanding operations with
// DTOErrFlushed. CloseGraceful lets requests complete first: the endpoint is in DISCONNECT_PENDING
// and refuses new ones until then, or until CloseAbrupt. Before a connection Disconnect fails with
// ErrInvalidState; after it, it does nothing.
//
//	Implements: DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_CLOSE_FLAGS disconnect_flags)
func (ep *EP) Disconnect(flags CloseFlags) (err error) {
	const op = "dat_ep_disconnect"
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	if flags != CloseAbrupt && flags != CloseGraceful {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be CloseAbrupt or CloseGraceful", flags)
	}
	call := shadow.DisconnectAbrupt
	if flags == CloseGraceful {
		call = shadow.DisconnectGraceful
	}
	defer ep.shadow.Begin(call).End(&err)
	return checkState(op, cgo.EPDisconnect(ep.handle, cgo.CloseFlags(flags)), "the endpoint has no connection: there is nothing to disconnect")
}

// Reset makes a disconnected endpoint UNCONNECTED again, with the same attributes. On an
// UNCONNECTED endpoint it takes back receives. Receives that are still posted complete with
// DTOErrFlushed, and queued events stay. Reset fails with ErrInvalidState in any other state.
//
//	Implements: DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Reset() (err error) {
	const op = "dat_ep_reset"
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	defer ep.shadow.Begin(shadow.Reset).End(&err)
	ep.recv.mu.Lock()
	defer ep.recv.mu.Unlock()
	return checkState(op, cgo.EPReset(ep.handle), "the endpoint must be disconnected or unconnected: Disconnect it and wait for EventConnectionDisconnected, "+
		"or free the reserved service point that holds it")
}
