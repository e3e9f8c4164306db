package udat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// registry serialises opening and closing, which load and unload the libraries
// of the providers.
var registry sync.Mutex

// ProviderInfo describes an entry of the registry: an adapter that Open may open.
type ProviderInfo struct {
	IAName       string
	VersionMajor uint32
	VersionMinor uint32
	ThreadSafe   bool
}

// Providers lists the registry's entries. They come from the file that the
// environment variable DAT_OVERRIDE names, else from /etc/dat.conf, as it was
// when the program started. An entry says nothing about whether its device exists.
//
// Implements:
//
//	DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
//	                                       OUT DAT_COUNT *entries_returned,
//	                                       OUT DAT_PROVIDER_INFO *(dat_provider_list[]))
func Providers() ([]ProviderInfo, error) {
	const op = "dat_registry_list_providers"
	registry.Lock()
	defer registry.Unlock()
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
	for i, p := range raw[:count] {
		infos[i] = ProviderInfo{
			IAName:       cString(p.IAName[:]),
			VersionMajor: p.DaplVersionMajor,
			VersionMinor: p.DaplVersionMinor,
			ThreadSafe:   p.IsThreadSafe != 0,
		}
	}
	return infos, nil
}

// explainOpenFailure says what a user can look at.
func explainOpenFailure(name string, r Return) string {
	if r.Type() == ErrProviderNotFound {
		infos, err := Providers()
		if err != nil || len(infos) == 0 {
			return fmt.Sprintf("%q is not registered, nothing is: is there a file %s with an entry for it?", name, registryFile())
		}
		var names []string
		for _, info := range infos {
			if info.IAName == name {
				return fmt.Sprintf("%q is registered in %s, but its library could not be loaded", name, registryFile())
			}
			names = append(names, info.IAName)
		}
		const most = 6
		if len(names) > most {
			names = append(names[:most], "...")
		}
		return fmt.Sprintf("%q is not registered; %s has %s", name, registryFile(), strings.Join(names, ", "))
	}
	devices, _ := filepath.Glob("/sys/class/infiniband/*")
	if len(devices) == 0 {
		return fmt.Sprintf("this machine has no RDMA device: is the driver of %q loaded?", name)
	}
	for i, d := range devices {
		devices[i] = filepath.Base(d)
	}
	return fmt.Sprintf("the entry of %q in %s does not fit the RDMA devices of this machine: %s", name, registryFile(), strings.Join(devices, ", "))
}

func registryFile() string {
	if file := os.Getenv("DAT_OVERRIDE"); file != "" {
		return file
	}
	return "/etc/dat.conf"
}
