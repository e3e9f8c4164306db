package main

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/goudat/goudat/scripts/vm/control"
)

// machine describes the machine of a run.
type machine struct {
	Host      string `json:"host"`      // the processor of the host
	Processor string `json:"processor"` // the processor that the twins saw: another one in the test bed
	CPUs      int    `json:"cpus"`
	Kernel    string `json:"kernel"`
	Load      string `json:"load"`  // of the host, at the start
	Stack     string `json:"stack"` // the native libraries
	Compiler  string `json:"compiler"`
	Go        string `json:"go"`
}

// complete adds what only the machine of the twins shows.
func (m *machine) complete() {
	m.Processor = processor()
	m.CPUs = runtime.NumCPU()
	m.Go = runtime.Version()
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(release))
	}
}

// emulated reports whether the processor was emulated. Such figures are not those of any real processor.
func (m machine) emulated() bool { return strings.HasPrefix(m.Processor, "QEMU TCG") }

// userMode reports whether it was the host's processor under User-Mode Linux. There a system call takes ten times as
// long, so that sleeping and waking cannot be measured well.
func (m machine) userMode() bool { return strings.HasSuffix(m.Processor, "(User-Mode Linux)") }

// patched reports whether the native libraries were built by scripts/native, with its patches.
func (m machine) patched() bool { return strings.HasSuffix(m.Stack, ", patched") }

// farRank is the machine of the test bed that is cut off, if there are two.
const farRank = 1

// several reports whether this is one of several machines of the test bed.
func several() bool {
	peers, err := control.Peers()
	return err == nil && len(peers) > farRank
}

// beFar runs the far sides of the twins until the other machine has measured.
func (p programs) beFar() error {
	ctx := context.Background()
	for i, adapter := range adapters() {
		for j, program := range []string{p.c, p.golang} {
			far, err := start(i, program, "far", adapter, strconv.Itoa(firstQual+2*i+j+farBeyond))
			if err != nil {
				return err
			}
			defer far.kill()
			if _, err := far.expect("listening"); err != nil {
				return err
			}
		}
	}
	if _, err := control.Meet(ctx, "far sides", ""); err != nil {
		return err
	}
	_, err := control.Meet(ctx, "measured", "")
	return err
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
