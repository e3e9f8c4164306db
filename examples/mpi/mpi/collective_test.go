package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Every collective operation gives what a loop over all ranks' numbers gives, on
// 2 to 8 ranks, with every root, for short and long slices.
func TestCollectives(t *testing.T) { runRanks(t, 8, "collectives") }

func init() { tasks["collectives"] = collectivesTask }

func collectivesTask(w *World) error {
	for size := 2; size <= w.Size(); size++ {
		color := 0
		if w.Rank() >= size {
			color = Undefined
		}
		// Ranks of the communicator are not those of the world.
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
		if err := collectivesOn(c); err != nil {
			return fmt.Errorf("rank %d of %d: %w", c.Rank(), c.Size(), err)
		}
	}
	return Barrier(w.Comm)
}

func collectivesOn(c *Comm) error {
	var roots []int
	for root := range c.Size() {
		roots = append(roots, root)
	}
	if err := collectivesOf[int32](c, 5, roots); err != nil {
		return fmt.Errorf("int32: %w", err)
	}
	last := roots[c.Size()-1:]
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
	if err := extremes(c); err != nil {
		return err
	}
	return lengths(c)
}

// inputOf is what a rank puts in.
func inputOf[T Number](rank, count int) []T {
	numbers := make([]T, count)
	for i := range numbers {
		for range (rank+3)*(i+1)%101 + 1 {
			numbers[i]++
		}
	}
	return numbers
}

// second is associative, and not commutative: operands that are swapped show.
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
	// Rank i sends to rank j what rank i*size+j would put in.
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

// lengths has two ranks disagree on how long a slice is: the one that gets
// another length than it expects says so.
func lengths(c *Comm) error {
	if c.Size() > 2 {
		return nil // those that wait for it to pass the numbers on would wait for ever
	}
	for _, length := range []int{3, 5} {
		err := Bcast(c, make([]int8, 4+c.Rank()*(length-4)), 0)
		if c.Rank() == 0 && err != nil || c.Rank() == 1 && !errors.Is(err, ErrLength) {
			return fmt.Errorf("Bcast of 4 numbers to %d: got %v", length, err)
		}
	}
	return nil
}
