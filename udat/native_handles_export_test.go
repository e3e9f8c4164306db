package udat

import (
	"github.com/goudat/goudat/cgo"
)

// What benchmarks pass to the library themselves.

func NativeEP(ep *EP) cgo.EPHandle           { return ep.handle }
func NativeEVD(evd *EVD) cgo.EVDHandle       { return evd.queue.Handle() }
func NativeLMR(lmr *LMR) cgo.LMRHandle       { return lmr.handle }
func NativeSegment(s Segment) cgo.LMRTriplet { return s.triplet }
