package main

import (
	"fmt"
	"io"
)

// tableReporter writes a table for each operation and measure, line by line as the results arrive.
type tableReporter struct {
	w     io.Writer
	above string // the step of the table
}

func (t *tableReporter) add(r result) error {
	how := "waiting"
	if r.Polling {
		how = "polling"
	}
	what := fmt.Sprintf("%s: %v %v, ", r.Adapter, r.Operation, r.Measure)
	head := fmt.Sprintf("%9s %11s %12s %12s %14s", "bytes", "iterations", "peak[MiB/s]", "avg[MiB/s]", "rate[msg/s]")
	if r.Latency != nil {
		what += r.Timing
		head = fmt.Sprintf("%9s %11s %9s %9s %9s %9s %9s %9s %9s %9s", "bytes", "iterations",
			"min[us]", "typical", "avg", "stdev", "90%", "99%", "99.9%", "max")
	} else {
		what += fmt.Sprintf("%d outstanding", r.Window)
	}
	what += ", " + how
	if what != t.above {
		gap := "\n"
		if t.above == "" {
			gap = ""
		}
		t.above = what
		if _, err := fmt.Fprintf(t.w, "%s%s\n%s\n", gap, what, head); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%9d %11d", r.Bytes, r.Iterations)
	if l := r.Latency; l != nil {
		for _, v := range []float64{l.Min, l.Typical, l.Average, l.Deviation, l.P90, l.P99, l.P999, l.Max} {
			line += fmt.Sprintf(" %9.2f", v)
		}
	}
	if b := r.Bandwidth; b != nil {
		line += fmt.Sprintf(" %12.2f %12.2f %14.0f", b.Peak, b.Average, b.MessageRate)
	}
	_, err := fmt.Fprintln(t.w, line)
	return err
}

func (t *tableReporter) finish() error { return nil }
