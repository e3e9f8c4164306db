package mpi

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// openAdapter opens the adapter of that name. Without a name it opens the first that works: first those of the
// registry, then the devices.
func openAdapter(name string) (*udat.IA, error) {
	if name != "" {
		return udat.Open(name)
	}
	infos, err := udat.Providers()
	if err != nil {
		return nil, err
	}
	tried, last := 0, errors.New("there is no RDMA device")
	for _, info := range infos {
		ia, err := udat.Open(info.IAName)
		if err == nil {
			return ia, nil
		}
		tried, last = tried+1, err
	}
	devices, err := device.List()
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		ia, err := udat.Open(d.Name)
		if err == nil {
			return ia, nil
		}
		tried, last = tried+1, err
	}
	return nil, fmt.Errorf("none of %d adapters opens; the last: %w", tried, last)
}

// providerName returns a name that differs for providers that cannot connect to each other.
func providerName(attr udat.ProviderAttr) string {
	for _, a := range attr.ProviderSpecificAttr {
		if a.Name == "DAT_IB_PROVIDER_NAME" {
			return a.Value
		}
	}
	return attr.ProviderName
}
