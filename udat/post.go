package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// PostSend sends the bytes of the segments, in order, as one message. The memory must
// not change until the completion, which carries cookie and comes to the request EVD. A
// post does not allocate.
//
// flags may have CompletionSuppress for no completion when the send succeeds,
// CompletionSolicitedWait and CompletionBarrierFence. Suppressed sends that have
// succeeded count as outstanding until the library has learned of it, but never fill the queue:
// see EP.GetStatus.
//
// A completion with a failure means that the send is not known to have succeeded: with
// DTOErrFlushed the adapter had not seen it acknowledged when the connection ended, but
// the message may have arrived. A suppressed send without a completion has succeeded,
// once EventConnectionDisconnected or EventConnectionBroken was taken and the endpoint
// is idle. In DISCONNECTED, any send completes with DTOErrFlushed.
//
// It fails with ErrInvalidState before a connection and in DISCONNECT_PENDING,
// ErrInsufficientResources when EPAttr.MaxRequestDTOs are outstanding, or with the
// subtype ResourceTEVD when the request EVD has no room, see CreateEVD;
// ErrProtectionViolation for memory of another protection zone, ErrPrivilegesViolation
// for memory without MemPrivLocalRead, and ErrInvalidParameter. Nothing is posted then.
//
//	Implements: DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostSend(iov []Segment, cookie uint64, flags CompletionFlags) error {
	return ep.post(&opSend, &Post{Segments: iov, Cookie: cookie, Flags: flags}, nil)
}

// PostRecv makes the memory of the segments ready for one message, in order of posting.
// The memory belongs to the adapter until the completion, which carries cookie and the
// length of the message and comes to the receive EVD. A longer message breaks the
// connection. Receives can be posted in any state, and should be before the connection
// is established. The segments need MemPrivLocalWrite, and EPAttr.MaxRecvDTOs bounds
// the receives outstanding; for other errors see PostSend.
//
//	Implements: DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRecv(iov []Segment, cookie uint64, flags CompletionFlags) error {
	return ep.post(&opReceive, &Post{Segments: iov, Cookie: cookie, Flags: flags}, nil)
}

// PostRDMARead reads the remote memory into the segments, in order. The peer
// takes no part in it; it must have given the memory MemPrivRemoteRead. The
// completion comes to the request EVD. For flags and errors see PostSend; the
// segments need MemPrivLocalWrite, and may be IAAttr.MaxIOVSegmentsPerRead, which
// is 1 on iWARP.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_buffer, IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMARead(iov []Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return ep.post(&opRDMARead, &Post{Segments: iov, Cookie: cookie, Remote: remote, Flags: flags}, nil)
}

// PostRDMAWrite writes the bytes of the segments, in order, to the remote
// memory. The peer takes no part in it and gets no event; it must have given
// the memory MemPrivRemoteWrite. The completion comes to the request EVD. For
// flags and errors see PostSend.
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
