package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// architecture is a machine's processor architecture.
type architecture struct {
	name            string // as Go and Debian call it
	emulator        string
	emulatorPackage string
	board           []string // qemu's arguments for the board
	processor       string   // of an emulated machine
	modules         string   // the folder of modules for this processor only
	kernel          []string // the kernel's arguments
	// uncompressed extracts a kernel from its image. It is nil where Debian's image is not compressed.
	uncompressed func(image []byte) ([]byte, error)
	// bootLimits allow for an emulated kernel that hangs forever, as one in thousands does: it is booted again. The
	// last limit is several times what a boot takes on a busy host.
	bootLimits []time.Duration
	foreign    bool // programs do not run on the host, and cannot use its files
}

var (
	amd64 = &architecture{
		name:            "amd64",
		emulator:        "qemu-system-x86_64",
		emulatorPackage: "qemu-system-x86",
		// The kernel does not wait for controllers that do not exist.
		board: []string{"-machine", "q35,usb=off,hpet=off,smbus=off,sata=off"},
		// The emulator runs repeated string instructions byte by byte. Without them, the kernel and the C library copy
		// words.
		processor:    "max,-erms,-fsrm",
		modules:      "arch/x86/crypto/",
		kernel:       []string{"console=ttyS0", "no_timer_check", "random.trust_cpu=on"},
		uncompressed: uncompressedKernel,
		bootLimits:   []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute},
	}
	arm64 = &architecture{
		name:            "arm64",
		emulator:        "qemu-system-aarch64",
		emulatorPackage: "qemu-system-arm",
		board:           []string{"-machine", "virt,gic-version=3"},
		// A server's processor. One with all features would spend its time on pointer authentication.
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
	return nil, fmt.Errorf("the architecture %q is not one of %s", name, strings.Join(names, ", "))
}
