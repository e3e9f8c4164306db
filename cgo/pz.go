//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/pz.h"

#cgo noescape goudat_pz_create
#cgo noescape goudat_pz_query
#cgo nocallback goudat_pz_query
*/
import "C"

import "unsafe"

// PZCreate creates a protection zone.
//
//	Implements: DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_PZ_HANDLE *pz_handle)
func PZCreate(ia IAHandle) (PZHandle, Return) {
	var pz C.goudat_handle
	r := C.goudat_pz_create(C.goudat_handle(ia), &pz)
	return PZHandle(pz), Return(r)
}

// PZQuery fills the parameters of a protection zone.
//
//	Implements: DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle,
//	    IN DAT_PZ_PARAM_MASK pz_param_mask, OUT DAT_PZ_PARAM *pz_param)
func PZQuery(pz PZHandle, mask PZParamMask, param *PZParam) Return {
	return Return(C.goudat_pz_query(C.goudat_handle(pz), C.DAT_PZ_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// PZFree frees a protection zone that nothing uses.
//
//	Implements: DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle)
func PZFree(pz PZHandle) Return {
	return Return(C.goudat_pz_free(C.goudat_handle(pz)))
}
