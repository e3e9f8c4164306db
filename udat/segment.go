package udat

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

// Segment is a piece of a registered region, for the local side of an operation. The zero Segment
// unbinds an RMR, and is refused otherwise.
type Segment struct {
	lmr     *LMR
	triplet cgo.LMRTriplet
}

// Len returns the number of bytes.
func (s Segment) Len() int { return int(s.triplet.SegmentLength) }

// Segment returns the piece of length bytes at offset.
func (lmr *LMR) Segment(offset, length int) (Segment, error) {
	const op = "LMR.Segment"
	if err := objectOf(lmr).enter(op, InvalidHandleLMR); err != nil {
		return Segment{}, err
	}
	defer lmr.obj.Leave()
	if size := len(lmr.memory); offset < 0 || length < 0 || offset > size || length > size-offset {
		return Segment{}, refuse(op, ErrInvalidParameter, InvalidArg2,
			"the piece of %d bytes at offset %d is not inside the region of %d bytes: choose one that is", length, offset, size)
	}
	return lmr.segment(op, lmr.address()+uint64(offset), length)
}

// SegmentOf returns the piece that a slice of the region's memory is, for example one of Bytes. It
// fails with ErrInvalidParameter for other slices.
func (lmr *LMR) SegmentOf(slice []byte) (Segment, error) {
	const op = "LMR.SegmentOf"
	if err := objectOf(lmr).enter(op, InvalidHandleLMR); err != nil {
		return Segment{}, err
	}
	defer lmr.obj.Leave()
	address := addressOf(slice)
	offset, size := address-lmr.address(), uint64(len(lmr.memory)) // an address before the region wraps around
	if offset > size || uint64(len(slice)) > size-offset {
		return Segment{}, refuse(op, ErrInvalidParameter, InvalidArg2,
			"the slice of %d bytes at 0x%x is not inside the region of %d bytes at 0x%x: take a slice of LMR.Bytes, and note that append moves what outgrows its capacity",
			len(slice), address, size, lmr.address())
	}
	return lmr.segment(op, address, len(slice))
}

func (lmr *LMR) segment(op string, address uint64, length int) (Segment, error) {
	if uint64(length) > math.MaxUint32 {
		return Segment{}, refuse(op, ErrInvalidParameter, InvalidArg2, "the piece has %d bytes, at most %d go into one: take several", length, uint32(math.MaxUint32))
	}
	return Segment{lmr, cgo.LMRTriplet{VirtualAddress: address, SegmentLength: uint32(length), LMRContext: lmr.lmrContext}}, nil
}

// RMRTriplet names the piece of length bytes at offset, for a peer to read or write. The region
// needs MemPrivRemoteRead or MemPrivRemoteWrite for that.
func (lmr *LMR) RMRTriplet(offset, length int) (RMRTriplet, error) {
	s, err := lmr.Segment(offset, length)
	if err != nil {
		return RMRTriplet{}, err
	}
	return RMRTriplet{s.triplet.VirtualAddress, s.triplet.SegmentLength, lmr.rmrContext}, nil
}

func addressOf(memory []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}

// RMRTriplet names memory of a peer, for the remote side of an RDMA operation. The peer makes it
// with LMR.RMRTriplet or RMR.Bind and sends it over, with AppendBinary or as plain numbers; Slice
// names a part of it. Shorter operations use its first bytes; longer ones are refused.
type RMRTriplet struct {
	VirtualAddress uint64 // of the first byte, in the peer's process
	SegmentLength  uint32 // bytes
	RMRContext     uint32 // the peer's key to the memory
}

// RMRTripletSize is the number of bytes that AppendBinary appends.
const RMRTripletSize = 16

// Slice names the part of length bytes at offset. It fails with ErrInvalidParameter if the part is
// not inside.
func (t RMRTriplet) Slice(offset, length int) (RMRTriplet, error) {
	size := uint64(t.SegmentLength)
	if offset < 0 || length < 0 || uint64(offset) > size || uint64(length) > size-uint64(offset) {
		return RMRTriplet{}, invalid("RMRTriplet.Slice", NoSubtype, "the part of %d bytes at offset %d is not inside the remote memory of %d bytes", length, offset, size)
	}
	return RMRTriplet{VirtualAddress: t.VirtualAddress + uint64(offset), SegmentLength: uint32(length), RMRContext: t.RMRContext}, nil
}

// AppendBinary appends the triplet in RMRTripletSize bytes, big-endian: address, length, context.
// The error is nil.
func (t RMRTriplet) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, t.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, t.SegmentLength)
	return binary.BigEndian.AppendUint32(b, t.RMRContext), nil
}

// UnmarshalBinary reads what AppendBinary appended. It fails with ErrInvalidParameter for any other
// number of bytes.
func (t *RMRTriplet) UnmarshalBinary(b []byte) error {
	if len(b) != RMRTripletSize {
		return invalid("RMRTriplet.UnmarshalBinary", NoSubtype, "there are %d bytes, a triplet has %d: cut off what is behind it, as the padding of private data", len(b), RMRTripletSize)
	}
	t.VirtualAddress = binary.BigEndian.Uint64(b)
	t.SegmentLength = binary.BigEndian.Uint32(b[8:])
	t.RMRContext = binary.BigEndian.Uint32(b[12:])
	return nil
}
