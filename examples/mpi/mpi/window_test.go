package mpi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Ranks write and read each other's memory, in short and long pieces.
func TestWindow(t *testing.T) { runRanks(t, 4, "window") }

func windowTask(w *World) error {
	size, rank := w.Size(), w.Rank()
	for _, length := range []int{1, 1000, pieceSize/8 + 1, 3*pieceSize/8 + 5} {
		// Every rank has a part in each rank's memory.
		win := must(CreateWindow[float64](w.Comm, size*length))
		check(win.Fence())
		value := func(from, to, i int) float64 { return float64(from*1000+to) + float64(i)/float64(length) }
		for to := range size {
			numbers := make([]float64, length)
			for i := range numbers {
				numbers[i] = value(rank, to, i)
			}
			check(win.Put(numbers, to, rank*length))
		}
		check(win.Fence())
		for i, got := range win.Local {
			if want := value(i/length, rank, i%length); got != want {
				return fmt.Errorf("number %d of %d is %v, want %v", i, size*length, got, want)
			}
		}
		got := make([][]float64, size)
		for from := range size {
			got[from] = make([]float64, size*length)
			check(win.Get(got[from], from, 0))
		}
		for from := range size {
			check(win.Flush(from))
			for i, v := range got[from] {
				if want := value(i/length, from, i%length); v != want {
					return fmt.Errorf("number %d of %d at rank %d is %v, want %v", i, size*length, from, v, want)
				}
			}
		}
		check(win.Free())
	}
	// One Put that no call waits for before Close.
	win := must(CreateWindow[int](w.Comm, 1))
	return win.Put([]int{rank}, (rank+1)%size, 0)
}

// Numbers that ranks draw from counters are all different, while other operations are under way.
func TestFetchAdd(t *testing.T) { runRanks(t, 4, "fetch") }

func fetchTask(w *World) error {
	const rounds = 40
	win := must(CreateWindow[complex128](w.Comm, 3))
	drawn := make([]float64, rounds)
	for i := range drawn {
		before, err := win.FetchAdd(1, 0, 2)
		if drawn[i] = real(before); err != nil || i > 0 && drawn[i] <= drawn[i-1] {
			return fmt.Errorf("%v was drawn, %w", drawn[:i+1], err)
		}
		must(win.FetchAdd(1i, (w.Rank()+i)%w.Size(), 1))
	}
	all := make([]float64, rounds*w.Size())
	check(errors.Join(Allgather(w.Comm, drawn, all), win.Fence()))
	slices.Sort(all)
	for i, number := range all {
		if int(number) != i {
			return fmt.Errorf("the numbers that were drawn are %v", all)
		}
	}
	if imag(win.Local[1]) != rounds {
		return fmt.Errorf("the sum is %v", win.Local[1])
	}
	return win.Free()
}

// Flush ends beside goroutines that begin operations all the time.
func TestFlushBesideOthers(t *testing.T) { runRanks(t, 2, "flush") }

func flushTask(w *World) error {
	win := must(CreateWindow[int](w.Comm, 4))
	if err := win.Fence(); err != nil || w.Rank() > 0 {
		return errors.Join(err, win.Free())
	}
	failures := make(chan error, 3)
	var over atomic.Bool
	for _, operation := range []func() error{
		func() error { return win.Put([]int{1}, 1, 0) },
		func() error { return win.Get([]int{0}, 1, 1) },
		func() error { _, err := win.FetchAdd(1, 1, 2); return err },
	} {
		go func() {
			var err error
			for !over.Load() && err == nil {
				err = operation()
			}
			failures <- err
		}()
	}
	for i := range 20 {
		got := []int{0}
		if err := errors.Join(win.Put([]int{i}, 1, 3), win.Flush(1), win.Get(got, 1, 3), win.Flush(1)); err != nil || got[0] != i {
			return fmt.Errorf("%d was written, %d is there: %w", i, got[0], err)
		}
	}
	over.Store(true)
	return errors.Join(<-failures, <-failures, <-failures, win.Free())
}

// A Flush returns while another goroutine, which makes the progress, waits for something else.
func TestFlushBesideReceive(t *testing.T) { runRanks(t, 2, "flush beside receive") }

func flushBesideReceive(w *World) error {
	win, failures := must(CreateWindow[int](w.Comm, 1)), make(chan error, 1)
	if w.Rank() > 0 {
		_, err := Recv(w.Comm, []int{0}, 0, 0)
		return errors.Join(err, Send(w.Comm, []int{1}, 0, 0), win.Free())
	}
	go func() {
		_, err := Recv(w.Comm, []int{0}, 1, 0)
		failures <- err
	}()
	for driven := false; !driven; {
		w.mu.Lock()
		driven = w.driven
		w.mu.Unlock()
		time.Sleep(time.Millisecond) // the other goroutine needs the lock
	}
	for i := range 20 {
		if err := errors.Join(win.Put([]int{i}, 1, 0), win.Flush(1)); err != nil {
			return err
		}
	}
	return errors.Join(Send(w.Comm, []int{1}, 1, 0), <-failures, win.Free())
}

// What Flush has waited for has arrived: over iWARP, the completion of a write only says that TCP has taken it.
func TestFlushArrives(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		a, b := pair(t, adapter)
		deliver(t, a, b)
		p := a.peers[1]
		a.mu.Lock()
		err := p.tellLine(p.signal())
		if err == nil {
			p.posted++
			err = p.tellLine(p.mark())
		}
		last := p.posted
		a.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		until(t, a, func() bool { return !later(last, p.completed) })
		a.mu.Lock()
		if arrived := !later(last, p.delivered); arrived == a.iwarp {
			t.Errorf("a write that is complete counts as arrived: %v; over iWARP: %v", arrived, a.iwarp)
		}
		err = p.confirm()
		a.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		until(t, a, func() bool { return !later(last, p.delivered) })
	})
}

func TestWindowArguments(t *testing.T) { runRanks(t, 2, "window arguments") }

func windowArguments(w *World) error {
	// Rank 1 has one number more.
	win := must(CreateWindow[int32](w.Comm, 10+w.Rank()))
	two := []int32{1, 2}
	_, fetched := win.FetchAdd(1, 0, 10)
	_, created := CreateWindow[int32](w.Comm, -1)
	for name, err := range map[string]error{
		"target -1":               win.Put(two, -1, 0),
		"target 2":                win.Get(two, 2, 0),
		"an index that overflows": win.Get(two, 0, math.MinInt/2),
		"index -1":                win.Put(two, 0, -1),
		"behind the end":          win.Put(two, 0, 9),
		"far behind the end":      win.Get(two, 0, math.MaxInt/8),
		"a fetch behind the end":  fetched,
		"no such rank":            win.Flush(3),
		"-1 numbers":              created,
	} {
		if !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s: %v", name, err)
		}
	}
	check(errors.Join(win.Put(two, 1, 9), win.Put(nil, 0, 10), win.Free()))
	for name, err := range map[string]error{"Put": win.Put(two, 0, 0), "Get": win.Get(two, 0, 0), "Flush": win.Flush(0), "Fence": win.Fence(), "Free": win.Free()} {
		if !errors.Is(err, ErrFreed) || win.Local != nil {
			return fmt.Errorf("%s after Free: %v", name, err)
		}
	}
	var err error
	if w.Rank() == 1 {
		_, err = CreateWindow[int32](w.Comm, 3)
	} else {
		_, err = CreateWindow[float32](w.Comm, 3)
	}
	if !errors.Is(err, ErrMismatch) {
		return fmt.Errorf("windows of different kinds: %v", err)
	}
	return Barrier(w.Comm)
}
