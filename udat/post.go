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

// post posts an operation of any kind. operands are those of the extension's operations: see
// cgo.EPPost.
func (ep *EP) post(op *operation, p *Post, operands *[2]uint64) error {
	if ep == nil {
		return ep.object().unusable(op.call, InvalidHandleEP)
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
