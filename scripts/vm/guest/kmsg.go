package main

import (
	"fmt"
	"strings"
	"syscall"
)

// maxKernelLines is how many of the last kernel messages are shown.
const maxKernelLines = 100

// usualMessage is logged whenever a program queries a device over an interface without a speed, such as dummy0. It
// would hide what matters.
const usualMessage = "speed is unknown, defaulting to"

// kernelMessages is a position in the kernel's log.
type kernelMessages struct {
	fd int
}

// openKernelMessages remembers the end of the log.
func openKernelMessages() (*kernelMessages, error) {
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's log: %w", err)
	}
	const seekEnd = 2
	if _, err := syscall.Seek(fd, 0, seekEnd); err != nil {
		return nil, fmt.Errorf("seek in the kernel's log: %w", err)
	}
	return &kernelMessages{fd}, nil
}

// read returns what was logged since the log was opened.
func (k *kernelMessages) read() string {
	var lines []string
	record := make([]byte, 8192)
	for {
		n, err := syscall.Read(k.fd, record)
		if err == syscall.EPIPE || err == syscall.EINTR {
			continue // EPIPE: the log has wrapped; the next read continues at the oldest message
		}
		if err != nil || n <= 0 {
			break
		}
		if line := kernelLine(string(record[:n])); !strings.Contains(line, usualMessage) {
			lines = append(lines, line)
		}
	}
	if dropped := len(lines) - maxKernelLines; dropped > 0 {
		lines = append([]string{fmt.Sprintf("(%d earlier messages are not shown)", dropped)}, lines[dropped:]...)
	}
	return strings.Join(lines, "\n")
}

// kernelLine turns a record of /dev/kmsg, "priority,sequence,microseconds,flags;text\n key=value...", into a line as
// dmesg shows it.
func kernelLine(record string) string {
	prefix, text, found := strings.Cut(record, ";")
	if !found {
		return strings.TrimRight(record, "\n")
	}
	text, _, _ = strings.Cut(text, "\n")
	fields := strings.Split(prefix, ",")
	var us uint64
	if len(fields) > 2 {
		fmt.Sscan(fields[2], &us)
	}
	return fmt.Sprintf("[%5d.%06d] %s", us/1e6, us%1e6, text)
}
