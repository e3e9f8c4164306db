package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// command prepares a tool for the set-up. The tool speaks English, asks no questions and ends with this process.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// output runs a tool and returns its output. Its error has the tool's last error line.
func output(dir, name string, args ...string) (string, error) {
	out, err := collect(command(dir, name, args...), name)
	return string(out), err
}

// filter pipes data through a tool.
func filter(data []byte, name string, args ...string) ([]byte, error) {
	cmd := command("", name, args...)
	cmd.Stdin = bytes.NewReader(data)
	return collect(cmd, name)
}

// collect runs a tool, which its error names, and returns its output.
func collect(cmd *exec.Cmd, name string) ([]byte, error) {
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.Bytes(), toolError(name, err, complaints.String())
	}
	return out.Bytes(), nil
}

func toolError(name string, err error, complaints string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("the tool %s is missing: %w", name, exec.ErrNotFound)
	}
	return fmt.Errorf("%s: %w: %s", name, err, firstComplaint(complaints))
}

// asRoot runs a tool that changes the system.
func asRoot(name string, args ...string) error {
	if os.Geteuid() != 0 {
		if _, err := exec.LookPath("sudo"); err != nil {
			return fmt.Errorf("%s must be run as root, and there is no sudo: %w", name, exec.ErrNotFound)
		}
		// Without a terminal, sudo would fail after a while if it needs a password.
		args = append([]string{"-n", name}, args...)
		name = "sudo"
	}
	_, err := output("", name, args...)
	return err
}

// lastLine returns the last line of a tool's errors, which says most.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

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
