//go:build linux

package device_test

import (
	"os"
	"testing"
)

// countFiles returns how many files the process has open.
func countFiles() (int, error) {
	files, err := os.ReadDir("/proc/self/fd")
	return len(files), err
}

// openFiles is countFiles for a test.
func openFiles(t *testing.T) int {
	t.Helper()
	n, err := countFiles()
	want(t, err)
	return n
}
