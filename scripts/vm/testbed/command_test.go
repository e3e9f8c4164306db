package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// When qemu cannot be installed, the error has the first cause. Nothing is tried again that newer package lists cannot
// cure.
func TestEmulatorCannotBeInstalled(t *testing.T) {
	for _, c := range []struct{ name, install, update, want, calls string }{
		{"no space", "echo 'E: Write error - write (28: No space left on device)' >&2; exit 100", "exit 0", "No space left on device", "install\n"},
		{"no network", "echo 'E: Unable to fetch some archives' >&2; exit 100", "echo 'E: Temporary failure resolving' >&2; exit 100",
			"Unable to fetch some archives", "install\nupdate\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			calls := filepath.Join(folder, "calls")
			aptGet := "#!/bin/sh\necho $1 >>" + calls + "\ncase $1 in update) " + c.update + ";; esac\n" + c.install + "\n"
			writeFiles(t, folder, map[string]string{"apt-get": aptGet, "sudo": "#!/bin/sh\nshift\nexec \"$@\"\n"})
			t.Setenv("PATH", folder)
			_, err := findEmulator(amd64, &progress{out: io.Discard})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "install the packages qemu-system-x86") {
				t.Errorf("%v, want an error with %q and what to install", err, c.want)
			}
			if content, err := os.ReadFile(calls); string(content) != c.calls {
				t.Errorf("apt-get was called for %q, %v, want %q", content, err, c.calls)
			}
		})
	}
}
