//go:build linux && amd64

package main

import (
	"bytes"
	"io"
	"sync"
)

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
