//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

const emulatorProgram = "qemu-system-x86_64"

// isFinal tells of failures that newer package lists do not mend.
func isFinal(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "password")
}

// findEmulator returns qemu's path, and installs qemu if it is missing.
func findEmulator(log *progress) (string, error) {
	if path, err := exec.LookPath(emulatorProgram); err == nil {
		return path, nil
	}
	missing := errors.New("qemu is missing: install the package qemu-system-x86")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", missing
	}
	log.setUp("installing the package qemu-system-x86")
	install := func() error {
		return asRoot("apt-get", "install", "-q", "-y", "--no-install-recommends", "qemu-system-x86")
	}
	if first := install(); first != nil {
		// Lists that are older than the archive name files that are gone, and there may be none.
		if isFinal(first) || asRoot("apt-get", "update", "-q") != nil || install() != nil {
			return "", fmt.Errorf("%w (%w)", missing, first)
		}
	}
	return exec.LookPath(emulatorProgram)
}
