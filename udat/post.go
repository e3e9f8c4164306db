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
// CompletionSolicitedWait and CompletionBarrierFence. Suppressed sends that have
// succeeded count as outstanding until udat has learned so, but never fill
// the queue: see EP.GetStatus.
//
// A completion with a failure, of a suppressed send or any other, means that the
// send is not known to have succeeded. DTOErrFlushed is what the adapter says of
// what it had not seen acknowledged when the connection ended: the message may
// have arrived even so. No completion of a suppressed send means that it has
// succeeded, once EventConnectionDisconnected or EventConnectionBroken was taken
// and the endpoint is idle.
//
// It fails with ErrInvalidState unless connected, ErrInsufficientResources when
// EPAttr.MaxRequestDTOs are outstanding, or with the subtype ResourceTEVD when the
// request EVD has no room, see CreateEVD; ErrProtectionViolation for memory of
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
	native, err := d.prepare(op, opSend, iov, cookie, MemPrivLocalRead)
	if err == nil {
		native, flags = d.suppress(native, flags)
		err = d.finish(op, cgo.EPPostSend(d.handle, d.iov, native, cgo.CompletionFlags(flags)))
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
// It fails with ErrInsufficientResources when EPAttr.MaxRecvDTOs are outstanding,
// or with the subtype ResourceTEVD when the receive EVD has no room, see CreateEVD;
// ErrProtectionViolation for memory of another protection zone,
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
	native, err := d.prepare(op, opReceive, iov, cookie, MemPrivLocalWrite)
	if err == nil {
		err = d.finish(op, cgo.EPPostRecv(d.handle, d.iov, native, cgo.CompletionFlags(flags)))
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
// segments need MemPrivLocalWrite, and may be IAAttr.MaxIOVSegmentsPerRead, which
// is 1 on iWARP.
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
	native, err := ep.prepareRDMA(op, opRDMARead, iov, cookie, MemPrivLocalWrite, remote)
	if err == nil {
		native, flags = d.suppress(native, ep.readFlags(flags))
		err = d.finish(op, cgo.EPPostRDMARead(d.handle, d.iov, native, remote.native(), cgo.CompletionFlags(flags)))
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
	native, err := ep.prepareRDMA(op, opRDMAWrite, iov, cookie, MemPrivLocalRead, remote)
	if err == nil {
		native, flags = d.suppress(native, flags)
		err = d.finish(op, cgo.EPPostRDMAWrite(d.handle, d.iov, native, remote.native(), cgo.CompletionFlags(flags)))
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
		return refuse(op, ErrInvalidParameter, arg, "the completion flags are %v, they may have %v: leave CompletionDefault", flags, known)
	}
	return nil
}

// prepare checks an operation and gives the native cookie for it; the native
// segments are in d.iov then. The caller holds mu.
func (d *direction) prepare(op string, kind operation, iov []Segment, cookie uint64, needs MemPriv) (uint64, error) {
	if err := d.examine(op, kind, iov, needs); err != nil {
		return 0, err
	}
	switch {
	case d.flushes(kind):
		return 0, d.flushPost(op, kind, cookie)
	case d.keeps(kind, cookie):
		return 0, errFlushed
	}
	return d.record(kind, cookie), nil
}

// examine checks an operation, and puts its native segments into d.iov. The
// operation has its room then. The caller holds mu.
func (d *direction) examine(op string, kind operation, iov []Segment, needs MemPriv) error {
	switch {
	case d.handle == 0:
		return errNotReady
	case d.shared:
		return refuse(op, ErrInvalidState, InvalidStateSRQInUse, "the endpoint receives through a shared receive queue: post to that")
	case d.limit == 0:
		return refuse(op, ErrInvalidState, InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions: give it one with CreateEP or Modify")
	case d.closed:
		return refuse(op, ErrInvalidState, InvalidStateEPDiscPending, "the endpoint is being disconnected: wait for EventConnectionDisconnected, Reset it and connect it again")
	case d.broken:
		return refuse(op, ErrInvalidState, InvalidStateEPNotReady, "an earlier post failed inside the library: Disconnect the endpoint and Reset it")
	case len(iov) > d.maxIOV:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "there are %d segments, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxRecvIOV and MaxRequestIOV", len(iov), d.maxIOV)
	case d.outstanding() >= d.freely && !d.admit():
		return d.errFull(op)
	}
	total, err := d.gather(op, iov, needs)
	if err != nil {
		d.giveRoom()
		return err
	}
	if most := d.mostBytes(kind); total > uint64(most) {
		d.giveRoom()
		return refuse(op, ErrInvalidParameter, InvalidArg3, "the operation has %d bytes, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxMessageSize and MaxRDMASize", total, most)
	}
	return nil
}

// flushes tells whether an operation completes at once instead of being posted.
func (d *direction) flushes(kind operation) bool {
	c := &d.ep.connection
	return c.ended.Load() || (kind == opReceive || d.ep.ia.iwarp) && c.ending() && d.idle()
}

// errFlushed says that an operation needs no posting: it has completed already, or
// does so with the end of the connection.
var errFlushed = errors.New("operation flushed")

// flushPost completes an operation on an endpoint that has ended: the library
// does not, or leaves it to the adapter, and soft-RoCE looks at no receive that
// is posted after the end, nor iWARP at a request. What nobody
// takes fills the event dispatcher, as it would have in the library.
func (d *direction) flushPost(op string, kind operation, cookie uint64) error {
	event := d.failed(kind, cookie, DTOErrFlushed)
	switch {
	case d.epoch != 0:
		d.giveRoom() // to the event
		d.evd.add(event)
	case !d.evd.addWithin(event):
		return d.evd.errNoRoom(op)
	}
	return errFlushed
}

// gather checks the segments and puts their native form into d.iov.
func (d *direction) gather(op string, iov []Segment, needs MemPriv) (total uint64, err error) {
	d.iov, d.regions = d.iov[:0], d.regions[:0]
	for i := range iov {
		s := &iov[i]
		if s.lmr != nil {
			d.known.meet(s.lmr, d.owner)
			if err := s.check(op, i, d.pz, needs); err != nil {
				return 0, err
			}
			d.regions = append(d.regions, s.lmr)
		}
		if s.triplet.SegmentLength == 0 && d.misreadsEmpty {
			continue // the kernel's soft-iWARP would end here
		}
		total += uint64(s.triplet.SegmentLength)
		d.iov = append(d.iov, s.triplet)
	}
	// Soft-iWARP refuses a receive without segments, and makes an RDMA read without any
	// with the segment of an earlier operation.
	if len(d.iov) == 0 && needs == MemPrivLocalWrite && d.misreadsEmpty {
		d.iov = append(d.iov, cgo.LMRTriplet{})
	}
	return total, nil
}

func (s *Segment) check(op string, i int, pz *PZ, needs MemPriv) error {
	switch {
	case s.lmr.gone.Load():
		return s.lmr.obj.freed(op, InvalidHandleLMR)
	case s.lmr.pz != pz:
		return refuse(op, ErrProtectionViolation, protectionSubtype(needs), "segment %d is not in the endpoint's protection zone: register its memory there", i)
	case s.lmr.privileges&needs == 0:
		return refuse(op, ErrPrivilegesViolation, privilegesSubtype(needs), "segment %d has the privileges %v, the operation needs %v: register its memory with that", i, s.lmr.privileges, needs)
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
func (d *direction) finish(op string, r cgo.Return) error {
	if r.OK() || d.refusedAtEnd(r) {
		d.ep.shadow.posted(d, op)
		return nil
	}
	d.withdraw()
	return d.refusedByLibrary(op, r)
}

// refusedByLibrary gives the error of an operation that the library has not
// taken.
func (d *direction) refusedByLibrary(op string, r cgo.Return) error {
	if r.Type() != cgo.InvalidState {
		d.broken = true
	}
	return check(op, r)
}

// prepareRDMA is prepare with the checks of what an RDMA operation has beside
// its segments.
func (ep *EP) prepareRDMA(op string, kind operation, iov []Segment, cookie uint64, needs MemPriv, remote RMRTriplet) (uint64, error) {
	native, err := ep.request.prepare(op, kind, iov, cookie, needs)
	if err != nil {
		return 0, err
	}
	return native, ep.request.checkRemote(op, kind, remote)
}

// checkRemote checks what an RDMA operation has beside its segments, and
// withdraws the operation, which was prepared last, if it refuses it.
func (d *direction) checkRemote(op string, kind operation, remote RMRTriplet) (err error) {
	var total uint64
	for i := range d.iov {
		total += uint64(d.iov[i].SegmentLength)
	}
	switch {
	case total > uint64(remote.SegmentLength):
		err = refuse(op, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d: shorten the segments, or have the peer give more of its memory", total, remote.SegmentLength)
	case kind == opRDMARead && len(d.iov) > d.ep.ia.attr.MaxIOVSegmentsPerRead:
		// The library takes them, and soft-iWARP then reads into the first segment alone.
		err = refuse(op, ErrInvalidParameter, InvalidArg2, "there are %d segments, an RDMA read of the adapter takes at most %d: post several reads",
			len(d.iov), d.ep.ia.attr.MaxIOVSegmentsPerRead)
	case kind == opRDMARead && readsOf(d.ep.attr.MaxRDMAReadOut) == 0:
		err = refuse(op, ErrInvalidParameter, NoSubtype, "the endpoint was made without RDMA reads: leave EPAttr.MaxRDMAReadOut 0 for the default, or give it a number")
	}
	if err != nil {
		d.withdraw()
	}
	return err
}

// errNotReady says that the direction belongs to no native endpoint, or to one
// that is not connected. explain finds out more once the direction's lock is
// released.
var errNotReady = errors.New("endpoint not ready")

// explain completes the error of a post with what takes the gate to know: the
// library names UNCONNECTED whatever the state is.
func (ep *EP) explain(op string, err error) error {
	if err == nil || err == errFlushed {
		return nil
	}
	e, isError := err.(*Error)
	if err != errNotReady && !(isError && e.Detail == "" && e.Return.Type() == ErrInvalidState) {
		return err
	}
	if gone := ep.obj.enter(op, InvalidHandleEP); gone != nil {
		return gone
	}
	defer ep.obj.leave()
	if required := ep.requireState(op, EPStateConnected); required != nil {
		return required
	}
	return refuse(op, ErrInvalidState, NoSubtype, "the endpoint was not connected when the operation was posted: wait for EventConnectionEstablished first")
}
