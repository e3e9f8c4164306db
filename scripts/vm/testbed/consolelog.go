//go:build linux && amd64

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// consoleLog is the file for a machine's console, or nil.
type consoleLog struct{ file *os.File }

// createConsoleLog makes a file in the folder, named after the program. Each boot has its own.
func createConsoleLog(folder string, job wire.Job) (*consoleLog, error) {
	if folder == "" {
		return nil, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("the folder for consoles: %w", err)
	}
	file, err := os.CreateTemp(folder, fmt.Sprintf("%s-%d-*.log", filepath.Base(job.Path), job.Rank))
	if err != nil {
		return nil, fmt.Errorf("the file for the console: %w", err)
	}
	return &consoleLog{file}, nil
}

// with returns a writer that writes to the file and to another writer, which may be nil.
func (l *consoleLog) with(other io.Writer) io.Writer {
	switch {
	case l == nil:
		return other
	case other == nil:
		return l.file
	}
	return io.MultiWriter(l.file, other)
}

// close removes the file if it is empty.
func (l *consoleLog) close() {
	if l == nil {
		return
	}
	if info, err := l.file.Stat(); err == nil && info.Size() == 0 {
		os.Remove(l.file.Name())
	}
	l.file.Close()
}
