//go:build linux && amd64

package main

import (
	"math"
	"time"
)

// readTSC reads the processor's time-stamp counter.
func readTSC() uint64

// tscInterval is long enough for a frequency to a ten-thousandth.
const tscInterval = 20 * time.Millisecond

// tscFrequency measures the frequency of the host's time-stamp counter, in kHz. An emulated machine has the same counter.
// Its kernel would measure it too, but gets it wrong by a factor on a busy host, and then all its clocks and time-outs go
// wrong by that factor.
func tscFrequency() int {
	ticks, at := tscAndTime()
	time.Sleep(tscInterval)
	laterTicks, later := tscAndTime()
	elapsed := later.Sub(at)
	return int(math.Round(float64(laterTicks-ticks) / float64(elapsed) * float64(time.Millisecond)))
}

// tscAndTime reads both clocks in the same moment, as well as that can be done.
func tscAndTime() (ticks uint64, at time.Time) {
	shortest := uint64(math.MaxUint64)
	for range 20 {
		before := readTSC()
		now := time.Now()
		after := readTSC()
		if after-before < shortest {
			shortest, ticks, at = after-before, before+(after-before)/2, now
		}
	}
	return ticks, at
}
