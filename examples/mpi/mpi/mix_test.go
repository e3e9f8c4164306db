package mpi

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"testing"
	"time"
)

var (
	mixSeed  = flag.Uint64("mix.seed", 1, "seed of the first random program of TestMix")
	mixBound = flag.Duration("mix.bound", 3*time.Minute, "how long a program of TestMix may take; an emulated machine needs one")
	mixSteps = flag.Int("mix.steps", 12, "how many steps the programs of TestMix have")
	mixFor   = flag.Duration("mix.for", 0, "how long TestMix runs programs, with each provider; 0 for a few programs")
)

// mixVariable has the seed, the number of steps and the bound of a random program.
const mixVariable = "MPI_TEST_MIX"

// Random programs do everything at once: two goroutines of each rank send messages, reduce and exchange, wait or not,
// create communicators, and use windows. All numbers that arrive are right. A seed stands for one program; -mix.steps makes
// it shorter.
func TestMix(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		sizes := []int{1, 2, 3, 4, 5, 8}
		seed, end := *mixSeed, time.Now().Add(*mixFor)
		for i := 0; i < len(sizes) || time.Now().Before(end); i++ {
			ranks := sizes[(seed-1)%uint64(len(sizes))]
			out := &output{}
			ctx, cancel := context.WithTimeout(context.Background(), 2**mixBound)
			err := taskJob(adapter, ranks, "mix", out, fmt.Sprintf("%s=%d %d %v", mixVariable, seed, *mixSteps, *mixBound)).Run(ctx)
			cancel()
			if err != nil {
				t.Fatalf("seed %d, %d ranks, %d steps: %v\n%s", seed, ranks, *mixSteps, err, out.text.String())
			}
			seed++
		}
	})
}

func mixTask(w *World) error {
	var seed uint64
	var steps int
	var text string
	if _, err := fmt.Sscan(os.Getenv(mixVariable), &seed, &steps, &text); err != nil {
		return err
	}
	bound, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	late := time.AfterFunc(bound, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(1)
	})
	defer late.Stop()
	const threads = 2
	failures := make(chan error, threads)
	for thread := range uint64(threads) {
		c, err := w.Dup()
		if err != nil {
			return err
		}
		m := &mixer{random: rand.New(rand.NewPCG(seed, thread)), own: rand.New(rand.NewPCG(seed, uint64(w.Rank()))), comms: []*Comm{c}}
		go func() { failures <- m.run(steps) }()
	}
	for range threads {
		err = errors.Join(err, <-failures)
	}
	return err
}

// mixer is a goroutine of a random program.
type mixer struct {
	random *rand.Rand // the same on all ranks
	own    *rand.Rand
	comms  []*Comm
	tag    int
	// pending are operations that have begun, and checks what they must have brought.
	pending []*Request
	checks  []func() error

	window *Window[int64]
	sum    int64 // what this rank's window has by now
}

func (m *mixer) run(steps int) error {
	var err error
	// There is a number for each rank, and one for sums.
	if m.window, err = CreateWindow[int64](m.comms[0], m.comms[0].Size()+1); err != nil {
		return err
	}
	if err := m.window.Fence(); err != nil {
		return err
	}
	for step := range steps {
		do := []struct {
			name string
			do   func() error
		}{
			{"messages", m.messages}, {"messages", m.messages}, {"messages", m.messages},
			{"collective", m.collective}, {"collective", m.collective}, {"collective", m.collective}, {"collective", m.collective},
			{"communicator", m.communicator}, {"window", m.onWindow}, {"wait", m.wait}, {"pause", m.pause},
		}[m.random.IntN(11)]
		if err := do.do(); err != nil {
			return fmt.Errorf("step %d, %s: %w", step, do.name, err)
		}
	}
	if err := m.wait(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return m.window.Free()
}

// comm returns a communicator.
func (m *mixer) comm() *Comm { return m.comms[m.random.IntN(len(m.comms))] }

// length returns how many numbers an operation has: mostly few.
func (m *mixer) length() int {
	switch m.random.IntN(12) {
	case 0:
		return eagerLimit/8 - 2 + m.random.IntN(4)
	case 1:
		return m.random.IntN(30_000)
	case 2:
		return 0
	}
	return m.random.IntN(200)
}

// expect waits for an operation later, and then compares.
func (m *mixer) expect(r *Request, got, want []int) {
	m.pending = append(m.pending, r)
	m.checks = append(m.checks, func() error {
		if !slices.Equal(got, want) {
			return fmt.Errorf("a message of %d numbers is %v, want %v", len(want), head(got), head(want))
		}
		return nil
	})
}

// messages sends some between random ranks.
func (m *mixer) messages() error {
	for range 1 + m.random.IntN(6) {
		c, length, a, b, any := m.comm(), m.length(), m.random.IntN(1000), m.random.IntN(1000), m.random.IntN(4) == 0
		from, to := a%c.Size(), b%c.Size()
		m.tag++
		numbers := inputOf(m.tag+from, length)
		if c.Rank() == from {
			m.expect(Isend(c, slices.Clone(numbers), to, m.tag), nil, nil)
		}
		if c.Rank() == to {
			if any {
				from = AnySource
			}
			got := make([]int, length)
			m.expect(Irecv(c, got, from, m.tag), got, numbers)
		}
	}
	return nil
}

// collective makes a collective operation, while messages are under way.
func (m *mixer) collective() error {
	c, o, length := m.comm(), operations[m.random.IntN(len(operations))], m.length()
	root := m.random.IntN(1000) % c.Size()
	n, got := length, make([]int, length)
	if o.allSent {
		n *= c.Size()
	}
	if o.allGot {
		got = make([]int, length*c.Size())
	}
	var sent [][]int
	for rank := range c.Size() {
		sent = append(sent, inputOf(rank, n))
	}
	want := o.serial(c, sent, root)
	if err := o.do(c, sent[c.Rank()], got, root); err != nil || want != nil && !slices.Equal(got, want) {
		return fmt.Errorf("%s of %d numbers, root %d: got %v, %w, want %v", o.name, length, root, head(got), err, head(want))
	}
	return nil
}

// communicator creates one, and frees the oldest if there are many.
func (m *mixer) communicator() error {
	c, err := m.comm().Dup()
	m.comms = append(m.comms, c)
	if err != nil || len(m.comms) <= 8 {
		return err
	}
	if err := m.wait(); err != nil { // for what is under way on it
		return err
	}
	oldest := m.comms[1]
	m.comms = slices.Delete(m.comms, 1, 2)
	return oldest.Free()
}

// onWindow writes to one rank, and adds at another.
func (m *mixer) onWindow() error {
	c, distance, value := m.comms[0], m.random.IntN(1000), m.random.Int64N(1<<40)
	size := c.Size()
	to, from := (c.Rank()+distance)%size, ((c.Rank()-distance)%size+size)%size
	put := []int64{value + int64(c.Rank())}
	_, added := m.window.FetchAdd(put[0], to, size)
	if err := errors.Join(added, m.window.Put(put, to, c.Rank()), m.window.Fence()); err != nil {
		return err
	}
	came := value + int64(from)
	m.sum += came
	got := []int64{0, 0}
	if err := errors.Join(m.window.Get(got[:1], to, c.Rank()), m.window.Get(got[1:], c.Rank(), size), m.window.Flush(to), m.window.Flush(c.Rank())); err != nil {
		return err
	}
	got = append(got, m.window.Local[from], m.window.Local[size])
	if want := []int64{put[0], m.sum, came, m.sum}; !slices.Equal(got, want) {
		return fmt.Errorf("the window has %v, want %v", got, want)
	}
	return m.window.Fence()
}

// wait waits for everything in an order of this rank's own.
func (m *mixer) wait() error {
	for _, i := range m.own.Perm(len(m.pending)) {
		_, err := m.pending[i].Wait()
		if err == nil {
			err = m.checks[i]()
		}
		if err != nil {
			return err
		}
	}
	m.pending, m.checks = nil, nil
	return nil
}

// pause computes for a time that differs between ranks, so that some fall asleep.
func (m *mixer) pause() error {
	time.Sleep(time.Duration(m.own.IntN(4000)) * time.Microsecond)
	return nil
}
