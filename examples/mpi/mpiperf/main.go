// Mpiperf measures how fast package mpi passes messages. It is started like heat. Rank 0 prints a table.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/program"
)

func main() { perf().Main() }

// settings say what to measure.
type settings struct {
	sizes []int         // bytes of a message
	time  time.Duration // shortest time of a measurement
}

// maxSize is the longest message in bytes.
const maxSize = 1 << 30

func perf() program.Program {
	var s settings
	var sizes string
	return program.Program{
		Name: "mpiperf", Ranks: 2,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&sizes, "sizes", "8,1024,8192,65536,1048576", "`bytes` of messages, separated by commas")
			flags.DurationVar(&s.time, "time", 500*time.Millisecond, "shortest time of a measurement")
		},
		Check: func(ranks int) error {
			for text := range strings.SplitSeq(sizes, ",") {
				size, err := strconv.Atoi(text)
				if err != nil || size < 0 || size > maxSize {
					return program.Usage("-sizes has %q; sizes must be 0 to %d bytes", text, maxSize)
				}
				s.sizes = append(s.sizes, size)
			}
			switch {
			case s.time <= 0:
				return program.Usage("-time must be more than 0")
			case ranks < 2:
				return program.Usage("-n must be 2 or more")
			}
			return nil
		},
		Run: func(_ context.Context, w *mpi.World, out io.Writer) error { return s.measure(w, out) },
	}
}

// test is something to measure.
type test struct {
	name, unit string
	// sized says that the test is done for each size of messages.
	sized bool
	// do runs the test's operation once.
	do func(c *mpi.Comm, b *buffers) error
	// value converts the median of the times of an operation to the result.
	value func(took time.Duration, size int) float64
}

// buffers are those of a rank: of the size for each rank.
type buffers struct {
	out, in []byte
	size    int
}

// window is how many messages are under way when bandwidth is measured.
const window = 64

var tests = []test{
	{"round trip", "us", true, pingpong, microseconds},
	{"bandwidth", "MB/s", true, stream, func(took time.Duration, size int) float64 { return float64(window*size) / took.Seconds() / 1e6 }},
	{"barrier", "us", false, func(c *mpi.Comm, _ *buffers) error { return mpi.Barrier(c) }, microseconds},
	{"allreduce", "us", true, func(c *mpi.Comm, b *buffers) error {
		return mpi.Allreduce(c, b.out[:b.size], b.in[:b.size], mpi.Max)
	}, microseconds},
	{"alltoall", "us", true, func(c *mpi.Comm, b *buffers) error { return mpi.Alltoall(c, b.out, b.in) }, microseconds},
}

func microseconds(took time.Duration, _ int) float64 { return took.Seconds() * 1e6 }

// pingpong sends a message from rank 0 to rank 1 and back.
func pingpong(c *mpi.Comm, b *buffers) (err error) {
	switch c.Rank() {
	case 0:
		if err = mpi.Send(c, b.out[:b.size], 1, 0); err == nil {
			_, err = mpi.Recv(c, b.in[:b.size], 1, 0)
		}
	case 1:
		if _, err = mpi.Recv(c, b.in[:b.size], 0, 0); err == nil {
			err = mpi.Send(c, b.out[:b.size], 0, 0)
		}
	}
	return err
}

// stream sends a window of messages from rank 0 to rank 1, and one back.
func stream(c *mpi.Comm, b *buffers) error {
	if c.Rank() > 1 {
		return nil
	}
	var requests []*mpi.Request
	for range window {
		if c.Rank() == 0 {
			requests = append(requests, mpi.Isend(c, b.out[:b.size], 1, 0))
		} else {
			requests = append(requests, mpi.Irecv(c, b.in[:b.size], 0, 0))
		}
	}
	if _, err := mpi.Waitall(requests...); err != nil {
		return err
	}
	if c.Rank() == 1 {
		return mpi.Send(c, []byte{1}, 0, 1)
	}
	_, err := mpi.Recv(c, []byte{0}, 1, 1)
	return err
}

// measure runs all tests.
func (s settings) measure(w *mpi.World, out io.Writer) error {
	if w.Rank() == 0 {
		fmt.Fprintf(out, "%d ranks on %s\n%-12s %9s\n", w.Size(), w.Adapter(), "", "bytes")
	}
	for _, t := range tests {
		sizes := s.sizes
		if !t.sized {
			sizes = []int{0}
		}
		for _, size := range sizes {
			b := &buffers{make([]byte, size*w.Size()), make([]byte, size*w.Size()), size}
			took, err := s.repeat(w.Comm, t, b)
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				fmt.Fprintf(out, "%-12s %9d %12.4g %s\n", t.name, size, t.value(took, size), t.unit)
			}
		}
	}
	return nil
}

// repeat runs a test for long enough, and returns the median of the times on rank 0, which decides how many there are.
func (s settings) repeat(c *mpi.Comm, t test, b *buffers) (time.Duration, error) {
	var took []time.Duration
	for again, began := []int{1}, time.Now(); again[0] > 0; {
		for range again[0] {
			start := time.Now()
			if err := t.do(c, b); err != nil {
				return 0, err
			}
			took = append(took, time.Since(start))
		}
		if again[0] = len(took); time.Since(began) >= s.time {
			again[0] = 0
		}
		if err := mpi.Bcast(c, again, 0); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
