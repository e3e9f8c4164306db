package udat

import (
	"encoding/binary"
)

// RMRTriplet names memory of a peer, for the remote side of an RDMA operation.
// The peer makes it with LMR.RMRTriplet and sends it over, for example with
// AppendBinary. Its fields can be sent as numbers of any form too, and an
// RMRTriplet be made of them; Slice names a part of it.
//
// The first bytes are used by an operation that transfers fewer than
// SegmentLength; one that would transfer more is refused.
type RMRTriplet struct {
	VirtualAddress uint64 // of the first byte, in the peer's process
	SegmentLength  uint32 // bytes
	RMRContext     uint32 // the peer's key to the memory
}

// RMRTripletSize is the number of bytes that AppendBinary appends.
const RMRTripletSize = 16

const rmrTripletOp = "DAT_RMR_TRIPLET"

// Slice names the part of length bytes that starts at offset. It fails with
// ErrInvalidParameter when the part is not inside.
func (t RMRTriplet) Slice(offset, length int) (RMRTriplet, error) {
	size := uint64(t.SegmentLength)
	if offset < 0 || length < 0 || uint64(offset) > size || uint64(length) > size-uint64(offset) {
		return RMRTriplet{}, invalid(rmrTripletOp, NoSubtype, "the part of %d bytes at offset %d is not inside the remote memory of %d bytes", length, offset, size)
	}
	return RMRTriplet{VirtualAddress: t.VirtualAddress + uint64(offset), SegmentLength: uint32(length), RMRContext: t.RMRContext}, nil
}

// AppendBinary appends the triplet in RMRTripletSize bytes, big-endian: address,
// length, context. The error is nil.
func (t RMRTriplet) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, t.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, t.SegmentLength)
	return binary.BigEndian.AppendUint32(b, t.RMRContext), nil
}

// UnmarshalBinary reads what AppendBinary has appended. It fails with
// ErrInvalidParameter for any other number of bytes.
func (t *RMRTriplet) UnmarshalBinary(b []byte) error {
	if len(b) != RMRTripletSize {
		return invalid(rmrTripletOp, NoSubtype, "there are %d bytes, a triplet has %d: cut off what is behind it, as the padding of private data", len(b), RMRTripletSize)
	}
	t.VirtualAddress = binary.BigEndian.Uint64(b)
	t.SegmentLength = binary.BigEndian.Uint32(b[8:])
	t.RMRContext = binary.BigEndian.Uint32(b[12:])
	return nil
}
