//go:build linux && amd64

package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells the user what takes time.
type progress struct {
	out     io.Writer
	verbose bool
	start   time.Time
}

// setUp reports a step of the one-time set-up, which takes seconds to minutes.
func (p *progress) setUp(format string, args ...any) {
	fmt.Fprintf(p.out, "testbed: "+format+"\n", args...)
}

// step reports a step of every run. Only --verbose shows it.
func (p *progress) step(format string, args ...any) {
	if !p.verbose {
		return
	}
	if p.start.IsZero() {
		p.start = time.Now()
	}
	fmt.Fprintf(p.out, "testbed: %6.3fs %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}
