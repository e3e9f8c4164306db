// Package adapter chooses adapters for programs that run without a name of one, and reports their properties.
package adapter

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// Open opens the adapter with a name. Without a name, it opens the first registered one that opens.
func Open(name string) (*udat.IA, error) {
	if name != "" {
		return udat.Open(name)
	}
	infos, err := udat.Providers()
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if ia, err := udat.Open(info.IAName); err == nil {
			return ia, nil
		}
	}
	return nil, noneOpens(len(infos))
}

// Names returns the names in a comma-separated list. Without a list, it returns the names of all registered adapters
// that open.
func Names(list string) ([]string, error) {
	if list != "" {
		return strings.Split(list, ","), nil
	}
	infos, err := udat.Providers()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, info := range infos {
		ia, err := udat.Open(info.IAName)
		if err != nil {
			continue
		}
		names = append(names, info.IAName)
		if err := ia.Close(udat.CloseGraceful); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, noneOpens(len(infos))
	}
	return names, nil
}

// Resolve returns an address of a host, rather one of the family of the adapter's own: with the CMA provider it
// connects to no other.
func Resolve(ctx context.Context, ia *udat.IA, host string) (netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap(), nil
	}
	attr, _, err := ia.Query()
	if err != nil {
		return netip.Addr{}, err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, a := range addresses {
		if a = a.Unmap(); a.Is4() == attr.Address.Is4() {
			return a, nil
		}
	}
	return addresses[0].Unmap(), nil
}

// IWARP reports whether a device speaks iWARP: there a message that comes before
// its receive ends the connection, and the completion of a send or an RDMA write
// does not say that it has arrived.
func IWARP(name string) (bool, error) {
	d, err := Device(name)
	return d.Transport == device.TransportIWARP, err
}

// Device describes the RDMA device with a name. The result is empty if there is none.
func Device(name string) (device.Device, error) {
	devices, err := device.List()
	if err != nil {
		return device.Device{}, err
	}
	for _, d := range devices {
		if d.Name == name {
			return d, nil
		}
	}
	return device.Device{}, nil
}

func noneOpens(registered int) error {
	return fmt.Errorf("none of the %d registered adapters opens: is there an RDMA device, and an entry for it in dat.conf?", registered)
}
