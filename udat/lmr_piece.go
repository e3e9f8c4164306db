package udat

import (
	"math"
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

// Segment is a piece of a registered region, for the local side of an
// operation. The zero Segment is a piece without bytes.
type Segment struct {
	lmr     *LMR
	triplet cgo.LMRTriplet
}

// Len returns the number of bytes.
func (s Segment) Len() int { return int(s.triplet.SegmentLength) }

const pieceOp = "dat_lmr_query"

// Segment returns the piece of length bytes that starts at offset.
func (lmr *LMR) Segment(offset, length int) (Segment, error) {
	if err := lmr.object().enter(pieceOp, InvalidHandleLMR); err != nil {
		return Segment{}, err
	}
	defer lmr.obj.leave()
	if size := len(lmr.memory); offset < 0 || length < 0 || offset > size || length > size-offset {
		return Segment{}, refuse(pieceOp, ErrInvalidParameter, InvalidArg2,
			"the piece of %d bytes at offset %d is not inside the region of %d bytes", length, offset, size)
	}
	return lmr.segment(lmr.address()+uint64(offset), length)
}

// SegmentOf returns the piece that a slice of the region's memory is: a slice of
// what Bytes returns, or of what was registered. It fails with
// ErrInvalidParameter for any other slice, and for one that reaches beyond the
// region.
func (lmr *LMR) SegmentOf(slice []byte) (Segment, error) {
	if err := lmr.object().enter(pieceOp, InvalidHandleLMR); err != nil {
		return Segment{}, err
	}
	defer lmr.obj.leave()
	address := addressOf(slice)
	offset, size := address-lmr.address(), uint64(len(lmr.memory)) // an address before the region wraps around
	if offset > size || uint64(len(slice)) > size-offset {
		return Segment{}, refuse(pieceOp, ErrInvalidParameter, InvalidArg2,
			"the slice of %d bytes at 0x%x is not inside the region of %d bytes at 0x%x: take a slice of LMR.Bytes, and note that append moves what outgrows its capacity",
			len(slice), address, size, lmr.address())
	}
	return lmr.segment(address, len(slice))
}

func (lmr *LMR) segment(address uint64, length int) (Segment, error) {
	if uint64(length) > math.MaxUint32 {
		return Segment{}, refuse(pieceOp, ErrInvalidParameter, InvalidArg2, "the piece has %d bytes, at most %d go into one: take several", length, uint32(math.MaxUint32))
	}
	return Segment{lmr: lmr, triplet: cgo.LMRTriplet{
		VirtualAddress: address,
		SegmentLength:  uint32(length),
		LMRContext:     lmr.lmrContext,
	}}, nil
}

// RMRTriplet names the piece of length bytes that starts at offset, for a peer
// that is to read or write it. The region must have been registered with the
// remote privileges for that.
func (lmr *LMR) RMRTriplet(offset, length int) (RMRTriplet, error) {
	segment, err := lmr.Segment(offset, length)
	return segment.rmrTriplet(), err
}

// RMRTripletOf is RMRTriplet for the piece that a slice of the region's memory
// is: see SegmentOf.
func (lmr *LMR) RMRTripletOf(slice []byte) (RMRTriplet, error) {
	segment, err := lmr.SegmentOf(slice)
	return segment.rmrTriplet(), err
}

func (s Segment) rmrTriplet() RMRTriplet {
	if s.lmr == nil {
		return RMRTriplet{}
	}
	return RMRTriplet{VirtualAddress: s.triplet.VirtualAddress, SegmentLength: s.triplet.SegmentLength, RMRContext: s.lmr.rmrContext}
}

func addressOf(memory []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}
