// Heat solves the heat equation on a square plate with several processes, which pass messages with package mpi, and
// compares the result with that of one process. See ../README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/program"
)

func main() { heat().Main() }

// settings say what to compute.
type settings struct {
	cells int // in a row and in a column
	steps int
}

const (
	maxCells = 4096
	maxSteps = 10_000_000
)

func heat() program.Program {
	var s settings
	return program.Program{
		Name: "heat", Ranks: 4,
		Flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.cells, "cells", 128, fmt.Sprintf("cells in a row and in a column of the plate, 3 to %d", maxCells))
			flags.IntVar(&s.steps, "steps", 500, "steps in time")
		},
		Check: s.check,
		Run: func(_ context.Context, w *mpi.World, out io.Writer) error {
			return compute(w, s, out)
		},
	}
}

func (s *settings) check(ranks int) error {
	switch {
	case s.cells < 3 || s.cells > maxCells:
		return program.Usage("-cells must be 3 to %d", maxCells)
	case s.cells-2 < ranks:
		return program.Usage("%d ranks are more than there are rows to compute, %d", ranks, s.cells-2)
	case s.steps < 1 || s.steps > maxSteps:
		return program.Usage("-steps must be 1 to %d", maxSteps)
	}
	return nil
}
