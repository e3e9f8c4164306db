//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/psp.h"

#cgo noescape goudat_psp_create
#cgo noescape goudat_psp_create_any
#cgo noescape goudat_psp_query
#cgo nocallback goudat_psp_query
*/
import "C"

import "unsafe"

// PSPCreate listens for connection requests on a connection qualifier.
//
//	Implements: DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_CONN_QUAL conn_qual, IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
//	    OUT DAT_PSP_HANDLE *psp_handle)
func PSPCreate(ia IAHandle, qual uint64, evd EVDHandle, flags PSPFlags) (PSPHandle, Return) {
	var psp C.goudat_handle
	r := C.goudat_psp_create(C.goudat_handle(ia), C.DAT_CONN_QUAL(qual), C.goudat_handle(evd), C.DAT_PSP_FLAGS(flags), &psp)
	return PSPHandle(psp), Return(r)
}

// PSPCreateAny listens for connection requests on a connection qualifier that
// the library chooses. Unpatched, it tries forever if it cannot listen for another
// reason than that the qualifier is in use.
//
//	Implements: DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_CONN_QUAL *conn_qual, IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
//	    OUT DAT_PSP_HANDLE *psp_handle)
func PSPCreateAny(ia IAHandle, evd EVDHandle, flags PSPFlags) (psp PSPHandle, qual uint64, ret Return) {
	var handle C.goudat_handle
	var q C.DAT_CONN_QUAL
	r := C.goudat_psp_create_any(C.goudat_handle(ia), &q, C.goudat_handle(evd), C.DAT_PSP_FLAGS(flags), &handle)
	return PSPHandle(handle), uint64(q), Return(r)
}

// PSPQuery fills the parameters of a public service point.
//
//	Implements: DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
//	    IN DAT_PSP_PARAM_MASK psp_param_mask, OUT DAT_PSP_PARAM *psp_param)
func PSPQuery(psp PSPHandle, mask PSPParamMask, param *PSPParam) Return {
	return Return(C.goudat_psp_query(C.goudat_handle(psp), C.DAT_PSP_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// PSPFree stops listening.
//
//	Implements: DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle)
func PSPFree(psp PSPHandle) Return {
	return Return(C.goudat_psp_free(C.goudat_handle(psp)))
}
