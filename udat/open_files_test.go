//go:build linux

package udat_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
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

// awaitFiles waits until at most that many files are open. Some are closed late: seats, and the sockets of requests,
// which the library closes in a thread of its own some time after their adapter.
func awaitFiles(most int) error {
	for deadline := time.Now().Add(udattest.Patience); ; time.Sleep(10 * time.Millisecond) {
		n, err := countFiles()
		switch {
		case err != nil || n <= most:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("%d files stay open, want %d at most", n, most)
		}
	}
}
