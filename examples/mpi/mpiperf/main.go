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

// tests are what is measured, for each size of messages. The buffers have that size for each rank.
var tests = []struct {
	name string
	do   func(c *mpi.Comm, out, in []byte, size int) error
}{
	{"round trip", pingpong}, {"bandwidth", stream},
	{"barrier", func(c *mpi.Comm, _, _ []byte, _ int) error { return mpi.Barrier(c) }},
	{"allreduce", func(c *mpi.Comm, out, in []byte, size int) error {
		return mpi.Allreduce(c, out[:size], in[:size], mpi.Max)
	}},
	{"alltoall", func(c *mpi.Comm, out, in []byte, _ int) error { return mpi.Alltoall(c, out, in) }},
}

// window is how many messages are under way when bandwidth is measured.
const window = 64

// pingpong sends a message from rank 0 to rank 1 and back.
func pingpong(c *mpi.Comm, out, in []byte, size int) (err error) {
	switch c.Rank() {
	case 0:
		if err = mpi.Send(c, out[:size], 1, 0); err == nil {
			_, err = mpi.Recv(c, in[:size], 1, 0)
		}
	case 1:
		if _, err = mpi.Recv(c, in[:size], 0, 0); err == nil {
			err = mpi.Send(c, out[:size], 0, 0)
		}
	}
	return err
}

// stream sends a window of messages from rank 0 to rank 1, and one back.
func stream(c *mpi.Comm, out, in []byte, size int) error {
	if c.Rank() > 1 {
		return nil
	}
	var requests []*mpi.Request
	for range window {
		if c.Rank() == 0 {
			requests = append(requests, mpi.Isend(c, out[:size], 1, 0))
		} else {
			requests = append(requests, mpi.Irecv(c, in[:size], 0, 0))
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

// measure runs all tests, and prints the median of the times on rank 0.
func (s settings) measure(w *mpi.World, out io.Writer) error {
	if w.Rank() == 0 {
		fmt.Fprintf(out, "%d ranks on %s\n%-12s %9s\n", w.Size(), w.Adapter(), "", "bytes")
	}
	for _, t := range tests {
		for _, size := range s.sizes {
			from, to := make([]byte, size*w.Size()), make([]byte, size*w.Size())
			took, err := s.repeat(w.Comm, func() error { return t.do(w.Comm, from, to, size) })
			if err != nil {
				return err
			}
			value, unit := took.Seconds()*1e6, "us"
			if t.name == "bandwidth" {
				value, unit = float64(window*size)/took.Seconds()/1e6, "MB/s"
			}
			if w.Rank() == 0 {
				fmt.Fprintf(out, "%-12s %9d %12.4g %s\n", t.name, size, value, unit)
			}
		}
	}
	return nil
}

// repeat runs a test for long enough, and returns the median of the times on rank 0, which decides how many there are.
func (s settings) repeat(c *mpi.Comm, do func() error) (time.Duration, error) {
	var took []time.Duration
	for again, began := []int{1}, time.Now(); again[0] > 0; {
		for range again[0] {
			start := time.Now()
			if err := do(); err != nil {
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
