//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/registry.h"

#cgo noescape goudat_registry_list_providers
#cgo noescape goudat_registry_add_provider
#cgo noescape goudat_registry_remove_provider
#cgo noescape goudat_strerror
*/
import "C"

import "unsafe"

// RegistryListProviders fills infos with the registry's entries and returns their
// number. If infos is too short, it returns the number of entries and
// InvalidParameter.
//
//	Implements: DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
//	    OUT DAT_COUNT *entries_returned, OUT DAT_PROVIDER_INFO *(dat_provider_list[]))
func RegistryListProviders(infos []ProviderInfo) (int, Return) {
	var n C.DAT_COUNT
	r := C.goudat_registry_list_providers(C.DAT_COUNT(len(infos)), &n, unsafe.Pointer(unsafe.SliceData(infos)))
	return int(n), Return(r)
}

// Provider is the address of a DAT_PROVIDER, the functions of a provider, in memory
// that stays for as long as anything uses it.
type Provider uintptr

// RegistryAddProvider registers a provider under the name in info. The library keeps a copy of info. Providers do this
// when they are loaded.
//
//	Implements: DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
//	    IN const DAT_PROVIDER_INFO *provider_info)
func RegistryAddProvider(provider Provider, info *ProviderInfo) Return {
	return Return(C.goudat_registry_add_provider(C.uintptr_t(provider), unsafe.Pointer(info)))
}

// RegistryRemoveProvider takes back RegistryAddProvider. It goes by info, and
// does not look at what provider points to.
//
//	Implements: DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
//	    IN const DAT_PROVIDER_INFO *provider_info)
func RegistryRemoveProvider(provider Provider, info *ProviderInfo) Return {
	return Return(C.goudat_registry_remove_provider(C.uintptr_t(provider), unsafe.Pointer(info)))
}

// Strerror returns the library's texts for the type and the subtype of value.
//
//	Implements: DAT_RETURN dat_strerror(IN DAT_RETURN value, OUT const char **major_message,
//	    OUT const char **minor_message)
func Strerror(value Return) (major, minor string, ret Return) {
	var cMajor, cMinor *C.char
	r := C.goudat_strerror(C.DAT_RETURN(value), &cMajor, &cMinor)
	return C.GoString(cMajor), C.GoString(cMinor), Return(r)
}
