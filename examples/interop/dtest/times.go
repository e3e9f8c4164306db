package main

import (
	"fmt"
	"os"
	"time"
)

// reads is how many RDMA reads are made, and how many may be in progress.
const reads = 4

// times are the times of the calls that the C program measures, so that the two tables can be compared. Of several calls of a
// kind it times only some: the region that the peer writes, the creation of the EVD for connection requests, and the freeing
// of those for completions.
type times struct {
	open, close          time.Duration
	pzCreate, pzFree     time.Duration
	lmrCreate, lmrFree   time.Duration
	evdCreate, evdFree   time.Duration
	cnoCreate, cnoFree   time.Duration
	epCreate, epFree     time.Duration
	connect              time.Duration
	write, roundTrips    time.Duration
	read                 [reads]time.Duration
	writePolls, msgPolls int
	readPolls            [reads]int
}

// timed adds the time of f.
func timed(total *time.Duration, f func()) {
	start := time.Now()
	f()
	*total += time.Since(start)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// bandwidth is in megabytes per second, which are bytes per microsecond.
func bandwidth(bytes int, d time.Duration) float64 { return float64(bytes) / microseconds(max(d, 1)) }

// print prints the results, and with -t the table, in the format of the C program.
func (t *times) print(o options) {
	if t.roundTrips > 0 && !o.allSizes {
		t.printRoundTrips(o, o.size)
	}
	if t.write > 0 && (!o.server() || !o.unidirectional) {
		direction, count := "bi-direction", 2*o.burst
		if o.unidirectional {
			direction, count = "uni-direction", o.burst
		}
		total := microseconds(t.write)
		fmt.Printf("\n%d: RDMA write (%s): Total=%6.2f usec, itime=%6.2f us, poll=%d, %d x %d, %4.2f MB/sec\n",
			os.Getpid(), direction, total, total/float64(count), t.writePolls, count, o.size, bandwidth(count*o.size, t.write))
	}
	if o.times {
		t.printTable(o)
	}
}

// printRoundTrips prints the times of messages, or of the writes of -W. The latency is half a round trip.
func (t *times) printRoundTrips(o options, size int) {
	kind, count := "Message", pings
	if o.writePingPong {
		kind, count = "RDMA write", o.burst
	}
	total := microseconds(t.roundTrips)
	fmt.Printf("%d: %s PingPong: (%d x %d) Total %6.2f us: latency %3.2f us, BW %4.2f MB/s\n",
		os.Getpid(), kind, count, size, total, total/float64(count)/2, bandwidth(2*count*size, t.roundTrips))
}

func (t *times) printTable(o options) {
	var total time.Duration
	for _, d := range t.read {
		total += d
	}
	for i, d := range t.read {
		fmt.Printf("%d: RDMA read:   Total=%10.2f usec,   %d bursts, itime=%10.2f usec, pc=%d\n",
			os.Getpid(), microseconds(total), reads, microseconds(d), t.readPolls[i])
	}
	total = 0
	for _, row := range []struct {
		label string
		took  time.Duration
		shown bool
	}{
		{"open:", t.open, true}, {"close:", t.close, true}, {"PZ create:", t.pzCreate, true}, {"PZ free:", t.pzFree, true},
		{"LMR create:", t.lmrCreate, true}, {"LMR free:", t.lmrFree, true}, {"EVD create:", t.evdCreate, true}, {"EVD free:", t.evdFree, true},
		{"CNO create:  ", t.cnoCreate, o.useCNO}, {"CNO free:    ", t.cnoFree, o.useCNO}, {"EP create:", t.epCreate, true}, {"EP free:", t.epFree, true},
	} {
		if row.shown {
			fmt.Printf("%d: %-11s%10.2f usec\n", os.Getpid(), row.label, microseconds(row.took))
			total += row.took
		}
	}
	if !o.server() {
		fmt.Printf("%d: connect:   %10.2f usec\n", os.Getpid(), microseconds(t.connect))
	}
	fmt.Printf("%d: TOTAL:     %10.2f usec\n", os.Getpid(), microseconds(total))
}
