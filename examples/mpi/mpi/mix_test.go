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

// Random programs do everything at once: two goroutines of each rank send messages, with and without wildcards, make
// collective operations and communicators, and use windows. Short messages go through rings, as events, or as the machine
// chooses. Each message arrives once and whole, and none overtakes another. A seed stands for one program; -mix.steps makes
// it shorter.
func TestMix(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		sizes := []int{4, 1, 2, 3, 5, 8}
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
	must(fmt.Sscan(os.Getenv(mixVariable), &seed, &steps, &text))
	defer time.AfterFunc(must(time.ParseDuration(text)), func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(1)
	}).Stop()
	w.mu.Lock()
	w.ways = ways(seed % 3)
	w.mu.Unlock()
	const threads = 2
	failures := make(chan error, threads)
	for thread := range uint64(threads) {
		m := &mixer{random: rand.New(rand.NewPCG(seed, thread)), own: rand.New(rand.NewPCG(seed, uint64(w.Rank()))), comms: []*Comm{must(w.Dup())}}
		go func() { failures <- m.run(steps) }()
	}
	check(errors.Join(<-failures, <-failures))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.handlers)+len(w.matcher.posted)+len(w.matcher.unexpected) > 0 {
		return fmt.Errorf("%d windows, %d receives and %d messages stay", len(w.handlers), len(w.matcher.posted), len(w.matcher.unexpected))
	}
	return nil
}

// mixer is a goroutine of a random program.
type mixer struct {
	random *rand.Rand // the same on all ranks
	own    *rand.Rand
	comms  []*Comm
	count  int // of messages
	// pending are messages under way, and checks what they must have brought.
	pending []*Request
	checks  []func() error

	window *Window[int64]
	sum    int64 // what this rank's window has by now
}

func (m *mixer) run(steps int) (err error) {
	// There is a number for each rank, and one for sums.
	if m.window, err = CreateWindow[int64](m.comms[0], m.comms[0].Size()+1); err != nil {
		return err
	}
	for step := range steps {
		do := []func() error{
			m.messages, m.messages, m.messages, m.messages, m.collective, m.collective, m.collective, m.collective, m.communicator, m.onWindow, m.wait,
			func() error {
				time.Sleep(time.Duration(m.own.IntN(4000)) * time.Microsecond) // it computes, and some ranks fall asleep
				return nil
			},
		}
		which := m.random.IntN(len(do))
		if err := do[which](); err != nil {
			return fmt.Errorf("step %d, action %d: %w", step, which, err)
		}
	}
	if err := m.wait(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return m.window.Free()
}

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

// messages sends some between random ranks. Those from one rank to another mostly have the same tag. They match in order,
// also receives with AnyTag. One for AnySource has a tag of its own, so that no other takes its message.
func (m *mixer) messages() error {
	c := m.comm()
	for range 1 + m.random.IntN(12) {
		from, to, length := m.random.IntN(c.Size()), m.random.IntN(c.Size()), m.length()
		m.count++
		numbers, tag := inputOf(m.count, length), 0
		source, anyTag := from, m.random.IntN(3) == 0
		if m.random.IntN(4) == 0 {
			source, tag, anyTag = AnySource, m.count, false
		}
		if c.Rank() == from {
			m.expect(Isend(c, slices.Clone(numbers), to, tag), nil, nil)
		}
		if c.Rank() == to {
			if anyTag {
				tag = AnyTag
			}
			got := make([]int, length)
			m.expect(Irecv(c, got, source, tag), got, numbers)
		}
	}
	return nil
}

// expect waits for a message later, and then compares.
func (m *mixer) expect(r *Request, got, want []int) {
	m.pending = append(m.pending, r)
	m.checks = append(m.checks, func() error {
		if !slices.Equal(got, want) {
			return fmt.Errorf("a message of %d numbers is %v, want %v", len(want), head(got), head(want))
		}
		return nil
	})
}

// wait waits for all messages, in an order of this rank's own.
func (m *mixer) wait() error {
	for _, i := range m.own.Perm(len(m.pending)) {
		_, err := m.pending[i].Wait()
		if err = errors.Join(err, m.checks[i]()); err != nil {
			return err
		}
	}
	m.pending, m.checks = nil, nil
	return nil
}

// collective makes a collective operation, while messages are under way.
func (m *mixer) collective() error {
	c, o, length := m.comm(), operations[m.random.IntN(len(operations))], m.length()
	root, n, got := m.random.IntN(c.Size()), length, make([]int, length)
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

// communicator creates one, if there are few.
func (m *mixer) communicator() error {
	if len(m.comms) == 4 {
		return nil
	}
	c, err := m.comm().Dup()
	m.comms = append(m.comms, c)
	return err
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
	m.sum += value + int64(from)
	got := []int64{0, 0}
	if err := errors.Join(m.window.Get(got[:1], to, c.Rank()), m.window.Get(got[1:], c.Rank(), size), m.window.Flush(to), m.window.Flush(c.Rank())); err != nil {
		return err
	}
	got = append(got, m.window.Local[from], m.window.Local[size])
	if want := []int64{put[0], m.sum, value + int64(from), m.sum}; !slices.Equal(got, want) {
		return fmt.Errorf("the window has %v, want %v", got, want)
	}
	return m.window.Fence()
}
