package main

import (
	"os"
	"runtime"
	"strings"
)

// machine is where it was measured.
type machine struct {
	Host      string `json:"host"`      // the processor of the machine that the command was given on
	Processor string `json:"processor"` // the one that the twins had, which is another one in the test bed
	CPUs      int    `json:"cpus"`
	Kernel    string `json:"kernel"`
	Load      string `json:"load"`  // of the machine that the command was given on, when it began
	Stack     string `json:"stack"` // the native libraries
	Compiler  string `json:"compiler"`
	Go        string `json:"go"`
}

// complete adds what is found where the twins run.
func (m *machine) complete() {
	m.Processor = processor()
	m.CPUs = runtime.NumCPU()
	m.Go = runtime.Version()
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(release))
	}
}

// emulated reports that the processor was an emulator's, whose figures are not those of any processor.
func (m machine) emulated() bool { return strings.HasPrefix(m.Processor, "QEMU TCG") }

// userMode reports that it was the host's, under User-Mode Linux: a system call takes ten times as long as elsewhere, so that
// what sleeps and is woken cannot be measured well.
func (m machine) userMode() bool { return strings.HasSuffix(m.Processor, "(User-Mode Linux)") }

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
