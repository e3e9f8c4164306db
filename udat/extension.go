package udat

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
		return ep.object().unusable(op.call, InvalidHandleEP)
	case p.Segments[0].Len() != atomicSize:
		return refuse(op.call, ErrInvalidParameter, InvalidArg3, "the local segment has %d bytes, make it %d bytes long", p.Segments[0].Len(), atomicSize)
	case p.Remote.SegmentLength < atomicSize:
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the remote memory has %d bytes, make it %d bytes long", p.Remote.SegmentLength, atomicSize)
	case p.Remote.VirtualAddress%atomicSize != 0:
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the remote address is 0x%x, it must be a multiple of %d: have the peer align its memory", p.Remote.VirtualAddress, atomicSize)
	}
	return ep.post(op, p, operands)
}
