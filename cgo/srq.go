//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/srq.h"

#cgo noescape goudat_srq_create
#cgo noescape goudat_srq_post_recv
#cgo nocallback goudat_srq_post_recv
#cgo noescape goudat_srq_query
#cgo nocallback goudat_srq_query
*/
import "C"

import "unsafe"

// SRQCreate creates a shared receive queue. With unpatched providers it takes no
// reference on the protection zone, which must not be freed before the queue.
//
//	Implements: DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_PZ_HANDLE pz_handle, IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle)
func SRQCreate(ia IAHandle, pz PZHandle, attr *SRQAttr) (SRQHandle, Return) {
	var srq C.goudat_handle
	r := C.goudat_srq_create(C.goudat_handle(ia), C.goudat_handle(pz), unsafe.Pointer(attr), &srq)
	return SRQHandle(srq), Return(r)
}

// SRQFree frees a shared receive queue that no endpoint uses.
//
//	Implements: DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle)
func SRQFree(srq SRQHandle) Return {
	return Return(C.goudat_srq_free(C.goudat_handle(srq)))
}

// SRQPostRecv posts a receive into the scattered segments for whichever
// endpoint of the queue needs one next. Its completion names the queue where
// the endpoint's handle should be.
//
//	Implements: DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie)
func SRQPostRecv(srq SRQHandle, iov []LMRTriplet, cookie uint64) Return {
	return Return(C.goudat_srq_post_recv(C.goudat_handle(srq), C.DAT_COUNT(len(iov)), localIOV(iov), C.uint64_t(cookie)))
}

// SRQQuery fills the parameters of a shared receive queue.
//
//	Implements: DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_SRQ_PARAM_MASK srq_param_mask, OUT DAT_SRQ_PARAM *srq_param)
func SRQQuery(srq SRQHandle, mask SRQParamMask, param *SRQParam) Return {
	return Return(C.goudat_srq_query(C.goudat_handle(srq), C.DAT_SRQ_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// SRQResize changes how many receives may be outstanding, or fails and changes
// nothing. Soft-iWARP cannot.
//
//	Implements: DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_COUNT srq_max_recv_dto)
func SRQResize(srq SRQHandle, maxRecvDTOs int32) Return {
	return Return(C.goudat_srq_resize(C.goudat_handle(srq), C.DAT_COUNT(maxRecvDTOs)))
}

// SRQSetLW sets the number of posted receives below which an asynchronous event
// tells, once for each call. The event has the number of an internal error of the
// provider, and the reason SRQLowWatermarkEvent. 0 ends it.
//
//	Implements: DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_COUNT low_watermark)
func SRQSetLW(srq SRQHandle, lowWatermark int32) Return {
	return Return(C.goudat_srq_set_lw(C.goudat_handle(srq), C.DAT_COUNT(lowWatermark)))
}
