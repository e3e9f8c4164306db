package main

import "fmt"

// measurement is an order for both twins.
type measurement struct {
	name   string // as tables name it
	order  string // as the twins know it
	how    string
	bytes  int
	count  int // operations in one round
	window int // outstanding
	unit   unit
	goal   float64 // the goal: the worst acceptable ratio of Go to C; 0: none
	sleeps bool    // both sides sleep most of the time, until they are woken
	sweep  bool    // one of many sizes, for a plot
	churns bool    // connections end as soon as they are established, which ends the server without the patches of scripts/native
}

// goalOn returns the goal on a machine: none where the measurement is not reliable.
func (m measurement) goalOn(where machine) float64 {
	switch {
	case where.userMode() && m.sleeps:
		return 0
	case where.emulated() && !m.sleeps:
		return 0
	}
	return m.goal
}

// processors is how many processors the measurement needs under User-Mode Linux. With one, a side that polls keeps it
// until the next clock tick. With two, a side that sleeps is woken late.
func (m measurement) processors() int {
	if m.how == "poll" && m.order != "status" {
		return 2
	}
	return 1
}

// unit says what a twin's number means, and how it is shown.
type unit struct {
	name          string
	scale         float64 // multiplies the number
	lowerIsBetter bool
}

var (
	microseconds = unit{"µs", 1e-3, true}
	nanoseconds  = unit{"ns", 1, true}
	thousands    = unit{"thousand/s", 1e-3, false}
	mebibytes    = unit{"MiB/s", 1.0 / (1 << 20), false}
	perSecond    = unit{"/s", 1, false}
)

// sweepSizes are the sizes of messages in the plot of latencies.
var sweepSizes = []int{8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10}

// measurements returns all measurements. Their counts are multiplied by scale, and are at least one.
func measurements(scale float64) []measurement {
	list := []measurement{
		{name: "round trip, 8 B, polling", order: "roundtrip", how: "poll", bytes: 8, count: 2000, window: 1, unit: microseconds, goal: 1.03},
		{name: "round trip, 4 KiB, polling", order: "roundtrip", how: "poll", bytes: 4096, count: 1000, window: 1, unit: microseconds, goal: 1.03},
		{name: "round trip, 8 B, polling memory", order: "mailbox", how: "poll", bytes: 8, count: 2000, window: 1, unit: microseconds, goal: 1.03},
		{name: "round trip, 4 KiB, polling memory", order: "mailbox", how: "poll", bytes: 4096, count: 1000, window: 1, unit: microseconds, goal: 1.03},
		{name: "round trip, 8 B, polling for a second", order: "sustained", how: "poll", bytes: 8, count: 80000, window: 1, unit: microseconds, goal: 1.03},
		{name: "round trip, 8 B, waiting", order: "roundtrip", how: "wait", bytes: 8, count: 500, window: 1, unit: microseconds, goal: 1.15, sleeps: true},
		{name: "round trip, 4 KiB, waiting", order: "roundtrip", how: "wait", bytes: 4096, count: 400, window: 1, unit: microseconds, goal: 1.15, sleeps: true},
		{name: "round trip, 8 B, sleeping", order: "roundtrip", how: "sleep", bytes: 8, count: 500, window: 1, unit: microseconds, sleeps: true},
		{name: "messages, 8 B, 64 outstanding", order: "rate", how: "poll", bytes: 8, count: 20000, window: 64, unit: thousands, goal: 0.97},
		{name: "RDMA write, 64 KiB", order: "write", how: "poll", bytes: 64 << 10, count: 3200, window: 16, unit: mebibytes, goal: 0.99},
		{name: "RDMA write, 1 MiB", order: "write", how: "poll", bytes: 1 << 20, count: 200, window: 4, unit: mebibytes, goal: 0.99},
		{name: "RDMA read, 64 KiB", order: "read", how: "poll", bytes: 64 << 10, count: 3200, window: 16, unit: mebibytes, goal: 0.99},
		{name: "RDMA read, 1 MiB", order: "read", how: "poll", bytes: 1 << 20, count: 200, window: 4, unit: mebibytes, goal: 0.99},
		{name: "connect and disconnect", order: "connect", how: "wait", count: 200, window: 1, unit: perSecond, goal: 0.9, churns: true},
		{name: "get_status", order: "status", how: "poll", count: 100000, window: 1, unit: nanoseconds},
	}
	for _, bytes := range sweepSizes {
		list = append(list, measurement{
			name: "round trips over sizes, " + bytesLabel(float64(bytes)), order: "roundtrip", how: "poll", bytes: bytes,
			count: max(500*1024/max(bytes, 1024), 50), window: 1, unit: microseconds, sweep: true,
		})
	}
	for i := range list {
		list[i].count = max(int(float64(list[i].count)*scale), 1)
	}
	return list
}

// line returns the order as a twin reads it.
func (m measurement) line() string {
	return fmt.Sprintf("%s %s %d %d %d", m.order, m.how, m.bytes, m.count, m.window)
}
