package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// prefixed writes whole lines, each after a prefix that identifies the machine.
type prefixed struct {
	to     io.Writer
	mu     sync.Mutex // both the machine and the test bed write
	prefix string
	line   []byte // the unfinished line
}

func newPrefixed(to io.Writer, prefix string) *prefixed { return &prefixed{to: to, prefix: prefix} }

// Write writes all whole lines in one call, so that nothing comes between them.
func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, b...)
	end := bytes.LastIndexByte(p.line, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	var out []byte
	for line := range bytes.Lines(p.line[:end]) {
		out = append(append(out, p.prefix...), line...)
	}
	p.line = append([]byte(nil), p.line[end:]...)
	if _, err := p.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// close writes an unfinished last line.
func (p *prefixed) close() {
	p.mu.Lock()
	unfinished := len(p.line) > 0
	p.mu.Unlock()
	if unfinished {
		p.Write([]byte("\n"))
	}
}

// tail keeps the end of the text that is written to it.
type tail struct {
	mu     sync.Mutex
	kept   []byte
	copyTo io.Writer // receives everything, immediately
}

const (
	tailBytes = 64 << 10
	tailLines = 100
)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - tailBytes; extra > tailBytes {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
	if t.copyTo != nil {
		t.copyTo.Write(b)
	}
	return len(b), nil
}

// String returns the last lines, with plain line ends.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimRight(bytes.ReplaceAll(t.kept, []byte("\r"), nil), "\n")
	lines := bytes.Split(text, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}

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
