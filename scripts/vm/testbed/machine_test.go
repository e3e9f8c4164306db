//go:build linux && amd64

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/vm/wire"
)

func TestMachineArguments(t *testing.T) {
	job := wire.Job{Shares: []wire.Share{{Tag: "share0", Path: "/a, b"}}}
	config := machineConfig{arch: amd64, kernel: "/k", initramfs: "/i", memory: "3G", accelerator: acceleratorTCG, quiet: true}
	args := machineArguments(config, job)
	for _, want := range []string{"local,id=share0,path=/a,, b,security_model=none,multidevs=remap",
		"local,id=root,path=/,security_model=none,multidevs=remap,readonly=on", "3G", "tcg,thread=multi"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is not in %q", want, args)
		}
	}
	kernel := args[slices.Index(args, "-append")+1]
	if !strings.HasSuffix(kernel, " quiet") || !strings.Contains(kernel, "panic=-1") {
		t.Errorf("the kernel's arguments are %q", kernel)
	}
	config.quiet, config.accelerator = false, acceleratorKVM
	args = machineArguments(config, job)
	if !slices.Contains(args, "kvm") || strings.Contains(args[slices.Index(args, "-append")+1], "quiet") {
		t.Errorf("not quiet, with KVM: %q", args)
	}
	// Hardening costs emulated machines much of their time. Other machines have it.
	if strings.Contains(args[slices.Index(args, "-append")+1], "norandmaps") || !strings.Contains(kernel, "norandmaps") {
		t.Errorf("the kernel's arguments are %q emulated, and with KVM %q", kernel, args)
	}
	if strings.Contains(kernel, "highres") {
		t.Errorf("coarse timers without being asked: %q", kernel)
	}
	config.coarse = true
	args = machineArguments(config, job)
	if kernel = args[slices.Index(args, "-append")+1]; !strings.Contains(kernel, "highres=off") {
		t.Errorf("no coarse timers: %q", kernel)
	}
	config.processors = 7
	if args = machineArguments(config, job); args[slices.Index(args, "-smp")+1] != "7" {
		t.Errorf("with seven processors: %q", args)
	}
	config.accelerator = acceleratorCount
	if args = machineArguments(config, job); !slices.Contains(args, "-icount") || args[slices.Index(args, "-smp")+1] != "1" {
		t.Errorf("counting instructions: %q", args)
	}
}

// A machine of another architecture has another board and console, and a folder with its files.
func TestForeignMachineArguments(t *testing.T) {
	config := machineConfig{arch: arm64, root: "/r", kernel: "/k", initramfs: "/i", memory: "3G", accelerator: acceleratorTCG}
	args := machineArguments(config, wire.Job{})
	for _, want := range []string{"virt,gic-version=3", "neoverse-n1", "local,id=system,path=/r,security_model=none,multidevs=remap,readonly=on"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is not in %q", want, args)
		}
	}
	kernel := args[slices.Index(args, "-append")+1]
	if !strings.Contains(kernel, "console=ttyAMA0") || strings.Contains(kernel, "ttyS0") || strings.Contains(kernel, "tsc") {
		t.Errorf("the kernel's arguments are %q", kernel)
	}
}

func TestTail(t *testing.T) {
	var all tail
	for range 5000 {
		all.Write([]byte(strings.Repeat("x", 60) + "\r\n"))
	}
	all.Write([]byte("the end\r\n"))
	lines := strings.Split(all.String(), "\n")
	if len(lines) != tailLines || lines[len(lines)-1] != "the end" || lines[0] != strings.Repeat("x", 60) {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if len(all.kept) > 2*tailBytes+100 {
		t.Errorf("%d bytes are kept", len(all.kept))
	}
	if empty := (&tail{}).String(); empty != "" {
		t.Errorf("an empty tail is %q", empty)
	}
}
