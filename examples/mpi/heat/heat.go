package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
)

// plate is some successive rows of a square plate: the temperature of each cell, and what it will be after the next
// step. Cells at the edges of the square keep their temperature. A step also leaves the first and the last row as
// they are.
type plate struct {
	width     int
	now, next []float64
}

func newPlate(rows, width int) *plate {
	return &plate{width: width, now: make([]float64, rows*width), next: make([]float64, rows*width)}
}

func (p *plate) rows() int           { return len(p.now) / p.width }
func (p *plate) row(i int) []float64 { return p.now[i*p.width:][:p.width] }

// hot is the temperature in the middle of the upper edge. From there it falls to 0 at the corners. All other cells
// begin at 0.
const hot = 100

// warm sets the temperatures of the beginning. first is the number of the plate's first row in the square.
func (p *plate) warm(first int) {
	if first > 0 {
		return
	}
	for _, cells := range [][]float64{p.now, p.next} {
		for x := range p.width {
			cells[x] = hot * math.Sin(math.Pi*float64(x)/float64(p.width-1))
		}
	}
}

// step moves each cell towards the mean of its four neighbors, and returns the largest change.
func (p *plate) step() float64 {
	const rate = 0.2 // of the difference to a neighbor; above a quarter the computation is unstable
	largest := 0.0
	for y := 1; y < p.rows()-1; y++ {
		for x := 1; x < p.width-1; x++ {
			i := y*p.width + x
			here := p.now[i]
			change := rate * (p.now[i-p.width] + p.now[i+p.width] + p.now[i-1] + p.now[i+1] - 4*here)
			p.next[i] = here + change
			largest = max(largest, math.Abs(change))
		}
	}
	// Cells that are not computed need no copy: edges never change, and the other rows are received.
	p.now, p.next = p.next, p.now
	return largest
}

// solve computes the whole square in one process.
func solve(cells, steps int) *plate {
	p := newPlate(cells, cells)
	p.warm(0)
	for range steps {
		p.step()
	}
	return p
}

// Tags of the messages.
const (
	tagUp     = iota // a row for the rank above
	tagDown          // a row for the rank below
	tagResult        // the rows of a rank for rank 0
)

// checkEvery is the number of steps after which the ranks determine the largest change.
const checkEvery = 10

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
	began := time.Now()
	var largest [1]float64
	for step := 1; step <= s.steps; step++ {
		if err := exchange(world.Comm, p); err != nil {
			return err
		}
		change := p.step()
		if step%checkEvery != 0 && step != s.steps {
			continue
		}
		if err := mpi.Allreduce(world.Comm, []float64{change}, largest[:], mpi.Max); err != nil {
			return err
		}
	}
	elapsed := time.Since(began)
	square, err := collect(world.Comm, p, s.cells)
	if err != nil || rank != 0 {
		return err
	}
	fmt.Fprintf(out, "%d steps took %v, largest change in the last %.6f\n", s.steps, elapsed.Round(time.Millisecond), largest[0])
	fmt.Fprintf(out, "temperature in the middle %.6f\n", square[s.cells/2*s.cells+s.cells/2])
	if err := compare(square, solve(s.cells, s.steps).now, s.cells); err != nil {
		return err
	}
	fmt.Fprintf(out, "all %d cells are what one process computes\n", len(square))
	return nil
}

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

// collect returns the whole square on rank 0.
func collect(c *mpi.Comm, p *plate, cells int) ([]float64, error) {
	own := p.now[p.width : len(p.now)-p.width]
	if c.Rank() != 0 {
		return nil, mpi.Send(c, own, 0, tagResult)
	}
	square := newPlate(cells, cells)
	square.warm(0)
	copy(square.now[cells:], own)
	for rank := 1; rank < c.Size(); rank++ {
		first, end := share(rank, c.Size(), cells)
		if _, err := mpi.Recv(c, square.now[first*cells:end*cells], rank, tagResult); err != nil {
			return nil, err
		}
	}
	return square.now, nil
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
