//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// isFinal matches failures that newer package lists do not cure.
func isFinal(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "password")
}

// findEmulator returns the path of qemu for an architecture. It installs qemu if it is missing.
func findEmulator(arch *architecture, log *progress) (string, error) {
	if path, err := exec.LookPath(arch.emulator); err == nil {
		return path, nil
	}
	if err := installPackages(log, arch.emulatorPackage); err != nil {
		return "", fmt.Errorf("qemu is missing: %w", err)
	}
	return exec.LookPath(arch.emulator)
}

// installPackages installs packages of the system, with the system's apt.
func installPackages(log *progress, names ...string) error {
	list := strings.Join(names, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install what Debian's packages %s have", list)
	}
	log.setUp("installing %s", list)
	install := func() error {
		return asRoot("apt-get", append([]string{"install", "-q", "-y", "--no-install-recommends"}, names...)...)
	}
	first := install()
	if first == nil {
		return nil
	}
	// Outdated lists name files that are gone, and there may be no lists.
	if isFinal(first) || asRoot("apt-get", "update", "-q") != nil || install() != nil {
		return fmt.Errorf("install the packages %s (%w)", list, first)
	}
	return nil
}
