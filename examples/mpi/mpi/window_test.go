package mpi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// Ranks write and read each other's memory, in short and long pieces.
func TestWindow(t *testing.T) { runRanks(t, 4, "window") }

func init() {
	tasks["window"] = windowTask
	tasks["window accumulate"] = accumulateTask
	tasks["window exchange"] = exchangeTask
	tasks["window flush"] = flushTask
	tasks["window lock"] = lockTask
	tasks["window arguments"] = windowArguments
}

func windowTask(w *World) error {
	size, rank := w.Size(), w.Rank()
	for _, length := range []int{1, 1000, slotSize / 8, slotSize/8 + 1, 3*pieceSize/8 + 5} {
		// Every rank has a part in each rank's memory.
		win, err := CreateWindow[float64](w.Comm, size*length, nil)
		if err != nil {
			return err
		}
		if err := win.Fence(); err != nil {
			return err
		}
		value := func(from, to, i int) float64 { return float64(from*1000+to) + float64(i)/float64(length) }
		for to := range size {
			numbers := make([]float64, length)
			for i := range numbers {
				numbers[i] = value(rank, to, i)
			}
			if err := win.Put(numbers, to, rank*length); err != nil {
				return err
			}
		}
		if err := win.Fence(); err != nil {
			return err
		}
		for from := range size {
			for i, got := range win.Local[from*length:][:length] {
				if got != value(from, rank, i) {
					return fmt.Errorf("number %d of %d from rank %d is %v, want %v", i, length, from, got, value(from, rank, i))
				}
			}
		}
		got := make([][]float64, size)
		for from := range size {
			got[from] = make([]float64, size*length)
			if err := win.Get(got[from], from, 0); err != nil {
				return err
			}
		}
		for from := range size {
			if err := win.Flush(from); err != nil {
				return err
			}
			for i, v := range got[from] {
				if want := value(i/length, from, i%length); v != want {
					return fmt.Errorf("number %d of %d at rank %d is %v, want %v", i, size*length, from, v, want)
				}
			}
		}
		if err := win.Free(); err != nil {
			return err
		}
		for name, err := range map[string]error{
			"Put": win.Put([]float64{1}, 0, 0), "Get": win.Get([]float64{1}, 0, 0), "Flush": win.Flush(0), "Lock": win.Lock(0, Shared),
			"Unlock": win.Unlock(0), "Fence": win.Fence(), "Free": win.Free(),
		} {
			if !errors.Is(err, ErrFreed) {
				return fmt.Errorf("%s after Free: %v", name, err)
			}
		}
		if win.Local != nil {
			return errors.New("after Free, the memory can still be touched")
		}
	}
	// One Put that no call waits for before Close.
	win, err := CreateWindow[int](w.Comm, 1, nil)
	if err != nil {
		return err
	}
	return win.Put([]int{rank}, (rank+1)%size, 0)
}

// Sums that all ranks accumulate at the same time are complete.
func TestAccumulate(t *testing.T) { runRanks(t, 4, "window accumulate") }

func accumulateTask(w *World) error {
	const rounds = 10
	for _, length := range []int{1, 700, 5000} {
		win, err := CreateWindow(w.Comm, length+1, Sum[complex128])
		if err != nil {
			return err
		}
		if err := win.Fence(); err != nil {
			return err
		}
		numbers := make([]complex128, length)
		for i := range rounds {
			for j := range numbers {
				numbers[j] = complex(float64(i+w.Rank()), float64(j))
			}
			for to := range w.Size() {
				if err := win.Accumulate(numbers, to, 1); err != nil {
					return err
				}
			}
		}
		if err := win.Fence(); err != nil {
			return err
		}
		sum := 0
		for rank := range w.Size() {
			for i := range rounds {
				sum += i + rank
			}
		}
		for j, got := range win.Local[1:] {
			if want := complex(float64(sum), float64(j*rounds*w.Size())); got != want || win.Local[0] != 0 {
				return fmt.Errorf("number %d of %d is %v, want %v", j, length, got, want)
			}
		}
		if err := win.Free(); err != nil {
			return err
		}
	}
	return nil
}

// Numbers that ranks draw from a counter are all different, and a lock made of CompareAndSwap excludes.
func TestExchange(t *testing.T) { runRanks(t, 4, "window exchange") }

func exchangeTask(w *World) error {
	const rounds = 20
	win, err := CreateWindow(w.Comm, 3, Sum[int32])
	if err != nil {
		return err
	}
	if err := win.Fence(); err != nil {
		return err
	}
	drawn := make([]int32, rounds)
	for i := range drawn {
		if drawn[i], err = win.FetchAndOp(1, 0, 2); err != nil {
			return err
		}
		if err := win.Accumulate([]int32{1, 1}, (w.Rank()+i)%w.Size(), 0); err != nil {
			return err
		}
		if i > 0 && drawn[i] <= drawn[i-1] {
			return fmt.Errorf("%d was drawn after %d", drawn[i], drawn[i-1])
		}
	}
	all := make([]int32, rounds*w.Size())
	if err := Allgather(w.Comm, drawn, all); err != nil {
		return err
	}
	slices.Sort(all)
	for i, number := range all {
		if int(number) != i {
			return fmt.Errorf("the numbers that were drawn are %v", all)
		}
	}
	if err := win.Fence(); err != nil {
		return err
	}
	if sum := int32(rounds); w.Rank() > 0 && !slices.Equal(win.Local, []int32{sum, sum, 0}) {
		return fmt.Errorf("what was accumulated is %v", win.Local)
	}
	// Number 1 of rank 0 is the lock; number 0 is changed by a rank that holds it, without other protection.
	if err := win.Fence(); err != nil {
		return err
	}
	const free, turns = rounds, 3
	for range turns {
		mine := int32(-1 - w.Rank())
		for {
			before, err := win.CompareAndSwap(free, mine, 0, 1)
			if err != nil {
				return err
			}
			if before == free {
				break
			}
		}
		got := []int32{0}
		if err := errors.Join(win.Get(got, 0, 0), win.Flush(0)); err != nil {
			return err
		}
		got[0]++
		if err := errors.Join(win.Put(got, 0, 0), win.Flush(0)); err != nil {
			return err
		}
		if before, err := win.CompareAndSwap(mine, free, 0, 1); err != nil || before != mine {
			return fmt.Errorf("the lock of rank %d is %d: %v", mine, before, err)
		}
	}
	if err := win.Fence(); err != nil {
		return err
	}
	if want := int32(rounds + turns*w.Size()); w.Rank() == 0 && win.Local[0] != want {
		return fmt.Errorf("%d changes are lost", want-win.Local[0])
	}
	_, beyond := win.FetchAndOp(1, 0, 3)
	_, negative := win.CompareAndSwap(1, 2, 0, -1)
	_, nobody := win.CompareAndSwap(1, 2, w.Size(), 0)
	for name, err := range map[string]error{"index 3": beyond, "index -1": negative, "target 4": nobody} {
		if !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s: %v", name, err)
		}
	}
	plain, err := CreateWindow[float64](w.Comm, 1, nil)
	if err != nil {
		return err
	}
	if _, err := plain.FetchAndOp(1, 0, 0); !errors.Is(err, ErrArgument) {
		return fmt.Errorf("without an operation: %v", err)
	}
	if _, err := plain.CompareAndSwap(0, 1, w.Rank(), 0); err != nil {
		return err
	}
	if plain.Local[0] != 1 {
		return fmt.Errorf("a rank's own number is %v", plain.Local[0])
	}
	return errors.Join(plain.Free(), win.Free())
}

// What a flush waits for has begun before.
func TestSettled(t *testing.T) {
	var to target
	first, second, third := to.begin(), to.begin(), to.begin()
	to.end(second)
	if to.settled >= first {
		t.Error("the first operation counts as ended")
	}
	to.end(first)
	if to.settled != second {
		t.Errorf("those up to %d have ended, not up to %d", second, to.settled)
	}
	to.end(third)
	if to.settled != third || len(to.over) > 0 {
		t.Errorf("all have ended, and %d count, %d are kept", to.settled, len(to.over))
	}
}

// Flush ends beside goroutines that begin operations all the time.
func TestFlushBesideOthers(t *testing.T) { runRanks(t, 2, "window flush") }

func flushTask(w *World) error {
	win, err := CreateWindow(w.Comm, 4, Sum[int])
	if err != nil {
		return err
	}
	if err := win.Fence(); err != nil || w.Rank() > 0 {
		return errors.Join(err, win.Free())
	}
	failures := make(chan error, 3)
	var over atomic.Bool
	for _, operation := range []func() error{
		func() error { return win.Put([]int{1}, 1, 0) },
		func() error { return win.Get([]int{0}, 1, 1) },
		func() error { return win.Accumulate([]int{1}, 1, 2) },
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

// A rank that holds the lock can read, compute and write without interference.
func TestLock(t *testing.T) { runRanks(t, 4, "window lock") }

func lockTask(w *World) error {
	const rounds = 20
	win, err := CreateWindow[int](w.Comm, 2, nil)
	if err != nil {
		return err
	}
	if err := win.Fence(); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(w.Rank()), 1))
	for range rounds {
		target := random.IntN(2)
		if err := win.Lock(target, Exclusive); err != nil {
			return err
		}
		var counters [2]int
		if err := errors.Join(win.Get(counters[:], target, 0), win.Flush(target)); err != nil {
			return err
		}
		if counters[0] != counters[1] {
			return fmt.Errorf("%v was read under the lock", counters)
		}
		counters[0]++
		if err := errors.Join(win.Put(counters[:1], target, 0), win.Flush(target), win.Put(counters[:1], target, 1), win.Unlock(target)); err != nil {
			return err
		}
		if err := win.Lock(target, Shared); err != nil {
			return err
		}
		if err := errors.Join(win.Get(counters[:], target, 0), win.Unlock(target)); err != nil {
			return err
		}
		if counters[0] != counters[1] {
			return fmt.Errorf("%v was read under the shared lock", counters)
		}
	}
	if err := win.Fence(); err != nil {
		return err
	}
	sum := []int{0, 0}
	if err := Allreduce(w.Comm, win.Local, sum, Sum); err != nil {
		return err
	}
	if want := rounds * w.Size(); sum[0] != want || sum[1] != want {
		return fmt.Errorf("counted %v, want %d", sum, want)
	}
	return win.Free()
}

func TestWindowArguments(t *testing.T) { runRanks(t, 2, "window arguments") }

func windowArguments(w *World) error {
	// Rank 1 has one number more.
	win, err := CreateWindow[int32](w.Comm, 10+w.Rank(), nil)
	if err != nil {
		return err
	}
	two := []int32{1, 2}
	for name, err := range map[string]error{
		"target -1":               win.Put(two, -1, 0),
		"target 2":                win.Get(two, 2, 0),
		"an index that overflows": win.Get(two, 0, math.MinInt/2),
		"index -1":                win.Put(two, 0, -1),
		"behind the end":          win.Put(two, 0, 9),
		"far behind the end":      win.Get(two, 0, math.MaxInt/8),
		"no operation":            win.Accumulate(two, 0, 0),
		"no such mode":            win.Lock(0, 2),
		"no lock":                 win.Unlock(0),
		"no such rank":            win.Flush(3),
	} {
		if !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(win.Put(two, 1, 9), win.Put(nil, 0, 10), win.Lock(1, Shared)); err != nil {
		return err
	}
	if err := win.Lock(1, Shared); !errors.Is(err, ErrArgument) {
		return fmt.Errorf("a second lock: %v", err)
	}
	if err := errors.Join(win.Unlock(1), win.Free()); err != nil {
		return err
	}
	// A mistake of one rank is an error on both.
	length := 3
	if w.Rank() == 1 {
		length = -1
	}
	_, err = CreateWindow[int32](w.Comm, length, nil)
	if w.Rank() == 1 && !errors.Is(err, ErrArgument) || w.Rank() == 0 && !errors.Is(err, ErrElsewhere) {
		return fmt.Errorf("a window of -1 numbers: %v", err)
	}
	if w.Rank() == 1 {
		_, err = CreateWindow[int32](w.Comm, 3, nil)
	} else {
		_, err = CreateWindow[float32](w.Comm, 3, nil)
	}
	if !errors.Is(err, ErrMismatch) {
		return fmt.Errorf("windows of different kinds: %v", err)
	}
	return Barrier(w.Comm)
}

// Ranks get the lock in the order of their requests; readers share it.
func TestLockers(t *testing.T) {
	var l lockers
	for i, step := range []struct {
		rank int
		mode LockMode // of the rank's request
		gone bool     // the rank releases the lock
		want []int
	}{
		{rank: 1, mode: Shared, want: []int{1}},
		{rank: 2, mode: Shared, want: []int{2}},
		{rank: 3, mode: Exclusive},
		{rank: 4, mode: Shared}, // after one that waits
		{rank: 1, gone: true},
		{rank: 2, gone: true, want: []int{3}},
		{rank: 5, mode: Shared},
		{rank: 3, gone: true, want: []int{4, 5}},
		{rank: 4, gone: true},
		{rank: 5, gone: true},
		{rank: 6, mode: Exclusive, want: []int{6}},
	} {
		got := []int(nil)
		if step.gone {
			got = l.leave(step.rank)
		} else {
			got = l.ask(step.rank, step.mode)
		}
		if !slices.Equal(got, step.want) {
			t.Fatalf("step %d: %v get the lock, want %v", i, got, step.want)
		}
	}
}
