package mpi

import (
	"fmt"
	"slices"
	"testing"
)

// The two slices of a collective operation may overlap in any way. The result is that of separate slices.
func TestOverlaps(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { runRanks(t, ranks, "overlaps") })
	}
}

func init() { tasks["overlaps"] = overlapsTask }

// twoSlices is a collective operation with a slice to send and one for the result, which may have a part for each rank.
type twoSlices struct {
	name               string
	allToSend, allBack bool // whether there is a part for each rank
	do                 func(c *Comm, send, result []int) error
}

// countsOf returns the counts of equal parts.
func countsOf(c *Comm, all []int) []int { return slices.Repeat([]int{len(all) / c.Size()}, c.Size()) }

var overlapping = []twoSlices{
	{"Reduce", true, true, func(c *Comm, send, result []int) error { return Reduce(c, send, result, Sum, c.Size()/2) }},
	{"Allreduce", true, true, func(c *Comm, send, result []int) error { return Allreduce(c, send, result, Sum) }},
	{"ReduceScatter", true, false, func(c *Comm, send, result []int) error {
		return ReduceScatter(c, send, result, countsOf(c, send), Sum)
	}},
	{"Gather", false, true, func(c *Comm, send, result []int) error { return Gather(c, send, result, c.Size()/2) }},
	{"Gatherv", false, true, func(c *Comm, send, result []int) error {
		return Gatherv(c, send, result, countsOf(c, result), c.Size()/2)
	}},
	{"Scatter", true, false, func(c *Comm, send, result []int) error { return Scatter(c, send, result, c.Size()/2) }},
	{"Scatterv", true, false, func(c *Comm, send, result []int) error {
		return Scatterv(c, send, countsOf(c, send), result, c.Size()/2)
	}},
	{"Allgather", false, true, func(c *Comm, send, result []int) error { return Allgather(c, send, result) }},
	{"Allgatherv", false, true, func(c *Comm, send, result []int) error {
		return Allgatherv(c, send, result, countsOf(c, result))
	}},
	{"Alltoall", true, true, func(c *Comm, send, result []int) error { return Alltoall(c, send, result) }},
	{"Alltoallv", true, true, func(c *Comm, send, result []int) error {
		return Alltoallv(c, send, countsOf(c, send), result, countsOf(c, result))
	}},
}

func overlapsTask(w *World) error {
	for _, ways := range []thresholds{usualThresholds, {}} {
		setThresholds(w, ways)
		for _, each := range []int{1, 3, eagerLimit/8 + 1} {
			for _, o := range overlapping {
				if err := o.check(w.Comm, each); err != nil {
					return fmt.Errorf("%s with %d numbers for each rank, thresholds %+v: %w", o.name, each, ways, err)
				}
			}
		}
	}
	return nil
}

func (o twoSlices) check(c *Comm, each int) error {
	length := func(all bool) int {
		if all {
			return each * c.Size()
		}
		return each
	}
	input := make([]int, length(o.allToSend))
	for i := range input {
		input[i] = 1000*c.Rank() + i + 1
	}
	want := make([]int, length(o.allBack))
	if err := o.do(c, slices.Clone(input), want); err != nil {
		return err
	}
	own := c.Rank() * each
	for _, at := range []struct{ send, result int }{{0, 0}, {own, 0}, {0, own}, {1, 0}, {0, 1}, {each * c.Size() / 2, 0}, {0, each * c.Size() / 2}} {
		memory := make([]int, 2*each*c.Size()+1)
		send, result := memory[at.send:][:len(input)], memory[at.result:][:len(want)]
		copy(send, input)
		if err := o.do(c, send, result); err != nil {
			return err
		}
		// Only the root of some operations has a result.
		if slices.Max(want) > 0 && !slices.Equal(result, want) {
			return fmt.Errorf("with the slices at %+v the result is %v, want %v", at, head(result), head(want))
		}
	}
	return nil
}

func head(numbers []int) []int { return numbers[:min(len(numbers), 10)] }
