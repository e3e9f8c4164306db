// Command testrun builds the test binaries, runs several of them side by side, and ends with the number of tests. It is
// a part of scripts/test, which sets up all that it needs.
//
// The go command would run one binary for each package, and the binaries of different builds one after the other. Most
// device tests wait for a device, each in a machine of its own: the processors would be idle most of the time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	began := time.Now()
	var o options
	flag.StringVar(&o.work, "work", "", "the `folder` to build in")
	flag.StringVar(&o.libraries, "libraries", "", "the `folder` of the libraries of the native stack from source")
	flag.BoolVar(&o.quick, "quick", false, "run each test at most once, and not those that take long")
	flag.DurationVar(&o.long, "long", 0, "time of each of the long searches; 0: none")
	flag.BoolVar(&o.ownDevice, "own-device", false, "the device is this machine's: run one test at a time")
	flag.BoolVar(&o.inMachine, "in-machine", false, "this is a machine of the test bed: it cannot boot others")
	flag.BoolVar(&o.iwarp, "iwarp", false, "the device speaks iWARP: only one of the providers can use it")
	check := flag.String("check", "", "a `command` that checks the code, to run beside the tests")
	slots := flag.Int("slots", runtime.NumCPU()+2, "how many machines run at once")
	flag.Parse()
	o.small, o.uml = smallMachines(), userModeLinux()
	o.named = flag.NArg() > 0

	t := &tally{out: os.Stdout, shown: time.Now()}
	go func() {
		for range time.Tick(time.Second) {
			t.pulse(time.Now())
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	packages, untested, err := listPackages(ctx, flag.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "test: %v\n", err)
		os.Exit(1)
	}
	if len(packages) == 0 && len(untested) > 0 {
		t.noTests(untested)
	}
	s := &schedule{work: o.work, slots: *slots, oneDevice: o.ownDevice || o.inMachine, check: *check, tally: t}
	s.all(ctx, o.plan(packages))
	if !t.summary(time.Since(began)) {
		os.Exit(1)
	}
}
