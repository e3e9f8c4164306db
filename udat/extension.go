package udat

import (
	"encoding/binary"

	"github.com/goudat/goudat/cgo"
)

// extensionAttributes are the provider's names for the operations of the extension, as attributes of a device that
// are TRUE or FALSE.
var extensionAttributes = map[string]operation{
	"DAT_IB_IMMED_DATA":    opRDMAWriteImmed,
	"DAT_IB_FETCH_AND_ADD": opFetchAndAdd,
	"DAT_IB_CMP_AND_SWAP":  opCmpAndSwap,
}

// lackedOperations are those that the attributes deny. The adapters' libraries
// refuse them only when they are posted, if at all.
func lackedOperations(attributes []NamedAttr) (lacked operationSet) {
	for _, a := range attributes {
		if op, known := extensionAttributes[a.Name]; known && a.Value == "FALSE" {
			lacked |= 1 << op
		}
	}
	return lacked
}

// Supports reports whether the adapter's device has an operation. It may lack those
// of the InfiniBand extension, DTOIBRDMAWriteImmed, DTOIBFetchAdd and DTOIBCmpSwap,
// and does on iWARP. Posting one that it lacks fails with ErrNotImplemented.
func (a ProviderAttr) Supports(op DTO) bool {
	lacked := lackedOperations(a.ProviderSpecificAttr)
	for _, extended := range extensionAttributes {
		if extended.dto() == op {
			return !lacked.has(extended)
		}
	}
	return true
}

// atomicSize is the number of bytes that an atomic operation is about.
const atomicSize = 8

// PostRDMAWriteImmed is PostRDMAWrite that also completes the peer's next
// receive, with Event.Immediate, and Operation DTOIBRecvImmed. The peer must
// have posted one; its memory is not touched. It is an InfiniBand extension:
// it fails with ErrNotImplemented on a device that does not have it, as those of
// iWARP.
//
// The value arrives as it was given, whatever the byte orders of the hosts.
//
// Implements:
//
//	DAT_RETURN dat_ib_post_rdma_write_immed(IN DAT_EP_HANDLE ep,
//	                                        IN DAT_COUNT size,
//	                                        IN DAT_LMR_TRIPLET *lbuf,
//	                                        IN DAT_DTO_COOKIE cookie,
//	                                        IN DAT_RMR_TRIPLET *rbuf,
//	                                        IN DAT_UINT32 idata,
//	                                        IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostRDMAWriteImmed(iov []Segment, cookie uint64, remote RMRTriplet, immediate uint32, flags CompletionFlags) error {
	const op = "dat_ib_post_rdma_write_immed"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, requestPostFlags, InvalidArg7); err != nil {
		return err
	}
	d := &ep.request
	d.mu.Lock()
	native, err := ep.prepareExtension(op, opRDMAWriteImmed, iov, cookie, MemPrivLocalRead, remote)
	if err == nil {
		native, flags = d.suppress(native, flags)
		err = d.finish(op, cgo.IBPostRDMAWriteImmed(d.handle, d.iov, native, remote.native(), littleEndian(immediate), cgo.CompletionFlags(flags)))
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

// PostFetchAndAdd adds a number to 8 bytes of remote memory, atomically with
// regard to other such operations on the peer's adapter. local gets the bytes'
// old value, in the byte order of the adapter's host. The peer must have given
// the memory MemPrivIBRemoteAtomic, and its address must be a multiple of 8;
// local must have 8 bytes. For completion, flags and errors see PostRDMARead.
// It is an InfiniBand extension: see PostRDMAWriteImmed.
//
// Implements:
//
//	DAT_RETURN dat_ib_post_fetch_and_add(IN DAT_EP_HANDLE ep,
//	                                     IN DAT_UINT64 add_val,
//	                                     IN DAT_LMR_TRIPLET *lbuf,
//	                                     IN DAT_DTO_COOKIE cookie,
//	                                     IN DAT_RMR_TRIPLET *rbuf,
//	                                     IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostFetchAndAdd(add uint64, local Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	const op = "dat_ib_post_fetch_and_add"
	return ep.postAtomic(op, opFetchAndAdd, local, cookie, remote, flags, func(native uint64, flags CompletionFlags) cgo.Return {
		d := &ep.request
		return cgo.IBPostFetchAndAdd(d.handle, add, &d.iov[0], native, remote.native(), cgo.CompletionFlags(flags))
	})
}

// PostCmpAndSwap replaces 8 bytes of remote memory by swap if they equal
// compare. local gets the bytes' old value either way. For the rest see
// PostFetchAndAdd.
//
// Implements:
//
//	DAT_RETURN dat_ib_post_cmp_and_swap(IN DAT_EP_HANDLE ep,
//	                                    IN DAT_UINT64 cmp_value,
//	                                    IN DAT_UINT64 swap_value,
//	                                    IN DAT_LMR_TRIPLET *lbuf,
//	                                    IN DAT_DTO_COOKIE cookie,
//	                                    IN DAT_RMR_TRIPLET *rbuf,
//	                                    IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostCmpAndSwap(compare, swap uint64, local Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	const op = "dat_ib_post_cmp_and_swap"
	return ep.postAtomic(op, opCmpAndSwap, local, cookie, remote, flags, func(native uint64, flags CompletionFlags) cgo.Return {
		d := &ep.request
		return cgo.IBPostCmpAndSwap(d.handle, compare, swap, &d.iov[0], native, remote.native(), cgo.CompletionFlags(flags))
	})
}

func (ep *EP) postAtomic(op string, kind operation, local Segment, cookie uint64, remote RMRTriplet, flags CompletionFlags, post func(native uint64, flags CompletionFlags) cgo.Return) error {
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := checkPostFlags(op, flags, requestPostFlags, InvalidArg6); err != nil {
		return err
	}
	switch {
	case local.Len() != atomicSize:
		return refuse(op, ErrInvalidParameter, InvalidArg3, "the local segment has %d bytes, make it %d bytes long", local.Len(), atomicSize)
	case remote.SegmentLength < atomicSize:
		return refuse(op, ErrInvalidParameter, InvalidArg5, "the remote memory has %d bytes, make it %d bytes long", remote.SegmentLength, atomicSize)
	case remote.VirtualAddress%atomicSize != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg5, "the remote address is 0x%x, it must be a multiple of %d: have the peer align its memory", remote.VirtualAddress, atomicSize)
	}
	d := &ep.request
	iov := [1]Segment{local}
	d.mu.Lock()
	native, err := ep.prepareExtension(op, kind, iov[:], cookie, MemPrivLocalWrite, remote)
	if err == nil {
		native, flags = d.suppress(native, flags)
		err = d.finish(op, post(native, flags))
	}
	d.mu.Unlock()
	return ep.explain(op, err)
}

// prepareExtension is prepareRDMA for an operation of which the library does not
// check whether the endpoint is connected.
func (ep *EP) prepareExtension(op string, kind operation, iov []Segment, cookie uint64, needs MemPriv, remote RMRTriplet) (uint64, error) {
	d := &ep.request
	if d.handle == 0 {
		return 0, errNotReady
	}
	if state, r := nativeState(d.handle); r.OK() && state != EPStateConnected {
		return 0, errNotReady
	}
	native, err := ep.prepareRDMA(op, kind, iov, cookie, needs, remote)
	if err == nil && ep.ia.lacks.has(kind) {
		d.withdraw()
		err = refuse(op, ErrNotImplemented, NoSubtype, "the device %s does not have the operation: do without where ProviderAttr.Supports says so", ep.ia.attr.AdapterName)
	}
	return native, err
}

// littleEndian gives a value whose bytes in memory are little-endian. The
// library puts an immediate value on the wire as it lies in memory, and the C
// programs that a peer may be are mostly of that order.
func littleEndian(v uint32) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return binary.NativeEndian.Uint32(b[:])
}
