//go:build linux && amd64

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// architecture is that of a machine's processor.
type architecture struct {
	name            string // as Go and Debian call it
	emulator        string
	emulatorPackage string
	board           []string // qemu's arguments about the board
	processor       string   // that an emulated machine has
	modules         string   // the folder of modules for this processor alone
	kernel          []string // the kernel's arguments
	// uncompressed takes a kernel out of its image, nil where Debian has it as it is.
	uncompressed func(image []byte) ([]byte, error)
	// bootLimits allow for an emulated kernel that stands still forever, which one in thousands does: it is booted again. The last
	// one is some times what a boot takes on a busy host.
	bootLimits []time.Duration
	foreign    bool // programs do not run on the host, whose files they therefore cannot use
}

var (
	amd64 = &architecture{
		name:            "amd64",
		emulator:        "qemu-system-x86_64",
		emulatorPackage: "qemu-system-x86",
		// Each controller that is not there is one that the kernel does not wait for.
		board: []string{"-machine", "q35,usb=off,hpet=off,smbus=off,sata=off"},
		// Copies and clearings by one repeated instruction are done byte by byte when emulated.
		processor:    "max,-erms,-fsrm",
		modules:      "arch/x86/crypto/",
		kernel:       []string{"console=ttyS0", "tsc=reliable", "no_timer_check", "random.trust_cpu=on"},
		uncompressed: uncompressedKernel,
		bootLimits:   []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute},
	}
	arm64 = &architecture{
		name:            "arm64",
		emulator:        "qemu-system-aarch64",
		emulatorPackage: "qemu-system-arm",
		board:           []string{"-machine", "virt,gic-version=3"},
		// A server's processor. One that has all there is would spend its time on the codes that sign pointers.
		processor:  "neoverse-n1",
		modules:    "arch/arm64/crypto/",
		kernel:     []string{"console=ttyAMA0", "random.trust_bootloader=on"},
		bootLimits: []time.Duration{5 * time.Minute, 10 * time.Minute},
		foreign:    true,
	}
	architectures = []*architecture{amd64, arm64}
)

func findArchitecture(name string) (*architecture, error) {
	if i := slices.IndexFunc(architectures, func(a *architecture) bool { return a.name == name }); i >= 0 {
		return architectures[i], nil
	}
	var names []string
	for _, a := range architectures {
		names = append(names, a.name)
	}
	return nil, fmt.Errorf("the architecture %q is none of %s", name, strings.Join(names, ", "))
}
