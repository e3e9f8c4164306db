package main

import (
	"fmt"
	"io"
	"math"
)

// result is the result of one measurement. Either Latency or Bandwidth is set.
type result struct {
	Adapter    string     `json:"adapter"`
	Operation  operation  `json:"operation"`
	Measure    measure    `json:"measure"`
	Timing     string     `json:"timing,omitempty"` // what the latency is the time of
	Polling    bool       `json:"polling"`
	Bytes      int        `json:"bytes"`
	Iterations int        `json:"iterations"`
	Window     int        `json:"window,omitempty"` // outstanding operations, of a bandwidth
	Latency    *latency   `json:"latency_us,omitempty"`
	Bandwidth  *bandwidth `json:"bandwidth_mib_s,omitempty"`
}

// rounded rounds to the precision of a measurement: times to a nanosecond, bandwidths to a thousandth.
func (r result) rounded() result {
	round := func(values ...*float64) {
		for _, v := range values {
			*v = math.Round(*v*1000) / 1000
		}
	}
	if r.Latency != nil {
		l := *r.Latency
		round(&l.Min, &l.Typical, &l.Average, &l.Deviation, &l.P90, &l.P99, &l.P999, &l.Max)
		r.Latency = &l
	}
	if r.Bandwidth != nil {
		b := *r.Bandwidth
		round(&b.Peak, &b.Average, &b.MessageRate)
		r.Bandwidth = &b
	}
	return r
}

const (
	timingHalfRoundTrip = "half round trip"
	timingCompletion    = "completion"
)

// reporter writes results in a format. After finish its output is complete, even if the measurements were not.
type reporter interface {
	add(result) error
	finish() error
}

func newReporter(format string, w io.Writer) (reporter, error) {
	switch format {
	case "table":
		return &tableReporter{w: w}, nil
	case "json":
		return &jsonReporter{w: w, results: []result{}}, nil
	case "csv":
		return newCSVReporter(w), nil
	}
	return nil, fmt.Errorf("-format: %q is not one of table, json, csv", format)
}
