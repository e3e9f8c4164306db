package main

import (
	"fmt"
	"io"
	"time"
)

// progress writes a line now and then during a long run. A nil progress writes nothing.
type progress struct {
	w     io.Writer
	every time.Duration
	now   func() time.Time
	last  time.Time
	what  string
	of    int
}

// progressEvery is the time between two lines.
const progressEvery = 5 * time.Second

func newProgress(w io.Writer) *progress {
	return &progress{w: w, every: progressEvery, now: time.Now, last: time.Now()}
}

// begin starts a phase with a number of operations.
func (p *progress) begin(what string, of int) {
	if p == nil {
		return
	}
	p.what, p.of = what, of
	p.at(0)
}

// at records how many of them are done.
func (p *progress) at(done int) {
	if p == nil {
		return
	}
	now := p.now()
	if now.Sub(p.last) < p.every {
		return
	}
	p.last = now
	fmt.Fprintf(p.w, "udatperf: %s, %d of %d operations\n", p.what, done, p.of)
}
