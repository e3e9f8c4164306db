package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLatencyOf(t *testing.T) {
	var samples []time.Duration // 1000 µs down to 1 µs
	for i := 1000; i > 0; i-- {
		samples = append(samples, time.Duration(i)*time.Microsecond)
	}
	got := latencyOf(samples)
	deviation := math.Sqrt((1000*1000 - 1) / 12.0)
	if math.Abs(got.Deviation-deviation) > 1e-9 {
		t.Errorf("the deviation is %v, want %v", got.Deviation, deviation)
	}
	got.Deviation = 0
	want := &latency{Min: 1, Typical: 500, Average: 500.5, P90: 900, P99: 990, P999: 999, Max: 1000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("1 to 1000 µs (-want +got):\n%s", diff)
	}
	if samples[0] != time.Millisecond {
		t.Error("the samples were sorted in place")
	}
	one := latencyOf([]time.Duration{1500})
	if diff := cmp.Diff(&latency{Min: 1.5, Typical: 1.5, Average: 1.5, P90: 1.5, P99: 1.5, P999: 1.5, Max: 1.5}, one); diff != "" {
		t.Errorf("one sample (-want +got):\n%s", diff)
	}
}

func TestPercentile(t *testing.T) {
	sorted := []time.Duration{10, 20, 30, 40}
	for thousandths, want := range map[int]time.Duration{0: 10, 1: 10, 250: 10, 251: 20, 500: 20, 501: 30, 750: 30, 900: 40, 999: 40, 1000: 40} {
		if got := percentile(sorted, thousandths); got != want {
			t.Errorf("%d thousandths: %d, want %d", thousandths, got, want)
		}
	}
}

func TestBandwidthOf(t *testing.T) {
	seconds := func(s ...float64) (d []time.Duration) {
		for _, v := range s {
			d = append(d, time.Duration(v*float64(time.Second)))
		}
		return d
	}
	// Eight messages of half a MiB in 10 s; operations 4 and 5 take 1 s together.
	run := times{
		posted:    seconds(0, 0, 2, 3, 5, 5.5, 6, 8),
		completed: seconds(2, 3, 4, 5, 5.5, 6, 8, 10),
		window:    2,
	}
	got := bandwidthOf(run, 1<<19)
	if diff := cmp.Diff(&bandwidth{Peak: 1, Average: 0.4, MessageRate: 0.8}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The whole stream counts, too: with a window as long as the run, nothing else is left.
	run.window = 8
	if got := bandwidthOf(run, 1<<20); got.Peak != got.Average || got.Average != 0.8 {
		t.Errorf("with a window of all: %+v", got)
	}
}
