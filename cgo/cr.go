//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/cr.h"

#cgo noescape goudat_cr_query
#cgo nocallback goudat_cr_query
#cgo noescape goudat_cr_accept
#cgo noescape goudat_cr_reject
*/
import "C"

import "unsafe"

// CRQuery fills the parameters of a connection request that is not answered yet.
//
//	Implements: DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle,
//	    IN DAT_CR_PARAM_MASK cr_param_mask, OUT DAT_CR_PARAM *cr_param)
func CRQuery(cr CRHandle, mask CRParamMask, param *CRParam) Return {
	return Return(C.goudat_cr_query(C.goudat_handle(cr), C.DAT_CR_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// CRAccept accepts a connection request on an endpoint. It consumes the request.
//
//	Implements: DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data)
func CRAccept(cr CRHandle, ep EPHandle, privateData []byte) Return {
	return Return(C.goudat_cr_accept(C.goudat_handle(cr), C.goudat_handle(ep), C.DAT_COUNT(len(privateData)),
		(*C.uint8_t)(unsafe.SliceData(privateData))))
}

// CRReject rejects a connection request. It consumes the request, whatever it returns.
//
//	Implements: DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle,
//	    IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data)
func CRReject(cr CRHandle, privateData []byte) Return {
	return Return(C.goudat_cr_reject(C.goudat_handle(cr), C.DAT_COUNT(len(privateData)),
		(*C.uint8_t)(unsafe.SliceData(privateData))))
}

// CRHandoff passes a connection request on to the service point of another
// connection qualifier. The providers do not implement it.
//
//	Implements: DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff)
func CRHandoff(cr CRHandle, qual uint64) Return {
	return Return(C.goudat_cr_handoff(C.goudat_handle(cr), C.DAT_CONN_QUAL(qual)))
}
