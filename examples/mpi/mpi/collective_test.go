package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Every collective operation returns the same as a loop over all ranks' numbers: on 2 to 5 ranks, or to 8 in a long
// run, with every root if there are few ranks, for short and long slices.
func TestCollectives(t *testing.T) {
	ranks := 5
	if longRun() {
		ranks = 8
	}
	runRanks(t, ranks, "collectives")
}

func init() { tasks["collectives"] = collectivesTask }

func collectivesTask(w *World) error {
	for size := 2; size <= w.Size(); size++ {
		color := 0
		if w.Rank() >= size {
			color = Undefined
		}
		// The ranks of the communicator differ from those of the world.
		c, err := w.Split(color, -w.Rank())
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if c.Size() != size || c.Rank() != size-1-w.Rank() {
			return fmt.Errorf("rank %d of %d, want %d of %d", c.Rank(), c.Size(), size-1-w.Rank(), size)
		}
		for _, way := range []struct {
			name string
			thresholds
		}{{"as usual", usualThresholds}, {"as if long", thresholds{}}} {
			if way.thresholds != usualThresholds && size != 3 && size != 4 && size != 7 {
				continue // a power of two and odd numbers cover all cases
			}
			setThresholds(w, way.thresholds)
			if err := collectivesOn(c); err != nil {
				return fmt.Errorf("%s, rank %d of %d: %w", way.name, c.Rank(), c.Size(), err)
			}
		}
		setThresholds(w, usualThresholds)
	}
	return Barrier(w.Comm)
}

func setThresholds(w *World, t thresholds) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thresholds = t
}

func collectivesOn(c *Comm) error {
	roots := []int{c.Size() - 1}
	if c.world.thresholds == usualThresholds {
		for root := range c.Size() - 1 {
			if c.Size() <= 5 || root == 3 {
				roots = append(roots, root)
			}
		}
	}
	if err := collectivesOf[int32](c, 5, roots); err != nil {
		return fmt.Errorf("int32: %w", err)
	}
	last := roots[:1]
	if err := collectivesOf[complex128](c, 1, last); err != nil {
		return fmt.Errorf("complex128: %w", err)
	}
	if err := collectivesOf[float32](c, 0, last); err != nil {
		return fmt.Errorf("no numbers: %w", err)
	}
	if c.Size() == 3 {
		// This goes by RDMA.
		if err := collectivesOf[float64](c, eagerLimit/8+1, last); err != nil {
			return fmt.Errorf("float64: %w", err)
		}
	}
	if err := severalAtOnce(c); err != nil {
		return fmt.Errorf("several at once: %w", err)
	}
	return extremes(c)
}

// inputOf returns a rank's numbers.
func inputOf[T Number](rank, count int) []T {
	numbers := make([]T, count)
	for i := range numbers {
		for range (rank+3)*(i+1)%101 + 1 {
			numbers[i]++
		}
	}
	return numbers
}

// second is associative but not commutative: the result shows if operands are swapped.
func second[T Number](a, b T) T { return b }

func collectivesOf[T Number](c *Comm, count int, roots []int) error {
	size := c.Size()
	mine := inputOf[T](c.Rank(), count)
	var all []T // in the order of the ranks
	sum, last := make([]T, count), inputOf[T](size-1, count)
	for rank := range size {
		numbers := inputOf[T](rank, count)
		all = append(all, numbers...)
		for i := range sum {
			sum[i] += numbers[i]
		}
	}
	check := func(name string, err error, got, want []T) error {
		if err == nil && !slices.Equal(got, want) {
			err = errors.New("the result differs from the serial one")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	ifRoot := func(root int, numbers []T) []T {
		if c.Rank() != root {
			return nil
		}
		return numbers
	}
	result := func(n int) []T { return make([]T, n) }

	for _, root := range roots {
		got := slices.Clone(mine)
		err := Bcast(c, got, root)
		if err := check("Bcast", err, got, inputOf[T](root, count)); err != nil {
			return err
		}
		got = ifRoot(root, result(count))
		err = Reduce(c, mine, got, Sum, root)
		if err := check("Reduce", err, got, ifRoot(root, sum)); err != nil {
			return err
		}
		got = ifRoot(root, result(count))
		err = Reduce(c, mine, got, second, root)
		if err := check("Reduce in order", err, got, ifRoot(root, last)); err != nil {
			return err
		}
		got = ifRoot(root, result(count*size))
		err = Gather(c, mine, got, root)
		if err := check("Gather", err, got, ifRoot(root, all)); err != nil {
			return err
		}
		got = result(count)
		err = Scatter(c, ifRoot(root, all), got, root)
		if err := check("Scatter", err, got, mine); err != nil {
			return err
		}
	}
	got := result(count)
	err := Allreduce(c, mine, got, Sum)
	if err := check("Allreduce", err, got, sum); err != nil {
		return err
	}
	got = result(count * size)
	err = Allgather(c, mine, got)
	if err := check("Allgather", err, got, all); err != nil {
		return err
	}
	// Rank i sends to rank j the input of rank i*size+j.
	var parts, want []T
	for other := range size {
		parts = append(parts, inputOf[T](c.Rank()*size+other, count)...)
		want = append(want, inputOf[T](other*size+c.Rank(), count)...)
	}
	got = result(count * size)
	err = Alltoall(c, parts, got)
	if err := check("Alltoall", err, got, want); err != nil {
		return err
	}
	if err := Barrier(c); err != nil {
		return fmt.Errorf("Barrier: %w", err)
	}
	return unequalOf[T](c, roots[:1])
}

// unequalOf tests operations in which ranks have different numbers of values, or none.
func unequalOf[T Number](c *Comm, roots []int) error {
	size := c.Size()
	// The ranks have 0, 1, 2 and 3 numbers, and 0 again. Entry j of row i is how many rank i has for rank j.
	count := func(from, to int) int { return (from + to) % 4 }
	row := func(rank int) (counts []int, all []T) {
		for other := range size {
			counts = append(counts, count(rank, other))
			all = append(all, inputOf[T](rank*size+other, count(rank, other))...)
		}
		return counts, all
	}
	counts, all := row(0)
	mine := inputOf[T](c.Rank(), count(0, c.Rank()))
	check := func(name string, err error, got, want []T) error {
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("got %v, want %v", got, want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, root := range roots {
		var got, from, want []T
		var rootCounts []int
		if c.Rank() == root {
			got, from, want, rootCounts = make([]T, len(all)), all, all, counts
		}
		err := Gatherv(c, mine, got, rootCounts, root)
		if err := check("Gatherv", err, got, want); err != nil {
			return err
		}
		got = make([]T, len(mine))
		err = Scatterv(c, from, rootCounts, got, root)
		if err := check("Scatterv", err, got, mine); err != nil {
			return err
		}
	}
	got := make([]T, len(all))
	err := Allgatherv(c, mine, got, counts)
	if err := check("Allgatherv", err, got, all); err != nil {
		return err
	}
	sendCounts, send := row(c.Rank())
	var receiveCounts []int
	var want []T
	for other := range size {
		receiveCounts = append(receiveCounts, count(other, c.Rank()))
		want = append(want, inputOf[T](other*size+c.Rank(), count(other, c.Rank()))...)
	}
	got = make([]T, len(want))
	err = Alltoallv(c, send, sendCounts, got, receiveCounts)
	if err := check("Alltoallv", err, got, want); err != nil {
		return err
	}
	for _, o := range []struct {
		name      string
		operation func(a, b T) T
	}{{"ReduceScatter", Sum[T]}, {"ReduceScatter in order", second[T]}} {
		sums := inputOf[T](0, len(all))
		for rank := 1; rank < size; rank++ {
			combine(sums, sums, inputOf[T](rank, len(all)), o.operation)
		}
		got = make([]T, len(mine))
		err = ReduceScatter(c, inputOf[T](c.Rank(), len(all)), got, counts, o.operation)
		if err := check(o.name, err, got, parts(sums, counts)[c.Rank()]); err != nil {
			return err
		}
	}
	return nil
}

// severalAtOnce starts several operations at the same time, and waits for them in another order.
func severalAtOnce(c *Comm) error {
	const operations = 5
	var requests []*Request
	sums, roots := make([][1]int, operations), make([][1]int, operations)
	for i := range operations {
		roots[i][0] = i
		if c.Rank() != i%c.Size() {
			roots[i][0] = -1
		}
		requests = append(requests, Iallreduce(c, []int{c.Rank() + i}, sums[i][:], Sum), Ibcast(c, roots[i][:], i%c.Size()), Ibarrier(c))
	}
	slices.Reverse(requests)
	if _, err := Waitall(requests...); err != nil {
		return err
	}
	for i := range operations {
		if want := c.Size()*(c.Size()-1)/2 + i*c.Size(); sums[i][0] != want || roots[i][0] != i {
			return fmt.Errorf("operation %d: the sum is %d, want %d, and the root says %d", i, sums[i][0], want, roots[i][0])
		}
	}
	return nil
}

func extremes(c *Comm) error {
	mine := []int{c.Rank() + 1, -c.Rank()}
	got := make([]int, 2)
	factorial := 1
	for i := range c.Size() {
		factorial *= i + 1
	}
	for _, o := range []struct {
		name      string
		operation func(a, b int) int
		want      []int
	}{{"Min", Min[int], []int{1, 1 - c.Size()}}, {"Max", Max[int], []int{c.Size(), 0}}, {"Prod", Prod[int], []int{factorial, 0}}} {
		if err := Allreduce(c, mine, got, o.operation); err != nil || !slices.Equal(got, o.want) {
			return fmt.Errorf("%s: got %v, %v, want %v", o.name, got, err, o.want)
		}
	}
	return nil
}

// A mistake of one rank in a collective operation is an error on all ranks that wait for something. Later operations
// work.
func TestMismatch(t *testing.T) { runRanks(t, 4, "mismatch") }

func init() { tasks["mismatch"] = mismatchTask }

func mismatchTask(w *World) error {
	const wrong = 2
	is := w.Rank() == wrong
	long := func(yes bool, n int) []int64 {
		if yes {
			return make([]int64, n)
		}
		return make([]int64, 4)
	}
	for _, test := range []struct {
		name string
		do   func(c *Comm) error
		// some ranks must get the error; others may have their part already
		least int
	}{
		{"a slice that is too short", func(c *Comm) error { return Allreduce(c, make([]int, 4), make([]int, 4-b2i(is)), Sum) }, 4},
		{"parts that are too short", func(c *Comm) error { return Allgather(c, []int{1}, make([]int, c.Size()-b2i(is))) }, 4},
		{"a root that does not exist", func(c *Comm) error { return Bcast(c, []int{1}, 5*b2i(is)) }, 1},
		{"more numbers", func(c *Comm) error { numbers := long(is, 5); return Allreduce(c, numbers, numbers, Sum) }, 4},
		{"so many that another way is taken", func(c *Comm) error { numbers := long(is, 100_000); return Allreduce(c, numbers, numbers, Sum) }, 4},
		{"more to distribute", func(c *Comm) error { return Bcast(c, long(is, 5), 0) }, 1},
		{"another operation", func(c *Comm) error {
			if is {
				return Barrier(c)
			}
			return Alltoall(c, make([]int, c.Size()), make([]int, c.Size()))
		}, 4},
		{"another kind of numbers", func(c *Comm) error {
			if is {
				return Allgather(c, []int32{1}, make([]int32, c.Size()))
			}
			return Allgather(c, []float32{1}, make([]float32, c.Size()))
		}, 4},
		{"another root", func(c *Comm) error { return Reduce(c, []int{1}, []int{0}, Sum, 3*b2i(is)) }, 1},
	} {
		c, err := w.Comm.Dup()
		if err != nil {
			return err
		}
		failure := test.do(c)
		if failure != nil && !errors.Is(failure, ErrArgument) && !errors.Is(failure, ErrLength) && !errors.Is(failure, ErrMismatch) && !errors.Is(failure, ErrElsewhere) {
			return fmt.Errorf("%s: got %v", test.name, failure)
		}
		failures := []int{0}
		if err := Allreduce(w.Comm, []int{b2i(failure != nil)}, failures, Sum); err != nil {
			return fmt.Errorf("after %s: %w", test.name, err)
		}
		if failures[0] < test.least {
			return fmt.Errorf("%s is an error on %d ranks, want %d at least; this rank has %v", test.name, failures[0], test.least, failure)
		}
		// The same communicator works once all ranks have left the failed operation.
		sum := []int{0}
		if err := Allreduce(c, []int{1}, sum, Sum); err != nil || sum[0] != w.Size() {
			return fmt.Errorf("after %s, on the same communicator: %v, %w", test.name, sum, err)
		}
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
