//go:build linux && amd64

package main

import (
	"bytes"
	"io"
	"sync"
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
