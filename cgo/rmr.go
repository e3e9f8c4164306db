//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/rmr.h"

#cgo noescape goudat_rmr_create
#cgo noescape goudat_rmr_query
#cgo noescape goudat_rmr_bind
#cgo nocallback goudat_rmr_bind
*/
import "C"

import "unsafe"

// RMRCreate creates a remote memory region. A device without memory windows
// reports that the model is not supported.
//
//	Implements: DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
//	    OUT DAT_RMR_HANDLE *rmr_handle)
func RMRCreate(pz PZHandle) (RMRHandle, Return) {
	var rmr C.goudat_handle
	r := C.goudat_rmr_create(C.goudat_handle(pz), &rmr)
	return RMRHandle(rmr), Return(r)
}

// RMRQuery fills the parameters of a remote memory region. All of them are filled,
// and one that is not bound must not be asked for its triplet.
//
//	Implements: DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
//	    IN DAT_RMR_PARAM_MASK rmr_param_mask, OUT DAT_RMR_PARAM *rmr_param)
func RMRQuery(rmr RMRHandle, mask RMRParamMask, param *RMRParam) Return {
	return Return(C.goudat_rmr_query(C.goudat_handle(rmr), C.DAT_RMR_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// RMRBind posts the binding of a region to a piece of local memory, and returns
// the context by which peers name it then. A piece of length 0 unbinds. While a
// bind has not completed, the region takes no other and cannot be freed.
//
//	Implements: DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle,
//	    IN DAT_LMR_HANDLE lmr_handle, IN const DAT_LMR_TRIPLET *lmr_triplet,
//	    IN DAT_MEM_PRIV_FLAGS mem_priv, IN DAT_VA_TYPE va_type, IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_RMR_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
//	    OUT DAT_RMR_CONTEXT *context)
func RMRBind(rmr RMRHandle, lmr LMRHandle, triplet *LMRTriplet, privileges MemPriv, vaType VAType, ep EPHandle, cookie uint64, flags CompletionFlags) (rmrContext uint32, ret Return) {
	var context C.DAT_RMR_CONTEXT
	r := C.goudat_rmr_bind(C.goudat_handle(rmr), C.goudat_handle(lmr), (*C.DAT_LMR_TRIPLET)(unsafe.Pointer(triplet)),
		C.DAT_MEM_PRIV_FLAGS(privileges), C.DAT_VA_TYPE(vaType), C.goudat_handle(ep), C.uint64_t(cookie),
		C.DAT_COMPLETION_FLAGS(flags), &context)
	return uint32(context), Return(r)
}

// RMRFree frees a remote memory region.
//
//	Implements: DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle)
func RMRFree(rmr RMRHandle) Return {
	return Return(C.goudat_rmr_free(C.goudat_handle(rmr)))
}
