package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// PostSend sends the bytes of the segments, in order, as one message. Do not change the memory
// until the completion, which carries cookie and goes to the request EVD. PostSend does not
// allocate.
//
// flags may have CompletionSuppress (no completion if the send succeeds), CompletionSolicitedWait
// and CompletionBarrierFence. A suppressed send never fills the queue, but is outstanding until the
// library learns that it succeeded: see EP.GetStatus. Without a completion it has succeeded once
// the endpoint is idle after the end of the connection.
//
// A failed completion means that the send is not known to have succeeded. With DTOErrFlushed the
// connection ended before an acknowledgment, but the message may have arrived. In DISCONNECTED
// every send completes with DTOErrFlushed.
//
// If PostSend fails, nothing is posted. It fails with ErrInvalidState before a connection and in
// DISCONNECT_PENDING; ErrInsufficientResources if EPAttr.MaxRequestDTOs requests are outstanding
// or, subtype ResourceTEVD, if the request EVD has no room, see CreateEVD; ErrProtectionViolation
// for memory of another protection zone; ErrPrivilegesViolation for memory without
// MemPrivLocalRead; or ErrInvalidParameter.
//
//	Implements: DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
//	    IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostSend(iov []Segment, cookie uint64, flags CompletionFlags) error {
	return ep.post(&opSend, &Post{Segments: iov, Cookie: cookie, Flags: flags}, nil)
}

// PostRecv posts memory for one message; messages use receives in order of posting. The memory
// belongs to the adapter until the completion, which carries cookie and the length of the message
// and goes to the receive EVD. A longer message breaks the connection. Receives can be posted in
// any state; post them before the connection is established. The segments need MemPrivLocalWrite.
// EPAttr.MaxRecvDTOs receives may be outstanding. For errors see PostSend.
//
//	Implements: DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
//	    IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRecv(iov []Segment, cookie uint64, flags CompletionFlags) error {
	return ep.post(&opReceive, &Post{Segments: iov, Cookie: cookie, Flags: flags}, nil)
}

// PostRDMARead reads the remote memory into the segments, in order, without the peer's program. The
// remote memory needs MemPrivRemoteRead, the segments MemPrivLocalWrite.
// IAAttr.MaxIOVSegmentsPerRead limits the segments: 1 on iWARP. For completion, flags and errors
// see PostSend.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMARead(iov []Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return ep.post(&opRDMARead, &Post{Segments: iov, Cookie: cookie, Remote: remote, Flags: flags}, nil)
}

// PostRDMAWrite writes the bytes of the segments, in order, to the remote memory. The peer's
// program gets no event. The remote memory needs MemPrivRemoteWrite. For completion, flags and
// errors see PostSend.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMAWrite(iov []Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return ep.post(&opRDMAWrite, &Post{Segments: iov, Cookie: cookie, Remote: remote, Flags: flags}, nil)
}

// post posts an operation of any kind. For operands, of the extension's, see cgo.EPPost.
func (ep *EP) post(op *operation, p *Post, operands *[2]uint64) error {
	if ep == nil {
		return objectOf(ep).unusable(op.call, InvalidHandleEP)
	}
	q := ep.queue(op)
	q.mu.Lock()
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	err := q.add(op, p, argument{&ep.obj, InvalidHandleEP})
	if err == nil {
		if r := cgo.EPPost(cgo.EPHandle(q.handle), &q.posts[0], q.iov, operands); !r.OK() {
			err = q.refused(op, len(q.iov), r)
		} else {
			ep.ia.counters.Load().posted(1)
			if ep.shadow != nil {
				shadow.Assert(&q.mu, func() { ep.shadow.Posted(op.call) })
			}
		}
	}
	q.mu.Unlock() // without a defer: see shadow.Assert
	ep.ia.refusedPost(err)
	return err
}

// queue returns the queue that an operation is posted to.
func (ep *EP) queue(op *operation) *workQueue {
	if op == &opReceive {
		return &ep.recv
	}
	return &ep.request
}

// PostBatch posts operations in order, and returns how many were accepted. It stops at the first
// that is refused; the error says why. Each is checked, and completes, as if posted alone: see
// PostSend.
//
// Up to 64 consecutive receives, or requests, cross into C at once; other posts may come between
// two such parts. PostBatch does not keep the slice, and allocates only the first time on an
// endpoint. With soft-RoCE a post takes 20 µs and longer: a program that posts for milliseconds
// should call runtime.Gosched now and then, or Go's runtime takes its processor away.
func (ep *EP) PostBatch(batch []Post) (accepted int, err error) {
	call := opSend.call
	if len(batch) == 0 || ep == nil {
		return 0, objectOf(ep).usable(call, InvalidHandleEP)
	}
	for accepted < len(batch) && err == nil {
		first := batchedOperation(batch[accepted].Operation)
		if first == nil {
			if err := ep.obj.usable(call, InvalidHandleEP); err != nil {
				return accepted, err
			}
			return accepted, refuse(call, ErrInvalidParameter, NoSubtype,
				"Operation of post %d of the batch is %v, it must be DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite: set it, and post others with the method of their own", accepted, batch[accepted].Operation)
		}
		q := ep.queue(first)
		var n int
		q.mu.Lock()
		n, err = q.postSome(ep, first == &opReceive, batch[accepted:min(len(batch), accepted+mostAtOnce)])
		q.mu.Unlock()
		accepted += n
	}
	ep.ia.refusedPost(err)
	return accepted, err
}

// mostAtOnce bounds the operations of one crossing, which holds the queue's lock. A crossing
// takes 29 ns, half a nanosecond for each operation.
const mostAtOnce = 64

// postSome posts the leading receives, or requests, of batch. The caller holds mu.
func (q *workQueue) postSome(ep *EP, receives bool, batch []Post) (accepted int, err error) {
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	for i := range batch {
		op := batchedOperation(batch[i].Operation)
		if op == nil || (op == &opReceive) != receives {
			break
		}
		if err = q.add(op, &batch[i], argument{&ep.obj, InvalidHandleEP}); err != nil {
			break
		}
	}
	if len(q.posts) == 0 {
		return 0, err
	}
	accepted, r := cgo.EPPostBatch(cgo.EPHandle(q.handle), q.posts, q.iov)
	ep.ia.counters.Load().posted(accepted)
	if accepted < len(q.posts) {
		err = q.refused(batchedOperation(batch[accepted].Operation), int(q.posts[accepted].Segments), r)
	}
	if ep.shadow != nil {
		for i := range batch[:accepted] {
			shadow.Assert(&q.mu, func() { ep.shadow.Posted(batchedOperation(batch[i].Operation).call) })
		}
	}
	return accepted, err
}

// atomicSize is the number of bytes that an atomic operation is about.
const atomicSize = 8

// PostRDMAWriteImmed is PostRDMAWrite that also completes the peer's next receive, with Operation
// DTOIBRecvImmed and Event.Immediate. The peer must have posted one; its memory is not touched. It
// is an InfiniBand extension: devices without it, such as those of iWARP, fail with
// ErrNotImplemented.
//
//	Implements: DAT_RETURN dat_ib_post_rdma_write_immed(IN DAT_EP_HANDLE ep, IN DAT_COUNT size,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_UINT32 idata, IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostRDMAWriteImmed(iov []Segment, cookie uint64, remote RMRTriplet, immediate uint32, flags CompletionFlags) error {
	return ep.post(&opRDMAWriteImmed, &Post{Segments: iov, Cookie: cookie, Remote: remote, Flags: flags}, &[2]uint64{uint64(littleEndian(immediate))})
}

// PostFetchAndAdd adds to 8 bytes of remote memory, atomically among such operations on the peer's
// adapter. local, of 8 bytes, gets the old value in the byte order of the adapter's host. The
// remote memory needs MemPrivIBRemoteAtomic and an address that is a multiple of 8. For the rest
// see PostRDMARead. It is an InfiniBand extension: see PostRDMAWriteImmed.
//
//	Implements: DAT_RETURN dat_ib_post_fetch_and_add(IN DAT_EP_HANDLE ep, IN DAT_UINT64 add_val,
//	    IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie, IN DAT_RMR_TRIPLET *rbuf,
//	    IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostFetchAndAdd(add uint64, local Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return ep.postAtomic(&opFetchAndAdd, &Post{Segments: []Segment{local}, Cookie: cookie, Remote: remote, Flags: flags}, &[2]uint64{add})
}

// PostCmpAndSwap replaces 8 bytes of remote memory by swap if they equal compare. local gets the
// old value in any case. See also PostFetchAndAdd.
//
//	Implements: DAT_RETURN dat_ib_post_cmp_and_swap(IN DAT_EP_HANDLE ep, IN DAT_UINT64 cmp_value,
//	    IN DAT_UINT64 swap_value, IN DAT_LMR_TRIPLET *lbuf, IN DAT_DTO_COOKIE cookie,
//	    IN DAT_RMR_TRIPLET *rbuf, IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostCmpAndSwap(compare, swap uint64, local Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return ep.postAtomic(&opCmpAndSwap, &Post{Segments: []Segment{local}, Cookie: cookie, Remote: remote, Flags: flags}, &[2]uint64{compare, swap})
}

func (ep *EP) postAtomic(op *operation, p *Post, operands *[2]uint64) error {
	switch {
	case ep == nil:
		return objectOf(ep).unusable(op.call, InvalidHandleEP)
	case p.Segments[0].Len() != atomicSize:
		return refuse(op.call, ErrInvalidParameter, InvalidArg3, "the local segment has %d bytes, make it %d bytes long", p.Segments[0].Len(), atomicSize)
	case p.Remote.SegmentLength < atomicSize:
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the remote memory has %d bytes, make it %d bytes long", p.Remote.SegmentLength, atomicSize)
	case p.Remote.VirtualAddress%atomicSize != 0:
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the remote address is 0x%x, it must be a multiple of %d: have the peer align its memory", p.Remote.VirtualAddress, atomicSize)
	}
	return ep.post(op, p, operands)
}
