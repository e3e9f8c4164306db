//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#cgo LDFLAGS: -ldl
#include "goudat/provider.h"

#cgo noescape goudat_dlopen
#cgo noescape goudat_number
#cgo noescape goudat_text
#cgo noescape goudat_file
#cgo noescape goudat_provider_init
#cgo noescape goudat_provider_fini
#cgo noescape goudat_registry_knows
*/
import "C"

import (
	"bytes"
	"path/filepath"
	"syscall"
	"unsafe"
)

// Library is a library that DLOpen loaded.
type Library uintptr

// DLOpen loads a library for the life of the process. On failure it returns 0 and the loader's message.
func DLOpen(path string) (Library, string) {
	cPath := append([]byte(path), 0)
	var message [512]byte
	library := C.goudat_dlopen((*C.char)(unsafe.Pointer(&cPath[0])), (*C.char)(unsafe.Pointer(&message[0])), C.size_t(len(message)))
	text, _, _ := bytes.Cut(message[:], []byte{0})
	return Library(library), string(text)
}

// DLClose undoes DLOpen. The library stays in memory.
func DLClose(library Library) { C.goudat_dlclose(C.goudat_handle(library)) }

// IsProvider reports whether the library exports what ProviderInit and
// ProviderFini call.
func IsProvider(library Library) bool { return C.goudat_is_provider(C.goudat_handle(library)) != 0 }

// Number returns the int that a library exports under a name, 0 if it exports none. Library 0 stands for all that the
// program was linked with. The patched build of scripts/native exports its revision: libdat2 as dat_revision, a provider
// as dapl_revision.
func Number(library Library, symbol string) int {
	name := append([]byte(symbol), 0)
	return int(C.goudat_number(C.goudat_handle(library), (*C.char)(unsafe.Pointer(&name[0]))))
}

// Text returns the string that a library exports under a name, "" if it exports none: dat_version of the patched libdat2.
func Text(library Library, symbol string) string {
	name := append([]byte(symbol), 0)
	return C.GoString(C.goudat_text(C.goudat_handle(library), (*C.char)(unsafe.Pointer(&name[0]))))
}

// FileOf returns the path of the file that the loader has found a library's symbol in, "" if in none. A run path may
// have brought it there by a detour.
//
// Calls:
//
//	int dladdr(const void *addr, Dl_info *info)
func FileOf(library Library, symbol string) string {
	name := append([]byte(symbol), 0)
	file := C.GoString(C.goudat_file(C.goudat_handle(library), (*C.char)(unsafe.Pointer(&name[0]))))
	if file == "" {
		return ""
	}
	return filepath.Clean(file)
}

// RunPath returns the folders in which the loader looks for the libraries of this program before the usual ones, separated
// by colons.
//
// Calls:
//
//	int dlinfo(void *handle, int request, void *info)
func RunPath() string { return C.GoString(C.goudat_run_path()) }

// TryThread begins a thread that ends at once, as a provider that opens an adapter begins threads. It returns 0, or the
// error number if no more threads may be made.
func TryThread() syscall.Errno { return syscall.Errno(C.goudat_try_thread()) }

// ProviderInit makes a provider library register itself under the name in info,
// for the device in instanceData, "rxe0 1" for example. The library keeps copies.
// Nothing says whether it did: see RegistryKnows. A name that it has already,
// and instance data without a space, damage it.
//
// Calls:
//
//	void dat_provider_init(IN const DAT_PROVIDER_INFO *provider_info,
//	                       IN const char *instance_data)
func ProviderInit(library Library, info *ProviderInfo, instanceData string) {
	cData := append([]byte(instanceData), 0)
	C.goudat_provider_init(C.goudat_handle(library), unsafe.Pointer(info), (*C.char)(unsafe.Pointer(&cData[0])))
}

// ProviderFini undoes ProviderInit. No adapter of that name may be open.
//
// Calls:
//
//	void dat_provider_fini(IN const DAT_PROVIDER_INFO *provider_info)
func ProviderFini(library Library, info *ProviderInfo) {
	C.goudat_provider_fini(C.goudat_handle(library), unsafe.Pointer(info))
}

// RegistryKnows reports whether a provider has registered itself under the name,
// the version and the thread safety in info.
func RegistryKnows(info *ProviderInfo) bool {
	return C.goudat_registry_knows(unsafe.Pointer(info)) != 0
}
