package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/wire"
)

const (
	acceleratorKVM = "kvm"
	acceleratorTCG = "tcg"
	// acceleratorCount emulates one processor whose time advances by a nanosecond with each instruction. A program that
	// measures time counts instructions.
	acceleratorCount = "count"
	// acceleratorFastest is KVM if that works here, or else User-Mode Linux.
	acceleratorFastest = "fastest"
)

// proofLimit is many times what a boot with KVM takes. A KVM that needs longer is of no use.
const proofLimit = 20 * time.Second

// accelerator chooses between KVM and emulation. An open /dev/kvm proves nothing: in some virtual machines a guest then
// crawls or stops. So KVM has to boot this kernel once.
func (c *cache) accelerator(wanted string, config machineConfig, log *progress) (string, error) {
	if wanted != "auto" {
		return wanted, nil
	}
	if config.arch.foreign {
		return acceleratorTCG, nil
	}
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		log.step("no KVM: %v", err)
		return acceleratorTCG, nil
	}
	kvm.Close()
	key, err := proofKey(config)
	if err != nil {
		return "", err
	}
	return c.provenAccelerator(key, log, func() error {
		log.setUp("trying whether KVM works here (%s at most)", proofLimit)
		config.accelerator = acceleratorKVM
		return proveBoot(config, proofLimit)
	})
}

// provenAccelerator runs the proof, unless its result for this key is known.
func (c *cache) provenAccelerator(key string, log *progress, proof func() error) (string, error) {
	file, err := c.entry("kvm-"+key, log, func(path string) error {
		outcome := "yes"
		if err := proof(); err != nil {
			outcome = "no: " + err.Error()
			log.setUp("KVM does not work here, emulating instead: %v", err)
		}
		return os.WriteFile(path, []byte(outcome+"\n"), 0o644)
	})
	if err != nil {
		return "", err
	}
	outcome, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	log.step("KVM works here: %s", strings.TrimSpace(string(outcome)))
	if strings.HasPrefix(string(outcome), "yes") {
		return acceleratorKVM, nil
	}
	return acceleratorTCG, nil
}

// proofKey changes with everything that the result depends on.
func proofKey(config machineConfig) (string, error) {
	var host syscall.Utsname
	if err := syscall.Uname(&host); err != nil {
		return "", err
	}
	// Identifies qemu's version without starting it.
	emulator, err := os.Stat(config.emulator)
	if err != nil {
		return "", err
	}
	key := sha256.New()
	fmt.Fprintln(key, host.Release, host.Version, config.emulator, emulator.Size(), emulator.ModTime(),
		filepath.Dir(config.kernel), os.Geteuid())
	return fmt.Sprintf("%x", key.Sum(nil)[:6]), nil
}

// proveBoot boots a machine up to the point at which it would run a program.
func proveBoot(config machineConfig, limit time.Duration) error {
	m, err := startMachine(config, wire.Job{Nofile: openFilesLimit(), Addresses: addresses(1, false)}, programOutput{os.Stdout, os.Stderr}, nil)
	if err != nil {
		return err
	}
	defer func() {
		m.end()
		for range m.frames {
			// Without a program the reader never blocks. Wait for it.
		}
	}()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		select {
		case <-deadline.C:
			return fmt.Errorf("the machine was not up after %s", limit)
		case f, open := <-m.frames:
			switch {
			case !open:
				return errors.New(m.failure())
			case f.kind == wire.KindFailure:
				return errors.New(string(f.payload))
			case f.kind == wire.KindExit:
				return nil
			}
		}
	}
}
