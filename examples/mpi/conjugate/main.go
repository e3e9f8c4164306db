// Conjugate solves a sparse system of equations by the method of conjugate gradients with several processes. It is a
// small version of the problem of the HPCG benchmark. See ../README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/program"
)

func main() { solver().Main() }

const maxCells = 256

func solver() program.Program {
	var cells, most int
	var tolerance float64
	return program.Program{
		Name: "conjugate", Ranks: 4,
		Flags: func(flags *flag.FlagSet) {
			flags.IntVar(&cells, "cells", 24, fmt.Sprintf("cells along each edge of the cube, 2 to %d", maxCells))
			flags.IntVar(&most, "most", 500, "maximum number of steps")
			flags.Float64Var(&tolerance, "tolerance", 1e-9, "residual at which to stop, relative to the first")
		},
		Check: func(ranks int) error {
			switch {
			case cells < 2 || cells > maxCells:
				return program.Usage("-cells must be 2 to %d", maxCells)
			case ranks > cells:
				return program.Usage("%d ranks are more than there are layers, %d", ranks, cells)
			case most < 1:
				return program.Usage("-most must be 1 or more")
			case !(tolerance > 0 && tolerance < 1):
				return program.Usage("-tolerance must be between 0 and 1")
			}
			return nil
		},
		Run: func(_ context.Context, w *mpi.World, out io.Writer) error {
			began := time.Now()
			x, steps, err := solve(w.Comm, cells, most, tolerance)
			if err != nil {
				return err
			}
			took := time.Since(began)
			// Solve it again with one process: a communicator of this rank only.
			alone, err := w.Split(w.Rank(), 0)
			if err != nil {
				return err
			}
			whole, stepsAlone, err := solve(alone, cells, most, tolerance)
			if err != nil {
				return err
			}
			first, end := layers(w.Rank(), w.Size(), cells)
			off := []float64{0, 0}
			for i, v := range whole[first*cells*cells : end*cells*cells] {
				off[0] = max(off[0], math.Abs(x[i]-v))
				off[1] = max(off[1], math.Abs(x[i]-1))
			}
			if err := mpi.Allreduce(w.Comm, off, off, mpi.Max); err != nil {
				return err
			}
			if w.Rank() == 0 {
				fmt.Fprintf(out, "%s: %d unknowns on %d ranks, %d steps in %v\n", w.Adapter(), cells*cells*cells, w.Size(), steps, took.Round(time.Millisecond))
				fmt.Fprintf(out, "one process takes %d steps; the results differ by %.1e, and by %.1e from the solution\n", stepsAlone, off[0], off[1])
			}
			// Sums over ranks are rounded differently from those of one process.
			if bound := 1e3 * tolerance; off[0] > bound || off[1] > bound || abs(steps-stepsAlone) > 1 {
				return fmt.Errorf("the results differ by %v, and by %v from the solution, after %d and %d steps", off[0], off[1], steps, stepsAlone)
			}
			return nil
		},
	}
}

func abs(n int) int { return max(n, -n) }

// solve solves A x = b for the b whose solution is 1 everywhere. It returns this rank's part of x and the number of
// steps.
func solve(c *mpi.Comm, cells, most int, tolerance float64) (x []float64, steps int, err error) {
	a, err := newMatrix(c, cells)
	if err != nil {
		return nil, 0, err
	}
	p := a.own()
	x, ap := make([]float64, len(p)), make([]float64, len(p))
	r := a.rowSums() // b - A x, since x is 0 now
	copy(p, r)
	rr, err := dot(c, r, r)
	if err != nil {
		return nil, 0, err
	}
	goal := tolerance * tolerance * rr
	for steps < most && rr > goal {
		if err := a.multiply(ap); err != nil {
			return nil, 0, err
		}
		pap, err := dot(c, p, ap)
		if err != nil {
			return nil, 0, err
		}
		alpha := rr / pap
		for i, v := range p {
			x[i] += alpha * v
			r[i] -= alpha * ap[i]
		}
		before := rr
		if rr, err = dot(c, r, r); err != nil {
			return nil, 0, err
		}
		beta := rr / before
		for i := range p {
			p[i] = r[i] + beta*p[i]
		}
		steps++
	}
	if rr > goal {
		return nil, 0, fmt.Errorf("the residual is still %v of the first after %d steps", math.Sqrt(rr/goal)*tolerance, steps)
	}
	return x, steps, nil
}

// dot returns the product of two vectors. Each rank has a part of both.
func dot(c *mpi.Comm, a, b []float64) (float64, error) {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	total := []float64{0}
	err := mpi.Allreduce(c, []float64{sum}, total, mpi.Sum)
	return total[0], err
}
