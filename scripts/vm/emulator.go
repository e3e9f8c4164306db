//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os/exec"
)

const emulatorProgram = "qemu-system-x86_64"

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
	if err := install(); err != nil {
		if err := asRoot("apt-get", "update", "-q"); err != nil {
			return "", fmt.Errorf("%w (%w)", missing, err)
		}
		if err := install(); err != nil {
			return "", fmt.Errorf("%w (%w)", missing, err)
		}
	}
	return exec.LookPath(emulatorProgram)
}
