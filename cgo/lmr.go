package cgo

/*
#include "goudat/lmr.h"

#cgo noescape goudat_lmr_create_virtual
*/
import "C"

// LMRCreateVirtual registers length bytes of the process's memory at address,
// which must neither move nor be unmapped before LMRFree. The length given back
// is what was registered. Memory of type MemTypeVirtual is the only one that
// every provider can register.
//
// Implements:
//
//	DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_MEM_TYPE mem_type,
//	                          IN DAT_REGION_DESCRIPTION region_description,
//	                          IN DAT_VLEN length,
//	                          IN DAT_PZ_HANDLE pz_handle,
//	                          IN DAT_MEM_PRIV_FLAGS mem_privileges,
//	                          IN DAT_VA_TYPE va_type,
//	                          OUT DAT_LMR_HANDLE *lmr_handle,
//	                          OUT DAT_LMR_CONTEXT *lmr_context,
//	                          OUT DAT_RMR_CONTEXT *rmr_context,
//	                          OUT DAT_VLEN *registered_size,
//	                          OUT DAT_VADDR *registered_address)
func LMRCreateVirtual(ia IAHandle, address uintptr, length uint64, pz PZHandle, privileges MemPriv, vaType VAType) (lmr LMRHandle, lmrContext, rmrContext uint32, registered uint64, ret Return) {
	var result C.goudat_lmr_result
	r := C.goudat_lmr_create_virtual(C.goudat_handle(ia), C.uintptr_t(address), C.DAT_VLEN(length), C.goudat_handle(pz),
		C.DAT_MEM_PRIV_FLAGS(privileges), C.DAT_VA_TYPE(vaType), &result)
	return LMRHandle(result.handle), uint32(result.lmr_context), uint32(result.rmr_context),
		uint64(result.registered_length), Return(r)
}

// LMRFree ends a registration.
//
// Implements:
//
//	DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle)
func LMRFree(lmr LMRHandle) Return {
	return Return(C.goudat_lmr_free(C.goudat_handle(lmr)))
}
