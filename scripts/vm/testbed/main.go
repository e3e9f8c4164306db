// Command testbed runs a program inside a throw-away virtual machine that has an RDMA device. The script ../run
// builds and starts it, and the init of the machines; "testbed --help" says what it does. Without that script,
//
//	go install github.com/goudat/goudat/scripts/vm/testbed@latest
//
// makes a command that fetches it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// The exit codes that are not the program's own.
const (
	exitUsage         = 2
	exitTimeLimit     = 124
	exitFailure       = 125
	exitCannotExecute = 126
	exitNotFound      = 127
	exitSignalBase    = 128
)

func main() {
	os.Exit(testbed())
}

func testbed() int {
	if err := launch(); err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		return exitFailure
	}
	options, err := parseOptions(os.Args[1:], os.Environ())
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(help)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "testbed: %v (testbed --help tells more)\n", err)
		return exitUsage
	}
	log := &progress{out: os.Stderr, verbose: options.verbose}

	// The path of a foreign program is known only when there is a root for it.
	var p program
	if !options.arch.foreign {
		if p, err = newProgram(options, ""); err != nil {
			return cannotRun(err)
		}
	}

	// From here on a signal must not end this process before the machine is gone.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)

	ready := make(chan setup, 1)
	go func() {
		// The death signal of the tools that set-up runs is tied to the thread that started them.
		runtime.LockOSThread()
		ready <- prepare(options, log)
	}()
	var s setup
	select {
	case s = <-ready:
	case sig := <-signals:
		// The set-up's child processes die with this process. The next set-up removes what is half made.
		return exitSignalBase + int(sig.(syscall.Signal))
	}
	if s.err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", s.err)
		return exitFailure
	}
	if options.printRoot {
		fmt.Println(s.machine.root)
		return 0
	}
	if options.arch.foreign {
		if p, err = newProgram(options, s.machine.root); err != nil {
			return cannotRun(err)
		}
	}
	if s.machine.accelerator == acceleratorUML {
		p.job.CPUInfo = umlCPUInfo(hostCPUInfo(), s.machine.processors)
	}
	if options.machines > 1 {
		return runFleet(p, options.machines, options.plainRank, s.machine, signals, log)
	}
	return run(p, alone, s.machine, signals, log)
}

// cannotRun prints why a program does not run, and returns the exit code.
func cannotRun(err error) int {
	fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
	var unusable *unusableProgram
	if errors.As(err, &unusable) {
		return unusable.code
	}
	return exitFailure
}

// setup is the result of prepare.
type setup struct {
	machine machineConfig
	kernel  string // what boots
	err     error
}

// prepare puts all that a machine needs into the cache.
func prepare(options options, log *progress) (s setup) {
	defer func() {
		if s.err == nil && s.kernel != "" {
			log.setUp("booting %s", s.kernel)
		}
	}()
	if options.accelerator != acceleratorFastest {
		return prepareMachine(options, log)
	}
	options.accelerator = acceleratorUML
	if kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
		kvm.Close()
		trial := options
		trial.accelerator = "auto"
		if s := prepareMachine(trial, log); s.err != nil || s.machine.accelerator == acceleratorKVM {
			return s
		}
	}
	options.processors = max(options.processors, 1)
	return prepareMachine(options, log)
}

func prepareMachine(options options, log *progress) (s setup) {
	fail := func(err error) setup { return setup{err: err} }
	cache, err := openCache(options.cache)
	if err != nil {
		return fail(err)
	}
	cache.touch(filepath.Dir(os.Args[0]))
	if options.consoleLogs != "" {
		if err := os.MkdirAll(options.consoleLogs, 0o755); err != nil {
			return fail(fmt.Errorf("the folder for consoles: %w", err))
		}
	}
	if options.arch.foreign {
		if s.machine.root, err = cache.root(options.arch, options.mirror, log); err != nil || options.printRoot {
			s.err = err
			return s
		}
	}
	root := s.machine.root
	if _, err := findProgram("rdma", wire.ToolPath, root); err != nil {
		if err := installPackages(log, "iproute2"); err != nil {
			return fail(fmt.Errorf("the machine's init needs the commands ip and rdma: %w", err))
		}
	}
	var emulator string
	var kernel kernel
	source := options.kernel.String()
	if options.accelerator == acceleratorUML {
		source = "User-Mode Linux"
		kernel, err = cache.umlKernel(options.mirror, log)
	} else if emulator, err = findEmulator(options.arch, log); err == nil {
		kernel, err = cache.kernel(options.kernel, log)
	}
	if err != nil {
		return fail(err)
	}
	initramfs, err := cache.initramfs(options.arch, kernel, log)
	if err != nil {
		return fail(err)
	}
	s.kernel = fmt.Sprintf("Linux %s (%s)", kernel.release, source)
	s.machine = machineConfig{
		arch:       options.arch,
		root:       root,
		emulator:   emulator,
		kernel:     kernel.image,
		initramfs:  initramfs,
		memory:     options.memory,
		processors: options.processors,
		coarse:     options.coarse,
		verbose:    options.verbose,

		consoleLogs: options.consoleLogs,
		claims:      options.cache,

		bootLimits: options.arch.bootLimits,
		quiet:      !options.verbose,
	}
	s.machine.accelerator, err = cache.accelerator(options.accelerator, s.machine, log)
	if err != nil {
		return fail(err)
	}
	return s
}
