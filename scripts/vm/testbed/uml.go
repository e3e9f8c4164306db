package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// acceleratorUML is User-Mode Linux: a kernel that is an ordinary process. Its programs run on the host's processor. It
// needs neither KVM nor emulation. System calls are slow, and the threads of a process take turns.
const acceleratorUML = "uml"

// umlArguments returns the command line of a User-Mode Linux kernel. The console, the control port and the wire are its
// descriptors 3, 4 and 5.
func umlArguments(config machineConfig, job wire.Job) []string {
	args := []string{
		"mem=" + config.memory, "initrd=" + config.initramfs,
		"con=null", "ssl=null", "con0=null,fd:3", fmt.Sprintf("con%d=fd:4", wire.ControlTerminal), "console=tty0",
		// A kernel that panics must end, with the reason on the console, and not restart.
		"panic=-1", "oops=panic", "noreboot",
		// Otherwise the default is root=98:0, and the kernel looks for a disk.
		"root=none",
		// The speed of the loop for short delays. The kernel would measure it for 60 ms, a quarter of the boot. One
		// turn takes a cycle: delays are right for 5 GHz, and longer on slower processors.
		"lpj=50000000",
		// Goes to init's environment, as the kernel does not know it.
		wire.UserModeVariable + "=1",
	}
	if config.processors > 1 {
		// Several processors need the fast system calls.
		args = append(args, fmt.Sprintf("ncpus=%d", config.processors), "seccomp=on")
	} else {
		args = append(args, "seccomp=auto")
	}
	if len(job.Addresses) > 1 {
		args = append(args, "vec0:transport=fd,fd=5,mtu=9000")
	}
	if config.quiet {
		args = append(args, "quiet")
	}
	return args
}

// umlCommand prepares to start the kernel. The caller's environment is for the program, not for the kernel.
func umlCommand(config machineConfig, job wire.Job) *exec.Cmd {
	cmd := exec.Command(config.kernel, umlArguments(config, job)...)
	// The kernel takes the last variable other than PATH for the end of the stack. That variable must be short.
	cmd.Env = []string{"HOME=/"}
	return cmd
}

// umlCPUInfo returns the content of /proc/cpuinfo: the host's processor, on which programs run, once for each
// processor. Programs that measure time, such as perftest, read its frequency.
func umlCPUInfo(host string, processors int) string {
	one, _, _ := strings.Cut(host, "\n\n")
	var all strings.Builder
	for i := range processors {
		for line := range strings.Lines(one) {
			name, _, _ := strings.Cut(line, ":")
			switch line = strings.TrimRight(line, "\n"); strings.TrimSpace(name) {
			case "processor":
				line = fmt.Sprintf("processor\t: %d", i)
			case "model name":
				line += umlModelSuffix
			}
			all.WriteString(line + "\n")
		}
		all.WriteString("\n")
	}
	return all.String()
}

const umlModelSuffix = " (User-Mode Linux)"

// hostCPUInfo is empty where there is none.
func hostCPUInfo() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return string(text)
}
