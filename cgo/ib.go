//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/ib.h"

#cgo noescape goudat_ib_post_rdma_write_immed
#cgo nocallback goudat_ib_post_rdma_write_immed
#cgo noescape goudat_ib_post_fetch_and_add
#cgo nocallback goudat_ib_post_fetch_and_add
#cgo noescape goudat_ib_post_cmp_and_swap
#cgo nocallback goudat_ib_post_cmp_and_swap
#cgo noescape goudat_ib_post_send_ud
#cgo nocallback goudat_ib_post_send_ud
#cgo noescape goudat_ib_post_recv_ud
#cgo nocallback goudat_ib_post_recv_ud
#cgo noescape goudat_ib_ud_ah_free
#cgo noescape goudat_ib_open_query
#cgo noescape goudat_strerror_extension
#cgo noescape goudat_strerror_ext_status
*/
import "C"

import "unsafe"

// ExtensionOp calls an extended operation that takes no arguments. Each of
// those that do has a function of its own here.
//
//	Implements: DAT_RETURN dat_extension_op(IN DAT_HANDLE handle, IN DAT_EXTENDED_OP operation,
//	    IN ...)
func ExtensionOp(handle Handle, op IBOp) Return {
	return Return(C.goudat_extension_op(C.goudat_handle(handle), C.DAT_EXTENDED_OP(op)))
}

// IBPostRDMAWriteImmed posts a write of the gathered segments to remote memory,
// and hands immediate to the next receive of the peer. The extensions do not
// look at the endpoint's state. Between hosts of unlike byte order the value
// arrives with its bytes in reverse.
//
//	Implements: DAT_RETURN dat_ib_post_rdma_write_immed(IN DAT_EP_HANDLE ep, IN DAT_COUNT size,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_UINT32 idata, IN DAT_COMPLETION_FLAGS flgs)
func IBPostRDMAWriteImmed(ep EPHandle, iov []LMRTriplet, cookie uint64, remote *RMRTriplet, immediate uint32, flags CompletionFlags) Return {
	return Return(C.goudat_ib_post_rdma_write_immed(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), (*C.DAT_RMR_TRIPLET)(unsafe.Pointer(remote)), C.DAT_UINT32(immediate),
		C.DAT_COMPLETION_FLAGS(flags)))
}

// IBPostFetchAndAdd posts an addition to 8 bytes of remote memory, whose old
// value lands in the local segment. A local length other than 8 is accepted
// and wedges the send queue.
//
//	Implements: DAT_RETURN dat_ib_post_fetch_and_add(IN DAT_EP_HANDLE ep, IN DAT_UINT64 add_val,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_COMPLETION_FLAGS flgs)
func IBPostFetchAndAdd(ep EPHandle, add uint64, local *LMRTriplet, cookie uint64, remote *RMRTriplet, flags CompletionFlags) Return {
	return Return(C.goudat_ib_post_fetch_and_add(C.goudat_handle(ep), C.DAT_UINT64(add),
		(*C.DAT_LMR_TRIPLET)(unsafe.Pointer(local)), C.uint64_t(cookie),
		(*C.DAT_RMR_TRIPLET)(unsafe.Pointer(remote)), C.DAT_COMPLETION_FLAGS(flags)))
}

// IBPostCmpAndSwap posts an exchange of 8 bytes of remote memory for swap, if
// they equal compare. Their old value lands in the local segment either way. A
// local length other than 8 is accepted and wedges the send queue.
//
//	Implements: DAT_RETURN dat_ib_post_cmp_and_swap(IN DAT_EP_HANDLE ep, IN DAT_UINT64 cmp_val,
//	    IN DAT_UINT64 swap_val, IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie,
//	    IN DAT_RMR_TRIPLET *rbuf, IN DAT_COMPLETION_FLAGS flgs)
func IBPostCmpAndSwap(ep EPHandle, compare, swap uint64, local *LMRTriplet, cookie uint64, remote *RMRTriplet, flags CompletionFlags) Return {
	return Return(C.goudat_ib_post_cmp_and_swap(C.goudat_handle(ep), C.DAT_UINT64(compare), C.DAT_UINT64(swap),
		(*C.DAT_LMR_TRIPLET)(unsafe.Pointer(local)), C.uint64_t(cookie),
		(*C.DAT_RMR_TRIPLET)(unsafe.Pointer(remote)), C.DAT_COMPLETION_FLAGS(flags)))
}

// IBPostSendUD posts an unreliable datagram to the peer that ah names, on an
// endpoint of type ServiceTypeIBUD.
//
//	Implements: DAT_RETURN dat_ib_post_send_ud(IN DAT_EP_HANDLE ep, IN DAT_COUNT segments,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_IB_ADDR_HANDLE *ah_ptr, IN DAT_DTO_COOKIE cookie,
//	    IN DAT_COMPLETION_FLAGS flgs)
func IBPostSendUD(ep EPHandle, iov []LMRTriplet, ah *IBAddrHandle, cookie uint64, flags CompletionFlags) Return {
	return Return(C.goudat_ib_post_send_ud(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		unsafe.Pointer(ah), C.uint64_t(cookie), C.DAT_COMPLETION_FLAGS(flags)))
}

// IBPostRecvUD is another name of EPPostRecv.
//
//	Implements: DAT_RETURN dat_ib_post_recv_ud(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func IBPostRecvUD(ep EPHandle, iov []LMRTriplet, cookie uint64, flags CompletionFlags) Return {
	return Return(C.goudat_ib_post_recv_ud(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), C.DAT_COMPLETION_FLAGS(flags)))
}

// IBUDCMFree frees the connection object that an event gave as its context. The
// CMA and the socket CM provider do not implement it.
//
//	Implements: DAT_RETURN dat_ib_ud_cm_free(IN DAT_EP_HANDLE ep, IN DAT_CONTEXT cm)
func IBUDCMFree(ep EPHandle, cm uint64) Return {
	return Return(C.goudat_ib_ud_cm_free(C.goudat_handle(ep), C.DAT_UINT64(cm)))
}

// IBUDAHFree frees an address handle. The endpoint must be of type
// ServiceTypeIBUD: the library reads what others do not have.
//
//	Implements: DAT_RETURN dat_ib_ud_ah_free(IN DAT_EP_HANDLE ep, IN DAT_IB_ADDR_HANDLE *ah)
func IBUDAHFree(ep EPHandle, ah *IBAddrHandle) Return {
	return Return(C.goudat_ib_ud_ah_free(C.goudat_handle(ep), unsafe.Pointer(ah)))
}

// IBQueryHandle is what IBOpenQuery opens. The header calls it a handle of an
// interface adapter, but no other call takes it.
type IBQueryHandle uintptr

// IBOpenQuery fills attributes as IAQuery does, of an adapter that may be
// closed. An adapter that is opened before IBCloseQuery can make no EVDs.
//
//	Implements: DAT_RETURN dat_ib_open_query(IN const DAT_NAME_PTR name,
//	    OUT DAT_HANDLE *ia_handle, IN DAT_IA_ATTR_MASK ia_mask, OUT DAT_IA_ATTR *ia_attr,
//	    IN DAT_PROVIDER_ATTR_MASK prov_mask, OUT DAT_PROVIDER_ATTR *prov_attr)
func IBOpenQuery(name string, iaMask IAAttrMask, iaAttr *IAAttr, providerMask ProviderAttrMask, providerAttr *ProviderAttr) (IBQueryHandle, Return) {
	cName := append([]byte(name), 0)
	var query C.goudat_handle
	r := C.goudat_ib_open_query((*C.char)(unsafe.Pointer(&cName[0])), &query,
		C.DAT_IA_ATTR_MASK(iaMask), unsafe.Pointer(iaAttr),
		C.DAT_PROVIDER_ATTR_MASK(providerMask), unsafe.Pointer(providerAttr))
	return IBQueryHandle(query), Return(r)
}

// IBCloseQuery ends what IBOpenQuery began.
//
//	Implements: DAT_RETURN dat_ib_close_query(IN DAT_HANDLE ia_handle)
func IBCloseQuery(query IBQueryHandle) Return {
	return Return(C.goudat_ib_close_query(C.goudat_handle(query)))
}

// StrerrorExtension returns the name of an extension's error code; for any
// other code, Strerror's text for its type.
//
//	Implements: DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value,
//	    OUT const char **message)
func StrerrorExtension(value Return) (string, Return) {
	var message *C.char
	r := C.goudat_strerror_extension(C.DAT_IB_RETURN(value), &message)
	return C.GoString(message), Return(r)
}

// StrerrorExtStatus returns the name of an extended operation's status.
//
//	Implements: DAT_RETURN dat_strerror_ext_status(IN DAT_IB_STATUS value,
//	    OUT const char **message)
func StrerrorExtStatus(value IBStatus) (string, Return) {
	var message *C.char
	r := C.goudat_strerror_ext_status(C.DAT_IB_STATUS(value), &message)
	return C.GoString(message), Return(r)
}
