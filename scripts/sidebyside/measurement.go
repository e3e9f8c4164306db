package main

import (
	"cmp"
	"fmt"
)

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

	// Of round trips at a fixed rate.
	beside string // what happens meanwhile, as the twins know it
	idle   int    // more connections
	pause  int    // between one of the others and the next, in milliseconds
	rounds int    // at most; 0: any number

	figures []figure // besides the number of the twin
}

// figure is one more number of a measurement.
type figure struct {
	name  string // as tables name it, behind the name of the measurement
	key   string // as the twins know it
	unit  unit
	goal  float64 // as that of a measurement
	limit float64 // the goal for the number of Go alone: the largest acceptable; 0: none
	ticks bool    // the kernel counts it in clock ticks, of which a round has few: only the mean of all rounds tells something
}

// results returns the results on an adapter from the samples of both twins, one for each figure.
func (m measurement) results(adapter string, where machine, inC, inGo []figures) (list []result) {
	first := figure{key: "value", unit: m.unit, goal: m.goal}
	if m.beside != "" {
		first.name = ", p50"
	}
	for _, f := range append([]figure{first}, m.figures...) {
		m.goal = f.goal
		r := result{
			Adapter: adapter, Measurement: m.name + f.name, Unit: f.unit.name, LowerIsBetter: f.unit.lowerIsBetter,
			Goal: m.goalOn(where), Limit: f.limit, Marked: m.sleeps && where.userMode(),
			C: values(inC, f.key), Go: values(inGo, f.key),
		}
		if f.ticks {
			r.C, r.Go = mean(r.C), mean(r.Go)
		}
		if m.sweep {
			r.Bytes = m.bytes
		}
		for i := range r.C {
			r.C[i] *= f.unit.scale
			r.Go[i] *= f.unit.scale
		}
		list = append(list, r)
	}
	return list
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
	if m.how == "poll" && m.order != "status" || m.beside != "" {
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
	times        = unit{"times", 1, true}
)

// processorTime has what both sides use for each operation.
var processorTime = []figure{
	{name: ", processor time", key: "processor", unit: microseconds, ticks: true},
	{name: ", of it the system's", key: "system", unit: microseconds, ticks: true},
}

// tailFigures are those of round trips at a fixed rate, beside something or not. Few operations have no p99.9.
func tailFigures(beside bool, count int) []figure {
	p90, p99 := figure{name: ", p90", key: "p90", unit: microseconds}, figure{name: ", p99", key: "p99", unit: microseconds}
	switch {
	case beside:
		p99.goal = 3
		return []figure{p90, {name: ", p90 over that of quiet", key: "over", unit: times, limit: 2}, p99}
	case count < 1000:
		return []figure{p90, p99}
	}
	return []figure{p90, p99, {name: ", p99.9", key: "p999", unit: microseconds}}
}

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
		{name: "round trip, 8 B, waiting", order: "roundtrip", how: "wait", bytes: 8, count: 500, window: 1, unit: microseconds, goal: 1.15, sleeps: true, figures: processorTime},
		{name: "round trip, 4 KiB, waiting", order: "roundtrip", how: "wait", bytes: 4096, count: 400, window: 1, unit: microseconds, goal: 1.15, sleeps: true},
		{name: "round trip, 8 B, sleeping", order: "roundtrip", how: "sleep", bytes: 8, count: 500, window: 1, unit: microseconds, sleeps: true, figures: processorTime},
		{name: "messages, 8 B, 64 outstanding", order: "rate", how: "poll", bytes: 8, count: 20000, window: 64, unit: thousands, goal: 0.97},
		{name: "messages, 8 B, 64 outstanding, waiting", order: "rate", how: "wait", bytes: 8, count: 5000, window: 64, unit: thousands, sleeps: true, figures: processorTime},
		{name: "RDMA write, 64 KiB", order: "write", how: "poll", bytes: 64 << 10, count: 3200, window: 16, unit: mebibytes, goal: 0.99},
		{name: "RDMA write, 1 MiB", order: "write", how: "poll", bytes: 1 << 20, count: 200, window: 4, unit: mebibytes, goal: 0.99},
		{name: "RDMA read, 64 KiB", order: "read", how: "poll", bytes: 64 << 10, count: 3200, window: 16, unit: mebibytes, goal: 0.99},
		{name: "RDMA read, 1 MiB", order: "read", how: "poll", bytes: 1 << 20, count: 200, window: 4, unit: mebibytes, goal: 0.99},
		{name: "connect and disconnect", order: "connect", how: "wait", count: 200, window: 1, unit: perSecond, goal: 0.9, churns: true, figures: processorTime},
		{name: "get_status", order: "status", how: "poll", count: 100000, window: 1, unit: nanoseconds},
	}
	paced := func(name, how, beside string, idle, pause, count, rounds int) {
		list = append(list, measurement{
			name: "at 1000/s, " + how + "ing, " + name, order: "paced", how: how, bytes: 8, count: count, window: 32, unit: microseconds,
			beside: beside, idle: idle, pause: pause, rounds: rounds, churns: beside != "nothing", figures: tailFigures(beside != "nothing", count),
		})
	}
	paced("quiet", "poll", "nothing", 0, 0, 2000, 9)
	paced("quiet", "wait", "nothing", 0, 0, 2000, 9)
	const few, many, pause = 0, 98, 20
	paced("beside churn of its own", "wait", "own", few, pause, 250, 0)
	paced("beside churn", "wait", "churn", few, pause, 250, 0)
	paced("beside unpaced churn of its own", "wait", "own", few, 0, 250, 0)
	paced("beside unpaced churn", "wait", "churn", few, 0, 250, 0)
	paced("beside a cut-off peer", "wait", "cut", few, 0, 250, 0)
	paced("100 endpoints, quiet", "wait", "nothing", many, 0, 250, 0)
	paced("100 endpoints, beside churn", "wait", "churn", many, pause, 250, 0)
	paced("100 endpoints, beside unpaced churn", "wait", "churn", many, 0, 250, 0)
	paced("100 endpoints, beside a cut-off peer", "wait", "cut", many, 0, 250, 0)
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
	return fmt.Sprintf("%s %s %d %d %d %s %d %d", m.order, m.how, m.bytes, m.count, m.window, cmp.Or(m.beside, "nothing"), m.idle, m.pause)
}
