//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/ep.h"

#cgo noescape goudat_ep_create
#cgo noescape goudat_ep_create_with_srq
#cgo noescape goudat_ep_query
#cgo nocallback goudat_ep_query
#cgo noescape goudat_ep_modify
#cgo noescape goudat_ep_get_status
#cgo nocallback goudat_ep_get_status
#cgo noescape goudat_ep_connect
#cgo noescape goudat_ep_dup_connect
#cgo noescape goudat_ep_recv_query
*/
import "C"

import "unsafe"

// EPCreate creates an endpoint. The EVDs and attr may be zero: the library
// accepts that.
//
//	Implements: DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
//	    IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
//	    IN DAT_EVD_HANDLE connect_evd_handle, IN const DAT_EP_ATTR *ep_attributes,
//	    OUT DAT_EP_HANDLE *ep_handle)
func EPCreate(ia IAHandle, pz PZHandle, recvEVD, requestEVD, connectEVD EVDHandle, attr *EPAttr) (EPHandle, Return) {
	var ep C.goudat_handle
	r := C.goudat_ep_create(C.goudat_handle(ia), C.goudat_handle(pz), C.goudat_handle(recvEVD),
		C.goudat_handle(requestEVD), C.goudat_handle(connectEVD), unsafe.Pointer(attr), &ep)
	return EPHandle(ep), Return(r)
}

// EPCreateWithSRQ creates an endpoint that takes its receives from a shared
// receive queue. Without a connection EVD or attributes the library dereferences
// a null pointer.
//
//	Implements: DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_PZ_HANDLE pz_handle, IN DAT_EVD_HANDLE recv_evd_handle,
//	    IN DAT_EVD_HANDLE request_evd_handle, IN DAT_EVD_HANDLE connect_evd_handle,
//	    IN DAT_SRQ_HANDLE srq_handle, IN const DAT_EP_ATTR *ep_attributes,
//	    OUT DAT_EP_HANDLE *ep_handle)
func EPCreateWithSRQ(ia IAHandle, pz PZHandle, recvEVD, requestEVD, connectEVD EVDHandle, srq SRQHandle, attr *EPAttr) (EPHandle, Return) {
	var ep C.goudat_handle
	r := C.goudat_ep_create_with_srq(C.goudat_handle(ia), C.goudat_handle(pz), C.goudat_handle(recvEVD),
		C.goudat_handle(requestEVD), C.goudat_handle(connectEVD), C.goudat_handle(srq), unsafe.Pointer(attr), &ep)
	return EPHandle(ep), Return(r)
}

// EPQuery fills the parameters of an endpoint. Ask for EPFieldAll: on the
// passive side, with a narrower mask the addresses may be freed already.
//
//	Implements: DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_PARAM_MASK ep_param_mask, OUT DAT_EP_PARAM *ep_param)
func EPQuery(ep EPHandle, mask EPParamMask, param *EPParam) Return {
	return Return(C.goudat_ep_query(C.goudat_handle(ep), C.DAT_EP_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// EPModify changes the parameters that mask names, all of them or none. Unpatched
// providers destroy the queue pair on the way.
//
//	Implements: DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_PARAM_MASK ep_param_mask, IN const DAT_EP_PARAM *ep_param)
func EPModify(ep EPHandle, mask EPParamMask, param *EPParam) Return {
	return Return(C.goudat_ep_modify(C.goudat_handle(ep), C.DAT_EP_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// EPGetStatus returns the state of an endpoint, and whether its queues are idle.
// Unpatched providers return counts of outstanding operations: 0 means idle.
//
//	Implements: DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
//	    OUT DAT_EP_STATE *ep_state, OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle)
func EPGetStatus(ep EPHandle) (state EPState, recvIdle, requestIdle uint32, ret Return) {
	var s C.DAT_EP_STATE
	var recv, request C.DAT_BOOLEAN
	r := C.goudat_ep_get_status(C.goudat_handle(ep), &s, &recv, &request)
	return EPState(s), uint32(recv), uint32(request), Return(r)
}

// EPConnect starts a connection from the active side; timeout is in
// microseconds. The library does not check the length of privateData.
//
//	Implements: DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_IA_ADDRESS_PTR remote_ia_address, IN DAT_CONN_QUAL remote_conn_qual,
//	    IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data,
//	    IN DAT_QOS quality_of_service, IN DAT_CONNECT_FLAGS connect_flags)
func EPConnect(ep EPHandle, remote *SockAddr, remoteQual uint64, timeout uint32, privateData []byte, qos QOS, flags ConnectFlags) Return {
	return Return(C.goudat_ep_connect(C.goudat_handle(ep), unsafe.Pointer(remote), C.DAT_CONN_QUAL(remoteQual),
		C.DAT_TIMEOUT(timeout), C.DAT_COUNT(len(privateData)), (*C.uint8_t)(unsafe.SliceData(privateData)),
		C.DAT_QOS(qos), C.DAT_CONNECT_FLAGS(flags)))
}

// EPDupConnect starts a connection to the peer of dup, a connected endpoint;
// timeout is in microseconds. The library does not know the qualifier of a
// connection that dup accepted, and does not check the length of privateData.
//
//	Implements: DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_HANDLE ep_dup_handle, IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
//	    IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service)
func EPDupConnect(ep, dup EPHandle, timeout uint32, privateData []byte, qos QOS) Return {
	return Return(C.goudat_ep_dup_connect(C.goudat_handle(ep), C.goudat_handle(dup), C.DAT_TIMEOUT(timeout),
		C.DAT_COUNT(len(privateData)), (*C.uint8_t)(unsafe.SliceData(privateData)), C.DAT_QOS(qos)))
}

// EPDisconnect ends a connection or its establishment. The providers treat
// every flag as CloseAbrupt.
//
//	Implements: DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_CLOSE_FLAGS disconnect_flags)
func EPDisconnect(ep EPHandle, flags CloseFlags) Return {
	return Return(C.goudat_ep_disconnect(C.goudat_handle(ep), C.DAT_CLOSE_FLAGS(flags)))
}

// EPReset makes a disconnected endpoint unconnected again.
//
//	Implements: DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle)
func EPReset(ep EPHandle) Return {
	return Return(C.goudat_ep_reset(C.goudat_handle(ep)))
}

// EPFree frees an endpoint.
//
//	Implements: DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle)
func EPFree(ep EPHandle) Return {
	return Return(C.goudat_ep_free(C.goudat_handle(ep)))
}

// EPRecvQuery returns the number of receive buffers that the endpoint has from
// its shared receive queue, and over how many of them messages have arrived.
// The providers do not implement it.
//
//	Implements: DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle,
//	    OUT DAT_COUNT *nbufs_allocated, OUT DAT_COUNT *bufs_alloc_span)
func EPRecvQuery(ep EPHandle) (allocated, span int32, ret Return) {
	var a, s C.DAT_COUNT
	r := C.goudat_ep_recv_query(C.goudat_handle(ep), &a, &s)
	return int32(a), int32(s), Return(r)
}

// EPSetWatermark sets the numbers of buffers of a shared receive queue above
// which the endpoint raises an event, and breaks. The providers do not
// implement it.
//
//	Implements: DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT soft_high_watermark, IN DAT_COUNT hard_high_watermark)
func EPSetWatermark(ep EPHandle, soft, hard int32) Return {
	return Return(C.goudat_ep_set_watermark(C.goudat_handle(ep), C.DAT_COUNT(soft), C.DAT_COUNT(hard)))
}
