package main

import "fmt"

// measurement is something that both twins are ordered to do.
type measurement struct {
	name   string // for people
	order  string // for the twins
	how    string
	bytes  int
	count  int // operations in one round
	window int // outstanding
	unit   unit
	goal   float64 // the worst ratio of Go to C that is aimed at; 0 for none
}

// unit tells what a twin's number is, and how it is shown.
type unit struct {
	name          string
	scale         float64 // that the number is multiplied with
	lowerIsBetter bool
}

var (
	microseconds = unit{"µs", 1e-3, true}
	nanoseconds  = unit{"ns", 1, true}
	thousands    = unit{"thousand/s", 1e-3, false}
	mebibytes    = unit{"MiB/s", 1.0 / (1 << 20), false}
	perSecond    = unit{"/s", 1, false}
)

// measurements lists what is measured. Their counts are multiplied with scale, and are at least one.
func measurements(scale float64) []measurement {
	list := []measurement{
		{"round trip, 8 B, polling", "roundtrip", "poll", 8, 2000, 1, microseconds, 1.05},
		{"round trip, 4 KiB, polling", "roundtrip", "poll", 4096, 1000, 1, microseconds, 1.05},
		{"round trip, 8 B, polling memory", "mailbox", "poll", 8, 2000, 1, microseconds, 1.05},
		{"round trip, 4 KiB, polling memory", "mailbox", "poll", 4096, 1000, 1, microseconds, 1.05},
		{"round trip, 8 B, waiting", "roundtrip", "wait", 8, 500, 1, microseconds, 1.15},
		{"round trip, 4 KiB, waiting", "roundtrip", "wait", 4096, 400, 1, microseconds, 1.15},
		{"round trip, 8 B, sleeping", "roundtrip", "sleep", 8, 500, 1, microseconds, 0},
		{"messages, 8 B, 64 outstanding", "rate", "poll", 8, 5000, 64, thousands, 0.95},
		{"RDMA write, 64 KiB", "write", "poll", 64 << 10, 200, 16, mebibytes, 0.98},
		{"RDMA write, 1 MiB", "write", "poll", 1 << 20, 12, 4, mebibytes, 0.98},
		{"RDMA read, 64 KiB", "read", "poll", 64 << 10, 200, 16, mebibytes, 0.98},
		{"RDMA read, 1 MiB", "read", "poll", 1 << 20, 12, 4, mebibytes, 0.98},
		{"connect and disconnect", "connect", "wait", 0, 20, 1, perSecond, 0.95},
		{"get_status", "status", "poll", 0, 100000, 1, nanoseconds, 0},
	}
	for i := range list {
		list[i].count = max(int(float64(list[i].count)*scale), 1)
	}
	return list
}

// line is the order as a twin reads it.
func (m measurement) line() string {
	return fmt.Sprintf("%s %s %d %d %d", m.order, m.how, m.bytes, m.count, m.window)
}
