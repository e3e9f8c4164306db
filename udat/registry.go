package udat

import (
	"bytes"
	"maps"
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// registry serialises opening and closing, which load and unload the libraries
// of the providers, and guards providers.
var registry lockorder.Mutex[registryRank]

// ProviderInfo describes an entry of the registry: an adapter that Open may open.
type ProviderInfo struct {
	IAName       string
	VersionMajor uint32
	VersionMinor uint32
	ThreadSafe   bool
}

// Providers lists the registry's entries. They come from the file that the
// environment variable DAT_OVERRIDE names, else from /etc/dat.conf, as it was
// when the program started; after them come those of RegisterProvider. An entry
// says nothing about whether its device exists.
//
//	Implements: DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
//	    OUT DAT_COUNT *entries_returned, OUT DAT_PROVIDER_INFO *(dat_provider_list[]))
func Providers() ([]ProviderInfo, error) {
	if err := needRevision("dat_registry_list_providers"); err != nil {
		return nil, err
	}
	registry.Lock()
	defer registry.Unlock()
	infos, err := configProviders()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if p := providers[name]; p.asked {
			infos = append(infos, newProviderInfo(p.info()))
		}
	}
	return infos, nil
}

// configProviders lists the entries of dat.conf. The caller holds registry.
func configProviders() ([]ProviderInfo, error) {
	const op = "dat_registry_list_providers"
	// With room for none, the library says how many there are.
	count, _ := cgo.RegistryListProviders(nil)
	if count == 0 {
		return nil, nil
	}
	raw := make([]cgo.ProviderInfo, count)
	count, r := cgo.RegistryListProviders(raw)
	if err := check(op, r); err != nil {
		return nil, err
	}
	infos := make([]ProviderInfo, count)
	for i := range infos {
		infos[i] = newProviderInfo(&raw[i])
	}
	return infos, nil
}

func newProviderInfo(p *cgo.ProviderInfo) ProviderInfo {
	return ProviderInfo{
		IAName:       cString(p.IAName[:]),
		VersionMajor: p.DaplVersionMajor,
		VersionMinor: p.DaplVersionMinor,
		ThreadSafe:   p.IsThreadSafe != 0,
	}
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
