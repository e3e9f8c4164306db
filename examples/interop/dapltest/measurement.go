package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// measurement is what the client measures.
type measurement struct {
	t      *performanceTest
	iov    []udat.Segment
	remote udat.RMRTriplet
	events []udat.Event

	elapsed     time.Duration
	utilization float64 // of all processors, in percent
	posts       durations
	reaps       durations
	latency     durations
}

// durations sums the times of calls.
type durations struct {
	count       int
	total       time.Duration
	least, most time.Duration
}

// add adds the time of a call.
func (d *durations) add(took time.Duration) {
	if d.count == 0 || took < d.least {
		d.least = took
	}
	d.most = max(d.most, took)
	d.total += took
	d.count++
}

func (d *durations) mean() float64 {
	if d.count == 0 {
		return 0
	}
	return microseconds(d.total) / float64(d.count)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (m *measurement) post() {
	begin := time.Now()
	if m.t.operation.kind == rdmaRead {
		check(m.t.link.ep.PostRDMARead(m.iov, 0, m.remote, udat.CompletionDefault))
	} else {
		check(m.t.link.ep.PostRDMAWrite(m.iov, 0, m.remote, udat.CompletionDefault))
	}
	m.posts.add(time.Since(begin))
}

// reap takes one completion.
func (m *measurement) reap(ctx context.Context, polls bool) {
	begin := time.Now()
	if polls {
		for must(m.t.link.request.SpinPoll(m.events, pollBudget)) == 0 {
			if ctx.Err() != nil {
				check(context.Cause(ctx))
			}
		}
	} else {
		m.events[0] = must(m.t.link.request.Wait(ctx))
	}
	m.reaps.add(time.Since(begin))
	check(m.events[0].Err())
	completion{m.t.link.ep, 0, m.t.operation.bytes()}.check(m.events[0])
}

// throughput keeps the pipeline full of operations.
func (m *measurement) throughput(ctx context.Context) {
	before := processorTimes()
	begin := time.Now()
	for range m.t.pipeline {
		m.post()
	}
	for i := range m.t.iterations {
		m.reap(ctx, m.t.poll)
		if i+m.t.pipeline < m.t.iterations {
			m.post()
		}
	}
	m.elapsed = time.Since(begin)
	m.utilization = processorTimes().since(before)
}

// latencies times single operations, from the post to the completion. It polls.
func (m *measurement) latencies(ctx context.Context) {
	posts, reaps := m.posts, m.reaps
	for range m.t.iterations {
		begin := time.Now()
		m.post()
		m.reap(ctx, true)
		m.latency.add(time.Since(begin))
	}
	m.posts, m.reaps = posts, reaps
}

// times are the processors' busy and total times since the machine started, in ticks.
type times struct{ busy, idle float64 }

func processorTimes() times {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times{}
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	var t times
	// user, nice, system, idle
	for i, field := range strings.Fields(line) {
		ticks, err := strconv.ParseFloat(field, 64)
		switch {
		case err != nil || i > 4:
		case i == 4:
			t.idle = ticks
		default:
			t.busy += ticks
		}
	}
	return t
}

// since returns how busy the processors have been, in percent.
func (t times) since(before times) float64 {
	busy, idle := t.busy-before.busy, t.idle-before.idle
	return 100 * busy / math.Max(busy+idle, 1)
}

// print prints the same as the C program. A megabyte is 2^20 bytes here.
func (m *measurement) print(p performance) {
	mode := "blocking"
	if p.poll {
		mode = "polling"
	}
	o := p.operation
	seconds := m.elapsed.Seconds()
	megabytes := float64(o.bytes()) * float64(p.iterations) / (1 << 20)
	rate, bandwidth := float64(p.iterations)/seconds, megabytes/seconds
	fmt.Println("------------------------- Statistics -------------------------")
	for _, row := range []struct {
		what  string
		value any
	}{
		{"Mode", mode}, {"Operation Type", o.kind}, {"Number of Operations", p.iterations}, {"Segment Size", o.size},
		{"Number of Segments", o.segments}, {"Pipeline Length", p.pipeline},
	} {
		fmt.Printf("    %-20s : %v\n", row.what, row.value)
	}
	fmt.Println()
	for _, row := range []struct {
		what  string
		value float64
		unit  string
	}{
		{"Total Time", seconds, " sec"}, {"Total Data Exchanged", megabytes, " MB"}, {"CPU Utilization", m.utilization, ""},
		{"Operation Throughput", rate, " ops/sec"}, {"Bandwidth", bandwidth, " MB/sec"},
	} {
		fmt.Printf("    %-20s : %.2f%s\n", row.what, row.value, row.unit)
	}
	for _, block := range []struct {
		what string
		d    durations
	}{{"Latency", m.latency}, {"Time Per Post", m.posts}, {"Time Per Reap", m.reaps}} {
		fmt.Printf("\n%s\n    Arithmetic mean      : %.2f us\n    maximum              : %.2f us\n    minimum              : %.2f us\n",
			block.what, block.d.mean(), microseconds(block.d.most), microseconds(block.d.least))
	}
	const line = "---------------------------------------------------------------------"
	fmt.Printf("\nNOTE: 1 MB = 1024 KB = 1048576 B \n%s\n", line)
	fmt.Printf("raw: %v, %d, %d, %d, %d, %.2f, %.2f, %.2f, %.2f, %.2f, %.2f \n%s\n", o.kind, p.iterations, o.size, o.segments, p.pipeline,
		m.utilization, rate, bandwidth, m.latency.mean(), m.posts.mean(), m.reaps.mean(), line)
}
