package main

import "fmt"

// quiet is the operation after which a side may check and change its memory: see syncs.
func (t *thread) quiet() int {
	if t.server {
		return t.validated() + 1
	}
	return t.validated()
}

// patternOf returns the value of all bytes in an iteration. Memory starts with zeros.
func patternOf(iteration int) byte { return byte(iteration + 1) }

// fills reports whether the bytes of a transfer come from this side.
func (tr *transfer) fills() bool { return tr.ours != (tr.kind == rdmaRead) }

// fill writes the bytes of the next iteration into the memory for the peer.
func (t *thread) fill(iteration int) {
	for _, l := range t.links {
		for _, tr := range l.transfers[:t.validated()] {
			if !tr.fills() {
				continue
			}
			memory := tr.memory.lmr.Bytes()
			for i := range memory {
				memory[i] = patternOf(iteration)
			}
		}
	}
}

// checkData checks the data from the peer.
func (t *thread) checkData(iteration int) error {
	want := patternOf(iteration)
	for i, l := range t.links {
		for _, tr := range l.transfers[:t.validated()] {
			if tr.fills() {
				continue
			}
			for at, got := range tr.memory.lmr.Bytes() {
				if got != want {
					return fmt.Errorf("the data is wrong: %v: byte %d at endpoint %d is %#x, want %#x", tr.operation, at, i, got, want)
				}
			}
		}
	}
	return nil
}
