package main

import (
	"io"
	"testing"
)

// someResults has one of each kind.
func someResults() []result {
	l := &latency{Min: 1.25, Typical: 2.5, Average: 3.125, Deviation: 0.1, P90: 4, P99: 5.5, P999: 1e4, Max: 123456.75}
	b := &bandwidth{Peak: 100.125, Average: 1.0 / 3, MessageRate: 1234567}
	return []result{
		{Adapter: "a,\"<1>", Operation: opSend, Measure: measureLatency, Timing: timingHalfRoundTrip, Polling: true, Bytes: 8, Iterations: 100, Latency: l},
		{Adapter: "a,\"<1>", Operation: opSend, Measure: measureLatency, Timing: timingHalfRoundTrip, Polling: true, Bytes: 4096, Iterations: 100, Latency: l},
		{Adapter: "a,\"<1>", Operation: opSend, Measure: measureBandwidth, Polling: true, Bytes: 8, Iterations: 100, Window: 64, Bandwidth: b},
		{Adapter: "b", Operation: opCmpSwap, Measure: measureLatency, Timing: timingCompletion, Bytes: 8, Iterations: 7, Latency: l},
	}
}

func TestNewReporter(t *testing.T) {
	for _, format := range []string{"table", "json", "csv"} {
		if r, err := newReporter(format, io.Discard); err != nil || r == nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := newReporter("", io.Discard); err == nil {
		t.Error("no format is one")
	}
}

func reportAll(t *testing.T, r reporter, results []result) {
	t.Helper()
	for _, result := range results {
		if err := r.add(result); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
}
