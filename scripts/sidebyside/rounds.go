package main

import (
	"fmt"
	"os"
)

// programs are the twins.
type programs struct {
	c, golang string
	serverBy  string // the command that runs a server on another host
}

// firstQual is the connection qualifier of the first twin. Each twin has its own: a qualifier may stay in use for a
// while after its owner has gone.
const firstQual = 7600

// compare runs the measurements on an adapter, in C and in Go by turns, and passes on each result. Idle twins wait for
// their next order and use no processor.
func compare(p programs, adapter string, qual int, list []measurement, rounds int, where machine, found func(result) error) error {
	inC, err := startTwin(p.c, p.serverBy, adapter, qual)
	if err != nil {
		return err
	}
	defer inC.kill()
	inGo, err := startTwin(p.golang, p.serverBy, adapter, qual+1)
	if err != nil {
		return err
	}
	defer inGo.kill()
	for _, m := range list {
		r := result{
			Adapter: adapter, Measurement: m.name, Unit: m.unit.name, LowerIsBetter: m.unit.lowerIsBetter,
			Goal: m.goalOn(where), Marked: m.sleeps && where.userMode(),
		}
		if m.sweep {
			r.Bytes = m.bytes
		}
		for round := range rounds {
			if err := r.measureBoth(inC, inGo, m, round%2 == 1); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		fmt.Fprintln(os.Stderr, "bench:  ", line(r))
		if err := found(r); err != nil {
			return err
		}
	}
	if err := inC.end(); err != nil {
		return err
	}
	return inGo.end()
}

// measureBoth runs one round. C and Go take turns in going first.
func (r *result) measureBoth(inC, inGo twin, m measurement, goFirst bool) error {
	turns := []struct {
		twin   twin
		values *[]float64
	}{{inC, &r.C}, {inGo, &r.Go}}
	if goFirst {
		turns[0], turns[1] = turns[1], turns[0]
	}
	for _, t := range turns {
		value, err := t.twin.measure(m)
		if err != nil {
			return err
		}
		*t.values = append(*t.values, value*m.unit.scale)
	}
	return nil
}
