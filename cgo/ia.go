//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/ia.h"

#cgo noescape goudat_ia_openv
#cgo noescape goudat_ia_query
#cgo nocallback goudat_ia_query
*/
import "C"

import "unsafe"

// IAOpenV opens the interface adapter that the registry knows as name.
// asyncEVD is 0 for a new asynchronous error EVD of at least minQLen events.
// On failure the handles are 0.
//
//	Implements: DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR ia_name,
//	    IN DAT_COUNT async_evd_min_qlen, INOUT DAT_EVD_HANDLE *async_evd_handle,
//	    OUT DAT_IA_HANDLE *ia_handle, IN DAT_UINT32 dat_major_version,
//	    IN DAT_UINT32 dat_minor_version, IN DAT_BOOLEAN thread_safety)
func IAOpenV(name string, minQLen int32, asyncEVD EVDHandle, major, minor uint32, threadSafe bool) (IAHandle, EVDHandle, Return) {
	cName := append([]byte(name), 0)
	evd := C.goudat_handle(asyncEVD)
	var ia C.goudat_handle
	r := C.goudat_ia_openv((*C.char)(unsafe.Pointer(&cName[0])), C.DAT_COUNT(minQLen), &evd, &ia,
		C.DAT_UINT32(major), C.DAT_UINT32(minor), boolean(threadSafe))
	if r := Return(r); !r.OK() {
		return 0, 0, r
	}
	return IAHandle(ia), EVDHandle(evd), Success.Return()
}

// IAOpen is the macro that opens an adapter with the version of the headers and
// a new asynchronous error EVD.
//
//	Implements: DAT_RETURN dat_ia_open(IN const DAT_NAME_PTR ia_name,
//	    IN DAT_COUNT async_evd_min_qlen, INOUT DAT_EVD_HANDLE *async_evd_handle,
//	    OUT DAT_IA_HANDLE *ia_handle)
func IAOpen(name string, minQLen int32) (IAHandle, EVDHandle, Return) {
	return IAOpenV(name, minQLen, 0, VersionMajor, VersionMinor, ThreadSafe != 0)
}

// IAQuery fills the attributes of the adapter and of its provider, as far as
// the masks ask for, and returns the asynchronous error EVD. Pointers in the
// attributes point into the library's memory.
//
//	Implements: DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_EVD_HANDLE *async_evd_handle, IN DAT_IA_ATTR_MASK ia_attr_mask,
//	    OUT DAT_IA_ATTR *ia_attr, IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
//	    OUT DAT_PROVIDER_ATTR *provider_attr)
func IAQuery(ia IAHandle, iaMask IAAttrMask, iaAttr *IAAttr, providerMask ProviderAttrMask, providerAttr *ProviderAttr) (EVDHandle, Return) {
	var evd C.goudat_handle
	r := C.goudat_ia_query(C.goudat_handle(ia), &evd,
		C.DAT_IA_ATTR_MASK(iaMask), unsafe.Pointer(iaAttr),
		C.DAT_PROVIDER_ATTR_MASK(providerMask), unsafe.Pointer(providerAttr))
	return EVDHandle(evd), Return(r)
}

// NamedAttrs copies the names and values of the count attributes, DAT_NAMED_ATTR, at an address that IAQuery gave and that
// is still valid: the list is the library's own. With unpatched providers, other
// adapters' queries write to it.
func NamedAttrs(address uintptr, count int32) map[string]string {
	attrs := make(map[string]string, count)
	for i := range count {
		attr := C.goudat_named_attr(C.uintptr_t(address), C.DAT_COUNT(i))
		attrs[C.GoString(attr.name)] = C.GoString(attr.value)
	}
	return attrs
}

// IAClose closes the adapter. CloseAbrupt frees what is alive on it first,
// CloseGraceful refuses then.
//
//	Implements: DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS ia_flags)
func IAClose(ia IAHandle, flags CloseFlags) Return {
	return Return(C.goudat_ia_close(C.goudat_handle(ia), C.DAT_CLOSE_FLAGS(flags)))
}

func boolean(b bool) C.DAT_BOOLEAN {
	if b {
		return C.DAT_TRUE
	}
	return C.DAT_FALSE
}
