package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

func TestUMLCPUInfo(t *testing.T) {
	const host = "processor\t: 0\nmodel name\t: Chip 1\ncpu MHz\t\t: 2000.0\n\nprocessor\t: 1\nmodel name\t: Chip 1\n\n"
	const first = "processor\t: 0\nmodel name\t: Chip 1 (User-Mode Linux)\ncpu MHz\t\t: 2000.0\n\n"
	if got := umlCPUInfo(host, 1); got != first {
		t.Errorf("one processor is\n%s", got)
	}
	if got, want := umlCPUInfo(host, 2), first+strings.Replace(first, ": 0", ": 1", 1); got != want {
		t.Errorf("two are\n%s", got)
	}
	if got := umlCPUInfo("", 1); strings.TrimSpace(got) != "" {
		t.Errorf("without input: %q", got)
	}
}

func TestProcessGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	g := &processGroup{leader: cmd.Process.Pid}
	if err := g.signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	// Only the leader: the other process is killed after its end.
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	g.awaitEnd()
	if err := g.signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal after the end: %v", err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the leader ended with %v", err)
	}
	waitGroupGone(t, g.leader)
}

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
		check(t, err)
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
