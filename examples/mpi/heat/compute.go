package main

import (
	"fmt"
	"io"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
)

// Tags of the messages.
const (
	tagUp   = iota // a row for the rank above
	tagDown        // a row for the rank below
)

// progressTime is how often a long run reports its progress.
const progressTime = 5 * time.Second

// share returns the rows that a rank computes, from first to before end. The first and the last row of the square are
// not computed.
func share(rank, ranks, cells int) (first, end int) {
	rows := cells - 2
	return 1 + rank*rows/ranks, 1 + (rank+1)*rows/ranks
}

// compute does this rank's part of the work. Rank 0 compares the result with that of one process, and prints.
func compute(world *mpi.World, s settings, out io.Writer) error {
	rank, ranks := world.Rank(), world.Size()
	first, end := share(rank, ranks, s.cells)
	if rank == 0 {
		fmt.Fprintf(out, "%s: %d x %d cells, %d steps, %d ranks with %d rows or one more\n", world.Adapter(), s.cells, s.cells, s.steps, ranks, (s.cells-2)/ranks)
	}
	// The first and the last row are those of the neighbors, or the edge.
	p := newPlate(end-first+2, s.cells)
	p.warm(first - 1)
	begin, err := restore(world.Comm, s, p)
	if err != nil {
		return err
	}
	if rank == 0 && begin > 0 {
		fmt.Fprintf(out, "continuing after step %d\n", begin)
	}

	began := time.Now()
	told := began
	var largest [1]float64
	for step := begin + 1; step <= s.steps; step++ {
		if err := exchange(world.Comm, p); err != nil {
			return err
		}
		change := p.step()
		if s.checkpoint != "" && (step%s.every == 0 || step == s.steps) {
			if err := save(world.Comm, s, p, step); err != nil {
				return err
			}
		}
		if step%checkEvery != 0 && step != s.steps {
			continue
		}
		if err := mpi.Allreduce(world.Comm, []float64{change}, largest[:], mpi.Max); err != nil {
			return err
		}
		if rank == 0 && time.Since(told) >= progressTime {
			told = time.Now()
			fmt.Fprintf(out, "step %d of %d, largest change %.6f\n", step, s.steps, largest[0])
		}
	}
	elapsed := time.Since(began)
	square, err := collect(world.Comm, p, s.cells)
	if err != nil || rank != 0 {
		return err
	}
	fmt.Fprintf(out, "%d steps took %v, largest change in the last %.6f\n", s.steps-begin, elapsed.Round(time.Millisecond), largest[0])
	fmt.Fprintf(out, "temperature in the middle %.6f\n", square[s.cells/2*s.cells+s.cells/2])
	if err := compare(square, solve(s.cells, s.steps).now, s.cells); err != nil {
		return err
	}
	fmt.Fprintf(out, "all %d cells are what one process computes\n", len(square))
	return nil
}

// checkEvery is the number of steps after which the ranks determine the largest change.
const checkEvery = 10

// exchange sends this rank's outermost rows to its neighbors, and receives theirs.
func exchange(c *mpi.Comm, p *plate) error {
	last := p.rows() - 1
	var requests []*mpi.Request
	if above := c.Rank() - 1; above >= 0 {
		requests = append(requests, mpi.Irecv(c, p.row(0), above, tagDown), mpi.Isend(c, p.row(1), above, tagUp))
	}
	if below := c.Rank() + 1; below < c.Size() {
		requests = append(requests, mpi.Irecv(c, p.row(last), below, tagUp), mpi.Isend(c, p.row(last-1), below, tagDown))
	}
	_, err := mpi.Waitall(requests...)
	return err
}

// own returns the cells that a rank computes.
func (p *plate) own() []float64 { return p.now[p.width : len(p.now)-p.width] }

// computed returns how many cells each rank computes.
func computed(ranks, cells int) (counts []int) {
	for rank := range ranks {
		first, end := share(rank, ranks, cells)
		counts = append(counts, (end-first)*cells)
	}
	return counts
}

// collect returns the whole square on rank 0.
func collect(c *mpi.Comm, p *plate, cells int) ([]float64, error) {
	if c.Rank() != 0 {
		return nil, mpi.Gatherv[float64](c, p.own(), nil, nil, 0)
	}
	square := newPlate(cells, cells)
	square.warm(0)
	err := mpi.Gatherv(c, p.own(), square.own(), computed(c.Size(), cells), 0)
	return square.now, err
}

// compare reports the first cell that differs. Whichever process computes a cell, its value is the same to the last
// bit.
func compare(got, want []float64, width int) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("cell %d of row %d has %v, but %v in one process", i%width, i/width, got[i], want[i])
		}
	}
	return nil
}
