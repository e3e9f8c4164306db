//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/lmr.h"

#cgo noescape goudat_lmr_create
#cgo noescape goudat_lmr_query
#cgo nocallback goudat_lmr_query
#cgo noescape goudat_lmr_sync_rdma_read
#cgo nocallback goudat_lmr_sync_rdma_read
#cgo noescape goudat_lmr_sync_rdma_write
#cgo nocallback goudat_lmr_sync_rdma_write
*/
import "C"

import "unsafe"

// LMRCreate registers the memory that region describes, as memType says. Memory
// of the process must neither move nor be unmapped before LMRFree. The length
// and the address given back are those of what was registered.
//
// The providers register MemTypeVirtual alone. They do not implement MemTypeLMR,
// and report insufficient resources for MemTypeSharedVirtual.
//
//	Implements: DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
//	    IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
//	    IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS mem_privileges,
//	    IN DAT_VA_TYPE va_type, OUT DAT_LMR_HANDLE *lmr_handle,
//	    OUT DAT_LMR_CONTEXT *lmr_context, OUT DAT_RMR_CONTEXT *rmr_context,
//	    OUT DAT_VLEN *registered_size, OUT DAT_VADDR *registered_address)
func LMRCreate(ia IAHandle, memType MemType, region RegionDescription, length uint64, pz PZHandle, privileges MemPriv, vaType VAType) (lmr LMRHandle, lmrContext, rmrContext uint32, registeredSize, registeredAddress uint64, ret Return) {
	var result C.goudat_lmr_result
	r := C.goudat_lmr_create(C.goudat_handle(ia), C.DAT_MEM_TYPE(memType), C.uintptr_t(region.Address),
		C.uintptr_t(region.SharedMemoryID), C.DAT_VLEN(length), C.goudat_handle(pz),
		C.DAT_MEM_PRIV_FLAGS(privileges), C.DAT_VA_TYPE(vaType), &result)
	return LMRHandle(result.handle), uint32(result.lmr_context), uint32(result.rmr_context),
		uint64(result.registered_length), uint64(result.registered_address), Return(r)
}

// LMRCreateVirtual is LMRCreate for MemTypeVirtual, memory of the process at address.
//
//	Implements: DAT_RETURN dat_lmr_create(...), see LMRCreate
func LMRCreateVirtual(ia IAHandle, address uintptr, length uint64, pz PZHandle, privileges MemPriv, vaType VAType) (lmr LMRHandle, lmrContext, rmrContext uint32, registeredSize uint64, ret Return) {
	lmr, lmrContext, rmrContext, registeredSize, _, ret = LMRCreate(ia, MemTypeVirtual, RegionDescription{Address: address},
		length, pz, privileges, vaType)
	return lmr, lmrContext, rmrContext, registeredSize, ret
}

// LMRFree ends a registration.
//
//	Implements: DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle)
func LMRFree(lmr LMRHandle) Return {
	return Return(C.goudat_lmr_free(C.goudat_handle(lmr)))
}

// LMRQuery fills the parameters of a registration.
//
//	Implements: DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle,
//	    IN DAT_LMR_PARAM_MASK lmr_param_mask, OUT DAT_LMR_PARAM *lmr_param)
func LMRQuery(lmr LMRHandle, mask LMRParamMask, param *LMRParam) Return {
	return Return(C.goudat_lmr_query(C.goudat_handle(lmr), C.DAT_LMR_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// LMRSyncRDMARead makes what the process wrote visible to reads by a peer,
// where memory is not coherent. The providers have nothing to do for it.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func LMRSyncRDMARead(ia IAHandle, segments []LMRTriplet) Return {
	return Return(C.goudat_lmr_sync_rdma_read(C.goudat_handle(ia), localIOV(segments), C.DAT_VLEN(len(segments))))
}

// LMRSyncRDMAWrite makes what a peer wrote visible to the process, where memory
// is not coherent. The providers have nothing to do for it.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func LMRSyncRDMAWrite(ia IAHandle, segments []LMRTriplet) Return {
	return Return(C.goudat_lmr_sync_rdma_write(C.goudat_handle(ia), localIOV(segments), C.DAT_VLEN(len(segments))))
}
