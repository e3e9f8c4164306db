package main

import (
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
)

// test is something to measure.
type test struct {
	name string
	unit string
	// ranks is how many take part: two, or 0 for all.
	ranks int
	// sized says that the test is done for each size of messages.
	sized bool
	// do runs the test's operation the given number of times.
	do func(c *mpi.Comm, b *buffers, times int) error
	// value converts the time of one repetition to the result.
	value func(took time.Duration, size int) float64
	// quantile, if not 0, selects one of the times that repetitions take on rank 0, instead of their average: 0.5 is
	// the median.
	quantile float64
	// alone, if not nil, measures without repetitions, and returns the result.
	alone func(c *mpi.Comm, atLeast time.Duration) (float64, error)
}

// buffers are those of a rank.
type buffers struct {
	size     int
	out, in  []byte
	requests []*mpi.Request
	took     []time.Duration // time of each repetition, on rank 0, in tests with a quantile
}

// window is how many messages are under way when bandwidth is measured.
const window = 64

var tests = []test{
	{name: "latency", unit: "us", ranks: 2, sized: true, do: pingpong, value: microseconds, quantile: 0.5},
	{name: "latency p99", unit: "us", ranks: 2, sized: true, do: pingpong, value: microseconds, quantile: 0.99},
	{name: "bandwidth", unit: "MB/s", ranks: 2, sized: true, do: stream, value: rate(1e6, 1)},
	{name: "both ways", unit: "MB/s", ranks: 2, sized: true, do: bothWays, value: rate(1e6, 2)},
	{name: "messages", unit: "thousand/s", ranks: 2, sized: true, do: stream, value: func(t time.Duration, _ int) float64 { return window / t.Seconds() / 1e3 }},
	{name: "barrier", unit: "us", do: barrier, value: microseconds},
	{name: "allreduce", unit: "us", sized: true, do: allreduce, value: microseconds},
	{name: "alltoall", unit: "us", sized: true, do: alltoall, value: microseconds},
	{name: "waiting", unit: "ms/s", ranks: 2, alone: waiting},
}

func microseconds(t time.Duration, _ int) float64 { return t.Seconds() * 1e6 }

// rate returns a function that converts the time of a window to bytes per second in a unit.
func rate(unit float64, ways int) func(time.Duration, int) float64 {
	return func(t time.Duration, size int) float64 { return float64(ways*window*size) / t.Seconds() / unit }
}

// pingpong sends a message there and back.
func pingpong(c *mpi.Comm, b *buffers, times int) error {
	b.took = b.took[:0]
	began := time.Now()
	for range times {
		if c.Rank() == 0 {
			if err := mpi.Send(c, b.out, 1, 0); err != nil {
				return err
			}
			if _, err := mpi.Recv(c, b.in, 1, 0); err != nil {
				return err
			}
			now := time.Now()
			b.took = append(b.took, now.Sub(began))
			began = now
			continue
		}
		if _, err := mpi.Recv(c, b.in, 0, 0); err != nil {
			return err
		}
		if err := mpi.Send(c, b.out, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// stream sends a window of messages, and receives one answer.
func stream(c *mpi.Comm, b *buffers, times int) error {
	var answer [1]byte
	for range times {
		b.requests = b.requests[:0]
		for range window {
			if c.Rank() == 0 {
				b.requests = append(b.requests, mpi.Isend(c, b.out, 1, 0))
			} else {
				b.requests = append(b.requests, mpi.Irecv(c, b.in, 0, 0))
			}
		}
		if _, err := mpi.Waitall(b.requests...); err != nil {
			return err
		}
		if c.Rank() == 0 {
			if _, err := mpi.Recv(c, answer[:], 1, 1); err != nil {
				return err
			}
		} else if err := mpi.Send(c, answer[:], 0, 1); err != nil {
			return err
		}
	}
	return nil
}

// bothWays sends a window of messages in each direction.
func bothWays(c *mpi.Comm, b *buffers, times int) error {
	peer := 1 - c.Rank()
	for range times {
		b.requests = b.requests[:0]
		for range window {
			b.requests = append(b.requests, mpi.Irecv(c, b.in, peer, 0))
		}
		for range window {
			b.requests = append(b.requests, mpi.Isend(c, b.out, peer, 0))
		}
		if _, err := mpi.Waitall(b.requests...); err != nil {
			return err
		}
	}
	return nil
}

func barrier(c *mpi.Comm, _ *buffers, times int) error {
	for range times {
		if err := mpi.Barrier(c); err != nil {
			return err
		}
	}
	return nil
}

func allreduce(c *mpi.Comm, b *buffers, times int) error {
	out, in := make([]float64, max(b.size/8, 1)), make([]float64, max(b.size/8, 1))
	for range times {
		if err := mpi.Allreduce(c, out, in, mpi.Sum); err != nil {
			return err
		}
	}
	return nil
}

// alltoall sends a message of the size to each rank.
func alltoall(c *mpi.Comm, b *buffers, times int) error {
	out, in := make([]byte, b.size*c.Size()), make([]byte, b.size*c.Size())
	for range times {
		if err := mpi.Alltoall(c, out, in); err != nil {
			return err
		}
	}
	return nil
}

// waiting returns the processor time that a rank uses while it waits for a message that comes late.
func waiting(c *mpi.Comm, atLeast time.Duration) (float64, error) {
	value := []float64{0}
	if err := mpi.Barrier(c); err != nil {
		return 0, err
	}
	if c.Rank() == 0 {
		time.Sleep(longWait * atLeast)
		if err := mpi.Send(c, value, 1, 0); err != nil {
			return 0, err
		}
		_, err := mpi.Recv(c, value, 1, 0)
		return value[0], err
	}
	began := time.Now()
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	if _, err := mpi.Recv(c, value, 0, 0); err != nil {
		return 0, err
	}
	after, err := processorTime()
	if err != nil {
		return 0, err
	}
	value[0] = (after - before).Seconds() * 1e3 / time.Since(began).Seconds()
	return value[0], mpi.Send(c, value, 0, 0)
}

// longWait is how long the wait lasts, as a multiple of the time of a measurement.
const longWait = 5

// processorTime returns the processor time that this process has used.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// measure runs all tests. Ranks that take no part wait in a barrier.
func (s settings) measure(w *mpi.World, out io.Writer) error {
	color := 0
	if w.Rank() > 1 {
		color = mpi.Undefined
	}
	pair, err := w.Split(color, w.Rank())
	if err != nil {
		return err
	}
	if w.Rank() == 0 && !s.csv {
		fmt.Fprintf(out, "%d ranks on %s\n", w.Size(), w.Adapter())
		fmt.Fprintf(out, "%-12s %9s %12s\n", "", "bytes", "")
	}
	for _, t := range s.tests {
		c := w.Comm
		if t.ranks == 2 {
			c = pair
		}
		sizes := s.sizes
		if !t.sized {
			sizes = []int{0}
		}
		for _, size := range sizes {
			if c != nil && (t.ranks != 2 || c.Size() == 2) {
				value, err := s.value(c, t, size)
				if err != nil {
					return err
				}
				if w.Rank() == 0 {
					s.print(out, t, size, value)
				}
			}
			if err := mpi.Barrier(w.Comm); err != nil {
				return err
			}
		}
	}
	if s.stats {
		fmt.Fprintf(out, "%+v\n", w.Stats())
	}
	return nil
}

// value returns the result of a test.
func (s settings) value(c *mpi.Comm, t test, size int) (float64, error) {
	if t.alone != nil {
		return t.alone(c, s.time)
	}
	b := &buffers{size: size, out: make([]byte, size), in: make([]byte, size)}
	took, err := s.repeat(c, t, b)
	if err != nil {
		return 0, err
	}
	if t.quantile > 0 && len(b.took) > 0 {
		slices.Sort(b.took)
		took = b.took[int(t.quantile*float64(len(b.took)-1))]
	}
	return t.value(took, size), nil
}

// repeat runs a test for long enough, and returns the time of one repetition. Rank 0 decides how many there are.
func (s settings) repeat(c *mpi.Comm, t test, b *buffers) (time.Duration, error) {
	for times := []int{1}; ; {
		began := time.Now()
		if err := t.do(c, b, times[0]); err != nil {
			return 0, err
		}
		took := time.Since(began)
		done := times[0]
		next := 0 // stop
		if took < s.time {
			next = done * 2
			if took > s.time/50 {
				next = int(1.2*float64(done)*float64(s.time)/float64(took)) + 1
			}
		}
		times[0] = next
		if err := mpi.Bcast(c, times, 0); err != nil {
			return 0, err
		}
		if times[0] == 0 {
			return took / time.Duration(done), nil
		}
	}
}
