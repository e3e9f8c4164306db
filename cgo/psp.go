package cgo

/*
#include "goudat/psp.h"

#cgo noescape goudat_psp_create
*/
import "C"

// PSPCreate listens for connection requests on a connection qualifier.
//
// Implements:
//
//	DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_CONN_QUAL conn_qual,
//	                          IN DAT_EVD_HANDLE evd_handle,
//	                          IN DAT_PSP_FLAGS psp_flags,
//	                          OUT DAT_PSP_HANDLE *psp_handle)
func PSPCreate(ia IAHandle, qual uint64, evd EVDHandle, flags PSPFlags) (PSPHandle, Return) {
	var psp C.goudat_handle
	r := C.goudat_psp_create(C.goudat_handle(ia), C.DAT_CONN_QUAL(qual), C.goudat_handle(evd), C.DAT_PSP_FLAGS(flags), &psp)
	return PSPHandle(psp), Return(r)
}

// PSPFree stops listening.
//
// Implements:
//
//	DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle)
func PSPFree(psp PSPHandle) Return {
	return Return(C.goudat_psp_free(C.goudat_handle(psp)))
}
