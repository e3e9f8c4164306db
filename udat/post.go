package udat

import (
	"errors"

	"github.com/goudat/goudat/cgo"
)

// PostSend sends the bytes of the segments, in order, as one message. The
// memory must not change until the completion, which carries cookie and comes
// to the request EVD. A post does not allocate.
//
// flags may have CompletionSuppress for no completion when the send succeeds,
// CompletionSolicitedWait and CompletionBarrierFence. Suppressed sends count as
// outstanding until a later one completes.
//
// It fails with ErrInvalidState unless connected, ErrInsufficientResources when
// EPAttr.MaxRequestDTOs are outstanding, ErrProtectionViolation for memory of
// another protection zone, ErrPrivilegesViolation for memory without
// MemPrivLocalRead, and ErrInvalidParameter; nothing is posted then.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
//	                            IN DAT_COUNT num_segments,
//	                            IN DAT_LMR_TRIPLET *local_iov,
//	                            IN DAT_DTO_COOKIE user_cookie,
//	                            IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostSend(iov []Segment, cookie uint64, flags CompletionFlags) error {
	const op = "dat_ep_post_send"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, requestPostFlags, InvalidArg5); err != nil {
		return err
	}
	d := &ep.request
	d.mu.Lock()
	native, err := d.prepare(op, DTOSend, iov, cookie, MemPrivLocalRead)
	if err == nil {
		err = d.finish(op, cgo.EPPostSend(d.handle, d.iov, native, flags))
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

// PostRecv makes the memory of the segments ready for one message, in order of
// posting. The memory belongs to the adapter until the completion, which
// carries cookie and the length of the message and comes to the receive EVD. A
// message that is longer breaks the connection. Receives can be posted in any
// state, and should be before the connection is established.
//
// It fails with ErrInsufficientResources when EPAttr.MaxRecvDTOs are
// outstanding, ErrProtectionViolation for memory of another protection zone,
// ErrPrivilegesViolation for memory without MemPrivLocalWrite, and
// ErrInvalidParameter; nothing is posted then.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
//	                            IN DAT_COUNT num_segments,
//	                            IN DAT_LMR_TRIPLET *local_iov,
//	                            IN DAT_DTO_COOKIE user_cookie,
//	                            IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRecv(iov []Segment, cookie uint64, flags CompletionFlags) error {
	const op = "dat_ep_post_recv"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, recvPostFlags, InvalidArg5); err != nil {
		return err
	}
	d := &ep.recv
	d.mu.Lock()
	native, err := d.prepare(op, DTOReceive, iov, cookie, MemPrivLocalWrite)
	if err == nil {
		err = d.finish(op, cgo.EPPostRecv(d.handle, d.iov, native, flags))
	}
	if err == nil {
		ep.early.note(iov, cookie, flags)
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

// PostRDMARead reads the remote memory into the segments, in order. The peer
// takes no part in it; it must have given the memory MemPrivRemoteRead. The
// completion comes to the request EVD. For flags and errors see PostSend; the
// segments need MemPrivLocalWrite.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
//	                                 IN DAT_COUNT num_segments,
//	                                 IN DAT_LMR_TRIPLET *local_iov,
//	                                 IN DAT_DTO_COOKIE user_cookie,
//	                                 IN const DAT_RMR_TRIPLET *remote_buffer,
//	                                 IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMARead(iov []Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	const op = "dat_ep_post_rdma_read"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, requestPostFlags, InvalidArg6); err != nil {
		return err
	}
	d := &ep.request
	d.mu.Lock()
	native, err := ep.prepareRDMA(op, DTORDMARead, iov, cookie, MemPrivLocalWrite, remote)
	if err == nil {
		err = d.finish(op, cgo.EPPostRDMARead(d.handle, d.iov, native, &remote, flags))
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

// PostRDMAWrite writes the bytes of the segments, in order, to the remote
// memory. The peer takes no part in it and gets no event; it must have given
// the memory MemPrivRemoteWrite. The completion comes to the request EVD. For
// flags and errors see PostSend.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
//	                                  IN DAT_COUNT num_segments,
//	                                  IN DAT_LMR_TRIPLET *local_iov,
//	                                  IN DAT_DTO_COOKIE user_cookie,
//	                                  IN const DAT_RMR_TRIPLET *remote_buffer,
//	                                  IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMAWrite(iov []Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	const op = "dat_ep_post_rdma_write"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, requestPostFlags, InvalidArg6); err != nil {
		return err
	}
	d := &ep.request
	d.mu.Lock()
	native, err := ep.prepareRDMA(op, DTORDMAWrite, iov, cookie, MemPrivLocalRead, remote)
	if err == nil {
		err = d.finish(op, cgo.EPPostRDMAWrite(d.handle, d.iov, native, &remote, flags))
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

const (
	requestPostFlags = CompletionSuppress | CompletionSolicitedWait | CompletionUnsignalled | CompletionBarrierFence
	recvPostFlags    = CompletionUnsignalled
)

func checkPostFlags(op string, flags, known CompletionFlags, arg ReturnSubtype) error {
	if flags&^known != 0 {
		return refuse(op, ErrInvalidParameter, arg, "the completion flags are %v, they may have %v", flags, known)
	}
	return nil
}

// prepare checks an operation and gives the native cookie for it; the native
// segments are in d.iov then. The caller holds mu.
func (d *direction) prepare(op string, kind DTO, iov []Segment, cookie uint64, needs MemPriv) (uint64, error) {
	switch {
	case d.handle == 0:
		return 0, errNoEndpoint
	case d.limit == 0:
		return 0, refuse(op, ErrInvalidState, InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions")
	case d.closed:
		return 0, refuse(op, ErrInvalidState, InvalidStateEPDiscPending, "the endpoint is being disconnected")
	case d.broken:
		return 0, refuse(op, ErrInvalidState, InvalidStateEPNotReady, "an earlier post failed inside the library, the endpoint must be disconnected and reset")
	case len(iov) > d.maxIOV:
		return 0, refuse(op, ErrInvalidParameter, InvalidArg2, "there are %d segments, the endpoint takes at most %d", len(iov), d.maxIOV)
	case d.outstanding() >= d.limit:
		return 0, refuse(op, ErrInsufficientResources, ResourceMemory, "all %d operations of the endpoint are outstanding", d.limit)
	}
	d.iov = d.iov[:0]
	var total uint64
	for i := range iov {
		s := &iov[i]
		if s.lmr != nil {
			if err := s.check(op, i, d.pz, needs); err != nil {
				return 0, err
			}
		}
		total += uint64(s.triplet.SegmentLength)
		d.iov = append(d.iov, s.triplet)
	}
	if most := d.mostBytes(kind); total > uint64(most) {
		return 0, refuse(op, ErrInvalidParameter, InvalidArg3, "the operation has %d bytes, the endpoint takes at most %d", total, most)
	}
	return d.record(kind, cookie), nil
}

func (s *Segment) check(op string, i int, pz *PZ, needs MemPriv) error {
	switch {
	case s.lmr.gone.Load():
		return &Error{
			Op:     op,
			Return: cgo.ClassError | Return(ErrInvalidHandle) | Return(InvalidHandleLMR),
			Detail: "the memory region of a segment is already freed",
			Err:    ErrClosed,
		}
	case s.lmr.pz != pz:
		return refuse(op, ErrProtectionViolation, protectionSubtype(needs), "segment %d is not in the endpoint's protection zone", i)
	case s.lmr.privileges&needs == 0:
		return refuse(op, ErrPrivilegesViolation, privilegesSubtype(needs), "segment %d has the privileges %v, the operation needs %v", i, s.lmr.privileges, needs)
	}
	return nil
}

func protectionSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return ProtectionWrite
	}
	return ProtectionRead
}

func privilegesSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return PrivilegesWrite
	}
	return PrivilegesRead
}

// finish notes what the library made of a post. A refusal by state is harmless;
// any other failure leaves the library's records of the direction in disorder.
func (d *direction) finish(op string, r Return) error {
	if r.OK() {
		return nil
	}
	d.withdraw()
	if r.Type() != ErrInvalidState {
		d.broken = true
	}
	return check(op, r)
}

// prepareRDMA is prepare with the checks of what an RDMA operation has beside
// its segments.
func (ep *EP) prepareRDMA(op string, kind DTO, iov []Segment, cookie uint64, needs MemPriv, remote RMRTriplet) (uint64, error) {
	native, err := ep.request.prepare(op, kind, iov, cookie, needs)
	if err != nil {
		return 0, err
	}
	var total uint64
	for _, t := range ep.request.iov {
		total += uint64(t.SegmentLength)
	}
	switch {
	case total > uint64(remote.SegmentLength):
		err = refuse(op, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d", total, remote.SegmentLength)
	case kind == DTORDMARead && ep.attr.MaxRDMAReadOut == 0:
		err = refuse(op, ErrInvalidParameter, NoSubtype, "the endpoint was made with MaxRDMAReadOut 0")
	}
	if err != nil {
		ep.request.withdraw()
	}
	return native, err
}

// errNoEndpoint says that the direction belongs to no native endpoint. explain
// finds out why once the direction's lock is released.
var errNoEndpoint = errors.New("no native endpoint")

// explain completes the error of a post with what takes the gate to know: the
// library names UNCONNECTED whatever the state is.
func (ep *EP) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	e, isError := err.(*Error)
	if err != errNoEndpoint && !(isError && e.Detail == "" && e.Return.Type() == ErrInvalidState) {
		return err
	}
	if gone := ep.obj.enter(op, InvalidHandleEP); gone != nil {
		return gone
	}
	defer ep.obj.leave()
	if required := ep.requireState(op, EPStateConnected); required != nil {
		return required
	}
	return err
}
