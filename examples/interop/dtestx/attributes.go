package main

import (
	"errors"
	"maps"
	"slices"

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
	for _, name := range slices.Sorted(maps.Keys(provider.ProviderSpecificAttr)) {
		say("  %s=%s", name, provider.ProviderSpecificAttr[name])
	}
}
