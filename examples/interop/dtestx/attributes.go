package main

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

// query prints an adapter's attributes and capabilities.
func query(provider string) error {
	ia, err := adapter.Open(provider)
	if err != nil {
		return err
	}
	attr, providerAttr, err := ia.Query()
	if err == nil {
		say("%s: %s at %v", ia.Name(), attr.AdapterName, attr.Address)
		printAttributes(providerAttr)
	}
	return errors.Join(err, ia.Close(udat.CloseGraceful))
}

func printAttributes(provider udat.ProviderAttr) {
	for _, attr := range provider.ProviderSpecificAttr {
		say("  %s=%s", attr.Name, attr.Value)
	}
}

// printCounters prints the provider's counters, if it was built with counters.
func (n *node) printCounters() error {
	for _, counted := range []struct {
		name  string
		query func(reset bool) ([]uint64, error)
	}{
		{"adapter", n.ia.QueryCounters},
		{"endpoint", n.ep.QueryCounters},
		{"requests' EVD", n.request.QueryCounters},
		{"receives' EVD", n.recv.QueryCounters},
		{"connections' EVD", n.connect.QueryCounters},
	} {
		values, err := counted.query(false)
		if errors.Is(err, udat.ErrNotImplemented) {
			say("no counters: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
		say("counters of the %s: %s", counted.name, fmt.Sprint(values))
	}
	return nil
}
