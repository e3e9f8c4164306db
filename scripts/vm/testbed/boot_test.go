//go:build linux && amd64

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// TestStandingStillIsBootedAgain boots a machine that always hangs at its first boot. No real one does that on request,
// so this test binary plays the emulator.
func TestStandingStillIsBootedAgain(t *testing.T) {
	t.Setenv(roleVariable, "emulator")
	for _, c := range []struct {
		name   string
		limits []time.Duration
		exit   int
		stdout string
		stderr string
	}{
		{"second boot", []time.Duration{time.Second, runLimit}, 5, "it runs", bootedAgain + ": it was not up after 1s, its last step was: none\n"},
		{"no second boot", []time.Duration{time.Second}, exitFailure, "", "there is no result of echo: it was not up after 1s, its last step was: none\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			around := surroundings{out: programOutput{&stdout, &stderr}}
			config := machineConfig{arch: amd64, emulator: os.Args[0], bootLimits: c.limits, quiet: true}
			code := run(program{name: "echo"}, around, config, nil, &progress{out: &stderr})
			if code != c.exit || stdout.String() != c.stdout {
				t.Errorf("exit code %d, standard output %q; want %d, %q; stderr: %s", code, stdout.String(), c.exit, c.stdout, stderr.String())
			}
			if !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("stderr is %q, want it to contain %q", stderr.String(), c.stderr)
			}
		})
	}
}

// TestAbandonedBootHasBegun checks that a program that began just as the time limit passed is noticed: it must not run
// twice.
func TestAbandonedBootHasBegun(t *testing.T) {
	t.Setenv(roleVariable, "emulator")
	for _, quiet := range []bool{true, false} {
		m, err := startMachine(machineConfig{arch: amd64, emulator: os.Args[0], quiet: quiet}, wire.Job{}, programOutput{io.Discard, io.Discard}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(runLimit); !strings.Contains(m.console.String(), stands); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the emulator does not start")
			}
		}
		if started := m.abandonBoot(); started == quiet {
			t.Errorf("an abandoned boot has begun the program: %t, want %t", started, !quiet)
		}
	}
}

// stands is what the emulator writes on the console before it hangs.
const stands = "nothing more"

// playEmulator has qemu's files. It hangs when the kernel is to be quiet, as at its first boot.
func playEmulator() int {
	console, control := os.NewFile(3, "console"), wire.NewConn(os.NewFile(4, "control"))
	control.Send(wire.KindReady, nil)
	if slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasSuffix(arg, " quiet") }) {
		fmt.Fprintln(console, stands)
		time.Sleep(runLimit)
		return 1
	}
	if kind, _, err := control.Receive(); err != nil || kind != wire.KindJob {
		return 1
	}
	control.Send(wire.KindStarted, nil)
	control.Send(wire.KindStdout, []byte("it runs"))
	control.Send(wire.KindExit, []byte{5})
	fmt.Fprintln(console, stands)
	time.Sleep(runLimit)
	return 1
}
