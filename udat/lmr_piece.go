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

// Segment returns the piece of length bytes that starts at offset.
func (lmr *LMR) Segment(offset, length int) (Segment, error) {
	address, err := lmr.piece(offset, length)
	if err != nil {
		return Segment{}, err
	}
	return lmr.segment(address, length), nil
}

// SegmentOf returns the piece that a slice of the region's memory is: a slice of
// what Bytes returns, or of what was registered. It fails with
// ErrInvalidParameter for any other slice, and for one that reaches beyond the
// region.
func (lmr *LMR) SegmentOf(slice []byte) (Segment, error) {
	address, err := lmr.pieceOf(slice)
	if err != nil {
		return Segment{}, err
	}
	return lmr.segment(address, len(slice)), nil
}

func (lmr *LMR) segment(address uint64, length int) Segment {
	return Segment{lmr: lmr, triplet: cgo.LMRTriplet{
		VirtualAddress: address,
		SegmentLength:  uint32(length),
		LMRContext:     lmr.lmrContext,
	}}
}

// RMRTriplet names the piece of length bytes that starts at offset, for a peer
// that is to read or write it. The region must have been registered with the
// remote privileges for that.
func (lmr *LMR) RMRTriplet(offset, length int) (RMRTriplet, error) {
	address, err := lmr.piece(offset, length)
	if err != nil {
		return RMRTriplet{}, err
	}
	return lmr.rmrTriplet(address, length), nil
}

// RMRTripletOf is RMRTriplet for the piece that a slice of the region's memory
// is: see SegmentOf.
func (lmr *LMR) RMRTripletOf(slice []byte) (RMRTriplet, error) {
	address, err := lmr.pieceOf(slice)
	if err != nil {
		return RMRTriplet{}, err
	}
	return lmr.rmrTriplet(address, len(slice)), nil
}

func (lmr *LMR) rmrTriplet(address uint64, length int) RMRTriplet {
	return RMRTriplet{VirtualAddress: address, SegmentLength: uint32(length), RMRContext: lmr.rmrContext}
}

const pieceOp = "dat_lmr_query"

// piece returns the address of a piece that lies inside the region.
func (lmr *LMR) piece(offset, length int) (uint64, error) {
	if err := lmr.object().enter(pieceOp, InvalidHandleLMR); err != nil {
		return 0, err
	}
	defer lmr.obj.leave()
	if size := len(lmr.memory); offset < 0 || length < 0 || offset > size || length > size-offset {
		return 0, refuse(pieceOp, ErrInvalidParameter, InvalidArg2,
			"the piece of %d bytes at offset %d is not inside the region of %d bytes", length, offset, size)
	}
	return lmr.address() + uint64(offset), checkPieceLength(length)
}

// pieceOf returns the address of a slice whose bytes lie inside the region.
func (lmr *LMR) pieceOf(slice []byte) (uint64, error) {
	if err := lmr.object().enter(pieceOp, InvalidHandleLMR); err != nil {
		return 0, err
	}
	defer lmr.obj.leave()
	address := addressOf(slice)
	offset, size := address-lmr.address(), uint64(len(lmr.memory)) // an address before the region wraps around
	if offset > size || uint64(len(slice)) > size-offset {
		return 0, refuse(pieceOp, ErrInvalidParameter, InvalidArg2,
			"the slice of %d bytes at 0x%x is not inside the region of %d bytes at 0x%x: take a slice of LMR.Bytes, and note that append moves what outgrows its capacity",
			len(slice), address, size, lmr.address())
	}
	return address, checkPieceLength(len(slice))
}

func checkPieceLength(length int) error {
	if uint64(length) > math.MaxUint32 {
		return refuse(pieceOp, ErrInvalidParameter, InvalidArg2, "the piece has %d bytes, at most %d go into one: take several", length, uint32(math.MaxUint32))
	}
	return nil
}

func addressOf(memory []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}
