//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/dto.h"
#include "goudat/post.h"

#cgo noescape goudat_ep_post_send
#cgo nocallback goudat_ep_post_send
#cgo noescape goudat_ep_post_recv
#cgo nocallback goudat_ep_post_recv
#cgo noescape goudat_ep_post_rdma_read
#cgo nocallback goudat_ep_post_rdma_read
#cgo noescape goudat_ep_post_rdma_write
#cgo nocallback goudat_ep_post_rdma_write
#cgo noescape goudat_ep_post
#cgo nocallback goudat_ep_post
#cgo noescape goudat_ep_post_batch
#cgo nocallback goudat_ep_post_batch
*/
import "C"

import "unsafe"

// EPPostSend posts a send of the gathered segments.
//
//	Implements: DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func EPPostSend(ep EPHandle, iov []LMRTriplet, cookie uint64, flags CompletionFlags) Return {
	return Return(C.goudat_ep_post_send(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), C.DAT_COMPLETION_FLAGS(flags)))
}

// EPPostRecv posts a receive into the scattered segments.
//
//	Implements: DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func EPPostRecv(ep EPHandle, iov []LMRTriplet, cookie uint64, flags CompletionFlags) Return {
	return Return(C.goudat_ep_post_recv(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), C.DAT_COMPLETION_FLAGS(flags)))
}

// EPPostRDMARead posts a read of remote memory into the scattered segments.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
func EPPostRDMARead(ep EPHandle, iov []LMRTriplet, cookie uint64, remote *RMRTriplet, flags CompletionFlags) Return {
	return Return(C.goudat_ep_post_rdma_read(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), (*C.DAT_RMR_TRIPLET)(unsafe.Pointer(remote)), C.DAT_COMPLETION_FLAGS(flags)))
}

// EPPostRDMAWrite posts a write of the gathered segments to remote memory.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
func EPPostRDMAWrite(ep EPHandle, iov []LMRTriplet, cookie uint64, remote *RMRTriplet, flags CompletionFlags) Return {
	return Return(C.goudat_ep_post_rdma_write(C.goudat_handle(ep), C.DAT_COUNT(len(iov)), localIOV(iov),
		C.uint64_t(cookie), (*C.DAT_RMR_TRIPLET)(unsafe.Pointer(remote)), C.DAT_COMPLETION_FLAGS(flags)))
}

// EPPost posts an operation of any kind. operands are those of the extension's
// operations, nil for any other: the immediate value, the number to add, or the numbers
// to compare and to swap.
//
//	Implements: DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
//	Implements: DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
//	Implements: DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
//	Implements: DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
//	Implements: DAT_RETURN dat_ib_post_rdma_write_immed(IN DAT_EP_HANDLE ep, IN DAT_COUNT size,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_UINT32 idata, IN DAT_COMPLETION_FLAGS flgs)
//	Implements: DAT_RETURN dat_ib_post_fetch_and_add(IN DAT_EP_HANDLE ep, IN DAT_UINT64 add_val,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_COMPLETION_FLAGS flgs)
//	Implements: DAT_RETURN dat_ib_post_cmp_and_swap(IN DAT_EP_HANDLE ep, IN DAT_UINT64 cmp_val,
//	    IN DAT_UINT64 swap_val, IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie,
//	    IN DAT_RMR_TRIPLET *rbuf, IN DAT_COMPLETION_FLAGS flgs)
func EPPost(ep EPHandle, post *Post, iov []LMRTriplet, operands *[2]uint64) Return {
	return Return(C.goudat_ep_post(C.goudat_handle(ep), (*C.goudat_post)(unsafe.Pointer(post)), localIOV(iov),
		(*C.uint64_t)(unsafe.Pointer(operands))))
}

// EPPostBatch posts operations in one crossing, each by its own C function,
// until one is refused, and returns the Return of that one. iov has the
// segments of all of them, in order.
func EPPostBatch(ep EPHandle, posts []Post, iov []LMRTriplet) (accepted int, r Return) {
	var n C.int
	ret := C.goudat_ep_post_batch(C.goudat_handle(ep), (*C.goudat_post)(unsafe.Pointer(unsafe.SliceData(posts))),
		C.int(len(posts)), localIOV(iov), &n)
	return int(n), Return(ret)
}

// A Post has the layout of a goudat_post, which post.h asserts too: these do not
// compile otherwise.
const (
	_ = -(unsafe.Sizeof(Post{}) ^ 40)
	_ = -(unsafe.Offsetof(Post{}.Cookie) ^ 8)
	_ = -(unsafe.Offsetof(Post{}.Remote) ^ 16)
	_ = -(unsafe.Offsetof(Post{}.Flags) ^ 32)
)

func localIOV(iov []LMRTriplet) *C.DAT_LMR_TRIPLET {
	return (*C.DAT_LMR_TRIPLET)(unsafe.Pointer(unsafe.SliceData(iov)))
}
