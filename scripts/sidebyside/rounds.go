package main

import (
	"cmp"
	"fmt"
	"os"
)

// programs are the twins.
type programs struct{ c, golang string }

// firstQual is the connection qualifier of the first twin. Each twin has its own: a qualifier may stay in use for a
// while after its owner has gone.
const firstQual = 7600

// farBeyond is added to a twin's qualifier for its far side, on another machine.
const farBeyond = 100

// compare runs the measurements on an adapter, in C and in Go by turns, and passes on each result. Idle twins wait for
// their next order and use no processor.
func compare(p programs, adapter string, qual int, list []measurement, rounds int, where machine, found func(result) error) error {
	if len(list) == 0 {
		return nil
	}
	inC, err := startTwin(p.c, adapter, qual)
	if err != nil {
		return err
	}
	defer inC.kill()
	inGo, err := startTwin(p.golang, adapter, qual+1)
	if err != nil {
		return err
	}
	defer inGo.kill()
	for _, m := range list {
		var samples [2][]figures // in C and in Go
		for round := range min(rounds, cmp.Or(m.rounds, rounds)) {
			for turn := range 2 { // they take turns in going first
				which := (round + turn) % 2
				one, err := []twin{inC, inGo}[which].measure(m)
				if err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
				samples[which] = append(samples[which], one)
			}
		}
		for _, r := range m.results(adapter, where, samples[0], samples[1]) {
			fmt.Fprintln(os.Stderr, "bench:  ", line(r))
			if err := found(r); err != nil {
				return err
			}
		}
	}
	if err := inC.end(); err != nil {
		return err
	}
	return inGo.end()
}
