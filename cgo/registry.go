package cgo

/*
#include "goudat/registry.h"

#cgo noescape goudat_registry_list_providers
#cgo noescape goudat_strerror
*/
import "C"

import "unsafe"

// RegistryListProviders fills infos with the registry's entries and gives their
// number. When infos is too short, it gives the number there is and InvalidParameter.
//
// Implements:
//
//	DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
//	                                       OUT DAT_COUNT *entries_returned,
//	                                       OUT DAT_PROVIDER_INFO *(dat_provider_list[]))
func RegistryListProviders(infos []ProviderInfo) (int, Return) {
	var n C.DAT_COUNT
	r := C.goudat_registry_list_providers(C.DAT_COUNT(len(infos)), &n, unsafe.Pointer(unsafe.SliceData(infos)))
	return int(n), Return(r)
}

// Strerror gives the library's texts for the type and the subtype of value.
//
// Implements:
//
//	DAT_RETURN dat_strerror(IN DAT_RETURN value,
//	                        OUT const char **major_message,
//	                        OUT const char **minor_message)
func Strerror(value Return) (major, minor string, ret Return) {
	var cMajor, cMinor *C.char
	r := C.goudat_strerror(C.DAT_RETURN(value), &cMajor, &cMinor)
	return C.GoString(cMajor), C.GoString(cMinor), Return(r)
}
