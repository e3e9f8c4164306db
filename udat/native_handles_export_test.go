package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/numbers"
)

// What benchmarks pass to the library themselves.

func NativeEP(ep *EP) cgo.EPHandle           { return ep.native.Load().handle }
func NativeEVD(evd *EVD) cgo.EVDHandle       { return evd.handle }
func NativeLMR(lmr *LMR) cgo.LMRHandle       { return lmr.handle }
func NativeSegment(s Segment) cgo.LMRTriplet { return s.triplet }

// NobodysCookie is a native cookie whose completion is dropped.
const NobodysCookie = uint64(numbers.None) << numberShift
