package main

import (
	"fmt"
	"io"
	"time"
)

// reads is how many RDMA reads are made, and how many may be in progress.
const reads = 4

// times are the times of the calls that the C program measures, so that the two tables can be compared. Of several
// calls of a kind it times only some: the region that the peer writes, the creation of the EVD for connection requests,
// and the freeing of those for completions.
type times struct {
	open, close                        time.Duration
	pzCreate, pzFree                   time.Duration
	lmrCreate, lmrFree                 time.Duration
	evdCreate, evdFree                 time.Duration
	cnoCreate, cnoFree                 time.Duration
	epCreate, epFree                   time.Duration
	connect                            time.Duration
	write, roundTrips                  time.Duration
	read                               [reads]time.Duration
	connectPolls, writePolls, msgPolls int
	readPolls                          [reads]int
}

// timed adds the time of f.
func timed(total *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*total += time.Since(start)
	return err
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// bandwidth is in megabytes per second, which are bytes per microsecond.
func bandwidth(bytes int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) / microseconds(d)
}

// print writes the results, and with -t the table, in the format of the C program.
func (t *times) print(w io.Writer, pid int, o options) {
	if t.roundTrips > 0 && !o.allSizes {
		t.printRoundTrips(w, pid, o, o.size)
	}
	if t.write > 0 && (!o.server() || !o.unidirectional) {
		direction, count := "bi-direction", 2*o.burst
		if o.unidirectional {
			direction, count = "uni-direction", o.burst
		}
		total := microseconds(t.write)
		fmt.Fprintf(w, "\n%d: RDMA write (%s): Total=%6.2f usec, itime=%6.2f us, poll=%d, %d x %d, %4.2f MB/sec\n",
			pid, direction, total, total/float64(count), t.writePolls, count, o.size, bandwidth(count*o.size, t.write))
	}
	if o.times {
		t.printTable(w, pid, o)
	}
}

// printRoundTrips prints the times of messages, or of the writes of -W. The latency is half a round trip.
func (t *times) printRoundTrips(w io.Writer, pid int, o options, size int) {
	kind, count := "Message", pings
	if o.writePingPong {
		kind, count = "RDMA write", o.burst
	}
	total := microseconds(t.roundTrips)
	fmt.Fprintf(w, "%d: %s PingPong: (%d x %d) Total %6.2f us: latency %3.2f us, BW %4.2f MB/s\n",
		pid, kind, count, size, total, total/float64(count)/2, bandwidth(2*count*size, t.roundTrips))
}

func (t *times) printTable(w io.Writer, pid int, o options) {
	var total time.Duration
	for _, d := range t.read {
		total += d
	}
	for i, d := range t.read {
		fmt.Fprintf(w, "%d: RDMA read:   Total=%10.2f usec,   %d bursts, itime=%10.2f usec, pc=%d\n",
			pid, microseconds(total), reads, microseconds(d), t.readPolls[i])
	}
	total = 0
	row := func(label string, d time.Duration) {
		fmt.Fprintf(w, "%d: %-11s%10.2f usec\n", pid, label, microseconds(d))
		total += d
	}
	row("open:", t.open)
	row("close:", t.close)
	row("PZ create:", t.pzCreate)
	row("PZ free:", t.pzFree)
	row("LMR create:", t.lmrCreate)
	row("LMR free:", t.lmrFree)
	row("EVD create:", t.evdCreate)
	row("EVD free:", t.evdFree)
	if o.useCNO {
		row("CNO create:  ", t.cnoCreate)
		row("CNO free:    ", t.cnoFree)
	}
	row("EP create:", t.epCreate)
	row("EP free:", t.epFree)
	if !o.server() {
		fmt.Fprintf(w, "%d: connect:   %10.2f usec, poll_cnt=%d\n", pid, microseconds(t.connect), t.connectPolls)
	}
	fmt.Fprintf(w, "%d: TOTAL:     %10.2f usec\n", pid, microseconds(total))
}
