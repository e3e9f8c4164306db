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

// tscFrequency measures the frequency of the host's time-stamp counter, in kHz. An emulated machine has the same
// counter. On a busy host, its kernel would measure a wrong frequency, and all its clocks and time-outs would be wrong
// by that factor.
func tscFrequency() int {
	ticks, at := tscAndTime()
	time.Sleep(tscInterval)
	laterTicks, later := tscAndTime()
	elapsed := later.Sub(at)
	return int(math.Round(float64(laterTicks-ticks) / float64(elapsed) * float64(time.Millisecond)))
}

// tscAndTime reads both clocks as close to the same moment as possible.
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
