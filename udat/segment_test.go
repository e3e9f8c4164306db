package udat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A slice of the region's memory is the same piece as its offset and length, and everything else is
// refused.
func TestPiecesOfSlices(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz := untilEnd(t, must(udat.CreatePZ(ia)))
		memory := make([]byte, 1000)
		registered := untilEnd(t, must(udat.RegisterMemory(pz, memory[100:900], udat.MemPrivAll)))
		allocated := untilEnd(t, must(udat.AllocMemory(pz, 5000, udat.MemPrivAll)))
		for _, lmr := range []*udat.LMR{registered, allocated} {
			b := lmr.Bytes()
			for range 200 {
				offset := rand.IntN(len(b))
				length := rand.IntN(len(b) - offset + 1)
				slice := b[offset : offset+length]
				if segment, same := must(lmr.SegmentOf(slice)), must(lmr.Segment(offset, length)); segment != same || segment.Len() != length {
					t.Fatalf("the segment of %d bytes at %d is %+v, want %+v", length, offset, segment, same)
				}
			}
			want(t, second(lmr.SegmentOf(b[len(b):])))
			for op, err := range map[string]error{"LMR.Segment": second(lmr.Segment(0, -1)), "LMR.SegmentOf": second(lmr.SegmentOf(memory))} {
				var e *udat.Error
				if !errors.As(err, &e) || e.Op != op {
					t.Errorf("%s fails with %v", op, err)
				}
			}
		}
		for name, slice := range map[string][]byte{
			"nil": nil, "before": memory[99:101], "behind": memory[899:901], "around": memory, "grown": append(registered.Bytes(), 1),
			"of the other region": allocated.Bytes()[:8],
		} {
			want(t, second(registered.SegmentOf(slice)), udat.ErrInvalidParameter, udat.InvalidArg2)
			if t.Failed() {
				t.Fatalf("that was the slice %s", name)
			}
		}
	})
}

func TestRMRTripletSlice(t *testing.T) {
	whole := udat.RMRTriplet{VirtualAddress: 1 << 40, SegmentLength: 100, RMRContext: 7}
	for _, c := range []struct{ offset, length int }{{0, 0}, {0, 100}, {100, 0}, {99, 1}, {20, 30}} {
		got := must(whole.Slice(c.offset, c.length))
		if expected := (udat.RMRTriplet{VirtualAddress: 1<<40 + uint64(c.offset), SegmentLength: uint32(c.length), RMRContext: 7}); got != expected {
			t.Errorf("the part of %d bytes at %d is %+v, want %+v", c.length, c.offset, got, expected)
		}
	}
	for _, c := range []struct{ offset, length int }{{-1, 1}, {0, -1}, {0, 101}, {101, 0}, {100, 1}, {1, math.MaxInt}, {math.MaxInt, 1}, {math.MinInt, math.MinInt}} {
		want(t, second(whole.Slice(c.offset, c.length)), udat.ErrInvalidParameter)
	}
	b := must(whole.AppendBinary([]byte{1, 2}))
	if len(b) != 2+udat.RMRTripletSize {
		t.Fatalf("a triplet has %d bytes", len(b)-2)
	}
	var back udat.RMRTriplet
	want(t, back.UnmarshalBinary(b[2:]))
	if back != whole {
		t.Errorf("there and back a triplet is %+v", back)
	}
	want(t, back.UnmarshalBinary(b), udat.ErrInvalidParameter)
	want(t, back.UnmarshalBinary(nil), udat.ErrInvalidParameter)
}
