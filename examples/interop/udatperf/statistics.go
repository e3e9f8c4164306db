package main

import (
	"math"
	"slices"
	"time"
)

// latency describes the times of single operations, in microseconds.
type latency struct {
	Min       float64 `json:"min"`
	Typical   float64 `json:"typical"` // the median
	Average   float64 `json:"average"`
	Deviation float64 `json:"deviation"` // standard deviation
	P90       float64 `json:"p90"`
	P99       float64 `json:"p99"`
	P999      float64 `json:"p99_9"`
	Max       float64 `json:"max"`
}

// bandwidth describes a stream of operations.
type bandwidth struct {
	Peak        float64 `json:"peak"`         // MiB/s
	Average     float64 `json:"average"`      // MiB/s
	MessageRate float64 `json:"message_rate"` // messages per second
}

const mebi = 1 << 20

// latencyOf summarizes samples, at least one.
func latencyOf(samples []time.Duration) *latency {
	sorted := slices.Sorted(slices.Values(samples))
	var sum, squares float64
	for _, d := range sorted {
		sum += micros(d)
	}
	average := sum / float64(len(sorted))
	for _, d := range sorted {
		squares += (micros(d) - average) * (micros(d) - average)
	}
	return &latency{
		Min:       micros(sorted[0]),
		Typical:   micros(percentile(sorted, 500)),
		Average:   average,
		Deviation: math.Sqrt(squares / float64(len(sorted))),
		P90:       micros(percentile(sorted, 900)),
		P99:       micros(percentile(sorted, 990)),
		P999:      micros(percentile(sorted, 999)),
		Max:       micros(sorted[len(sorted)-1]),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// percentile returns the smallest of the sorted durations that at least the given thousandths of them do not exceed.
func percentile(sorted []time.Duration, thousandths int) time.Duration {
	rank := (len(sorted)*thousandths + 999) / 1000
	return sorted[max(rank-1, 0)]
}

// bandwidthOf returns the bandwidth of a stream of operations with size bytes each. The peak is the best of all
// stretches, from the posting of one operation to the completion of a later one, that are as long as the window, twice
// as long, and so on, up to the whole stream.
func bandwidthOf(t times, size int) *bandwidth {
	count := len(t.completed)
	rate := func(first, n int) float64 {
		return float64(n) / max(t.completed[first+n-1]-t.posted[first], time.Nanosecond).Seconds()
	}
	whole := rate(0, count)
	best := whole
	for n := max(t.window, 1); n < count; n *= 2 {
		for first := range count - n + 1 {
			best = max(best, rate(first, n))
		}
	}
	perMessage := float64(size) / mebi
	return &bandwidth{Peak: best * perMessage, Average: whole * perMessage, MessageRate: whole}
}
