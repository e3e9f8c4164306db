package main

import (
	"encoding/csv"
	"io"
	"strconv"
)

// csvHeader names the columns. Times are in microseconds, bandwidths in MiB/s, the rate in messages per second. A field
// is empty if the measurement does not have it.
var csvHeader = []string{"adapter", "operation", "measure", "timing", "polling", "bytes", "iterations", "window",
	"min", "typical", "average", "deviation", "p90", "p99", "p99_9", "max", "bandwidth_peak", "bandwidth_average", "message_rate"}

// csvReporter writes a line for each result as it comes.
type csvReporter struct {
	w      *csv.Writer
	header bool
}

func newCSVReporter(w io.Writer) *csvReporter { return &csvReporter{w: csv.NewWriter(w)} }

func (c *csvReporter) add(r result) error {
	if err := c.begin(); err != nil {
		return err
	}
	r = r.rounded()
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	record := []string{r.Adapter, r.Operation.String(), r.Measure.String(), r.Timing, strconv.FormatBool(r.Polling),
		strconv.Itoa(r.Bytes), strconv.Itoa(r.Iterations)}
	if b := r.Bandwidth; b != nil {
		record = append(record, strconv.Itoa(r.Window), "", "", "", "", "", "", "", "",
			number(b.Peak), number(b.Average), number(b.MessageRate))
	} else if l := r.Latency; l != nil {
		record = append(record, "", number(l.Min), number(l.Typical), number(l.Average), number(l.Deviation),
			number(l.P90), number(l.P99), number(l.P999), number(l.Max), "", "", "")
	}
	if err := c.w.Write(record); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

func (c *csvReporter) begin() error {
	if c.header {
		return nil
	}
	c.header = true
	return c.w.Write(csvHeader)
}

func (c *csvReporter) finish() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}
