package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// count returns how many processors are in the set.
func (s *processorSet) count() (n int) {
	for processor := range 64 * len(s) {
		if s.has(processor) {
			n++
		}
	}
	return n
}

func TestClaims(t *testing.T) {
	folder, allowed := t.TempDir(), allowedProcessors()
	all := allowed.count()
	if all == 0 {
		t.Fatal("this process may use no processor")
	}
	var claims []*claimedProcessors
	var together processorSet
	for range all {
		one := claimProcessors(folder, 1)
		if one == nil || one.set.count() != 1 {
			t.Fatalf("claim %d of one of %d processors is %v", len(claims)+1, all, one)
		}
		for i := range together {
			if together[i]&one.set[i] != 0 || one.set[i]&^allowed[i] != 0 {
				t.Errorf("a processor was claimed twice, or is not allowed: word %d of the set is %#x", i, one.set[i])
			}
			together[i] |= one.set[i]
		}
		claims = append(claims, one)
	}
	if more := claimProcessors(folder, 1); more != nil {
		t.Errorf("more than %d processors can be claimed", all)
	}
	claims[0].release()
	if again := claimProcessors(folder, 1); again == nil || again.set != claims[0].set {
		t.Error("a processor that was released cannot be claimed")
	}
	if tooMany := claimProcessors(t.TempDir(), all+1); tooMany != nil {
		t.Errorf("more than %d processors can be claimed at once", all)
	}
}

// TestTooManyClaims checks that a claim which fails leaves nothing claimed.
func TestTooManyClaims(t *testing.T) {
	folder, allowed := t.TempDir(), allowedProcessors()
	if claimProcessors(folder, allowed.count()+1) != nil {
		t.Fatal("more processors can be claimed than there are")
	}
	if claimProcessors(folder, allowed.count()) == nil {
		t.Error("a claim of too many has left some claimed")
	}
	if claimProcessors(filepath.Join(folder, "none"), 1) != nil {
		t.Error("a processor was claimed in a folder that does not exist")
	}
}

// TestMachineIsBound starts a program instead of a kernel, which prints on what processors it may run.
func TestMachineIsBound(t *testing.T) {
	kernel := filepath.Join(t.TempDir(), "kernel")
	check(t, os.WriteFile(kernel, []byte("#!/bin/sh\nexec grep Cpus_allowed_list /proc/self/status\n"), 0o755))
	folder := t.TempDir()
	config := machineConfig{arch: amd64, kernel: kernel, accelerator: acceleratorUML, processors: 1, claims: folder}
	for range 2 { // the second one needs what the first one has released
		m, err := startMachine(config, wire.Job{}, programOutput{io.Discard, io.Discard}, nil)
		check(t, err)
		for range m.frames {
			t.Error("a frame came")
		}
		<-m.ended
		m.readers.Wait()
		if printed := strings.TrimSpace(m.console.String()); !strings.HasPrefix(printed, "Cpus_allowed_list:") || strings.ContainsAny(printed, ",-") {
			t.Errorf("it may run on more than one processor: %q", printed)
		}
	}
	if one := claimProcessors(folder, 1); one == nil {
		t.Error("the machine has ended, but its processor is still claimed")
	}
}
