//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/rsp.h"

#cgo noescape goudat_rsp_create
#cgo noescape goudat_rsp_query
*/
import "C"

import "unsafe"

// RSPCreate listens for one connection request on a connection qualifier, for
// an endpoint that it reserves. The request is to be accepted without an
// endpoint.
//
//	Implements: DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_CONN_QUAL conn_qual, IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
//	    OUT DAT_RSP_HANDLE *rsp_handle)
func RSPCreate(ia IAHandle, qual uint64, ep EPHandle, evd EVDHandle) (RSPHandle, Return) {
	var rsp C.goudat_handle
	r := C.goudat_rsp_create(C.goudat_handle(ia), C.DAT_CONN_QUAL(qual), C.goudat_handle(ep), C.goudat_handle(evd), &rsp)
	return RSPHandle(rsp), Return(r)
}

// RSPQuery fills the parameters of a reserved service point.
//
//	Implements: DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle,
//	    IN DAT_RSP_PARAM_MASK rsp_param_mask, OUT DAT_RSP_PARAM *rsp_param)
func RSPQuery(rsp RSPHandle, mask RSPParamMask, param *RSPParam) Return {
	return Return(C.goudat_rsp_query(C.goudat_handle(rsp), C.DAT_RSP_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// RSPFree stops listening, and leaves the endpoint unconnected if no request came.
// A request that came is still to be answered.
//
//	Implements: DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle)
func RSPFree(rsp RSPHandle) Return {
	return Return(C.goudat_rsp_free(C.goudat_handle(rsp)))
}
