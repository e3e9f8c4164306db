package main

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestProofIsRemembered(t *testing.T) {
	c := newCache(t)
	proofs := 0
	decide := func(key string, outcome error) string {
		t.Helper()
		accelerator, err := c.provenAccelerator(key, &progress{out: io.Discard}, func() error {
			proofs++
			return outcome
		})
		check(t, err)
		return accelerator
	}
	for range 2 {
		if got := decide("works", nil); got != acceleratorKVM {
			t.Errorf("a KVM that works: %s", got)
		}
		if got := decide("fails", errors.New("it crawls")); got != acceleratorTCG {
			t.Errorf("a KVM that does not work: %s", got)
		}
	}
	if proofs != 2 {
		t.Errorf("%d proofs for two keys", proofs)
	}
}

func TestProofKey(t *testing.T) {
	emulator := t.TempDir() + "/qemu"
	check(t, os.WriteFile(emulator, []byte("old"), 0o755))
	key := func(kernel string) string {
		k, err := proofKey(machineConfig{emulator: emulator, kernel: kernel})
		check(t, err)
		return k
	}
	first := key("/c/kernel-1/vmlinux")
	if key("/c/kernel-1/vmlinux") != first {
		t.Error("nothing has changed, and yet the key has")
	}
	if key("/c/kernel-2/vmlinux") == first {
		t.Error("another kernel has the same key")
	}
	later := time.Now().Add(time.Hour)
	check(t, os.Chtimes(emulator, later, later))
	if key("/c/kernel-1/vmlinux") == first {
		t.Error("another qemu has the same key")
	}
}
