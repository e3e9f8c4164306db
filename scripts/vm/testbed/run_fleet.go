//go:build linux && amd64

package main

import (
	"fmt"
	"os"
)

// runFleet runs a program in several machines on one network, and returns the largest exit code. The output of the
// machine with the rank plain has no prefix.
func runFleet(p program, machines, plain int, config machineConfig, signals <-chan os.Signal, log *progress) int {
	fleet := newFleet(machines, newEther(machines))
	var forwards []chan os.Signal
	codes := make(chan int)
	for rank := range machines {
		prefix := fmt.Sprintf("[%d] ", rank)
		if rank == plain {
			prefix = ""
		}
		out, err := newPrefixed(os.Stdout, prefix), newPrefixed(os.Stderr, prefix)
		forward := make(chan os.Signal, cap(signals))
		forwards = append(forwards, forward)
		around := surroundings{rank: rank, fleet: fleet, out: programOutput{out, err}}
		go func() {
			code := run(p.on(rank), around, config, forward, log)
			out.close()
			err.close()
			codes <- code
		}()
	}
	worst := 0
	for left := machines; left > 0; {
		select {
		case s := <-signals:
			for _, forward := range forwards {
				forward <- s
			}
		case code := <-codes:
			worst = max(worst, code)
			left--
		}
	}
	return worst
}
