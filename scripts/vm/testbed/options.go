package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
)

const help = `Usage: testbed [flags] PROGRAM [ARGUMENTS...]
       testbed [flags] --shell
       go test -exec /path/to/testbed ./...        (also go run -exec)

Runs PROGRAM in a throw-away virtual machine with a software RDMA device, and exits with its exit code. The program has
the caller's working folder, environment and arguments. It runs as root, with an empty standard input. It sees the
host's file system; what it writes there vanishes with the machine, except in shared folders. The work folder of
"go test" and $GOCOVERDIR are always shared. When the program ends, the machine and all its processes end.

Flags, which go before PROGRAM:
  --timeout DURATION  time limit of PROGRAM; 0: none. The default is a minute more than its own -test.timeout,
                      or 15m                                                              [TESTBED_TIMEOUT]
  --share FOLDER      let the program write to this folder; may be repeated               [TESTBED_SHARE, with colons]
  --memory SIZE       memory of the machine, such as 2G (the default) or 900M             [TESTBED_MEMORY]
  --accel KIND        kvm, tcg (emulation), or auto: kvm if it works here; fastest: kvm or uml  [TESTBED_ACCEL].
                      count emulates one processor whose clock advances by a nanosecond with each instruction.
                      uml is User-Mode Linux, a kernel that is a process: see below
  --arch ARCH         processor of the machine, amd64 or arm64, which is emulated         [TESTBED_ARCH]
  --cpus N            number of processors; the default is the host's, at most 4, or 1 with uml  [TESTBED_CPUS]
  --coarse-timers     timers of an emulated machine expire at its clock ticks, every 4 ms: it then needs a third less
                      of the host's processors                                            [TESTBED_COARSE_TIMERS=1]
  --kernel KERNEL     boot the kernel of a Debian suite, such as bookworm, trixie or trixie-backports, or of a
                      linux-image .deb file; the other parts of a split kernel must be beside it [TESTBED_KERNEL]
  --machines N        run PROGRAM in N machines (at most 8) on one network, at the same time; see below
  --plain-rank RANK   no "[rank] " before the output of this machine: "go test" can then parse it
  --device KIND       rxe (soft-RoCE, the default), siw (soft-iWARP: needs --accel uml, as Debian's kernels lack it)
                      or none                                                             [TESTBED_DEVICE]
  --ipv6              IPv6 addresses alone: fd00:77::1 for 10.77.0.1, and so on           [TESTBED_IPV6=1]
  --print-root        print the folder with the files of --arch, for a compiler's --sysroot, and run nothing
  --shell             an interactive shell in the machine instead of a program
  --verbose           show each step and the machine's console                            [TESTBED_VERBOSE=1]
  --console-logs FOLDER  write the machines' consoles to files in this folder             [TESTBED_CONSOLE_LOGS]
  --help              this text

The machine has the device rxe0 over the interface dummy0, 10.77.0.1, and the host name testbed. Set, unless the caller
has set them: DAT_OVERRIDE (a dat.conf with the next two), UDAT_TEST_IA=ofa-v2-cma-rxe0,ofa-v2-scm-rxe0 (with --device
siw, ofa-v2-cma-siw0), UDAT_TEST_ADDR=10.77.0.1, DAT_DBG_TYPE=0 and DAPL_DBG_TYPE=0 (no messages of the native library;
0xffff: all). UDAT_TESTBED=1 is always set.

With several machines, the device is over eth0, at 10.77.0.1, 10.77.0.2 and so on, with the host names testbed0,
testbed1 and so on. UDAT_TEST_RANK has the rank of PROGRAM, from 0, and UDAT_TEST_PEERS all addresses by rank. The
output has "[rank] " before each line. The exit code is the largest of all. With package scripts/vm/control, Go programs
can cut links, pause and kill machines, and wait for each other; its socket is ` + control.Socket + `.

With --accel uml, the kernel (Linux 7.3) and PROGRAM run on this host's processor as ordinary processes, without KVM or
root. A machine boots in a quarter of a second. User code is as fast as on the host; a system call takes 3 µs. On one
processor, a thread that polls keeps it for up to 10 ms: programs that poll need --cpus 2. There are no huge pages. The
first run, and the first with several processors, builds a kernel from Debian's source (160 MB, some minutes).

With --arch arm64, the machine is emulated. Files of Debian ` + rootSuite + ` for arm64 replace those of the host, with the
packages of the native stack and a compiler. The host's programs do not run there; scripts/arm64 builds some that do.

Exit codes: the program's own, 128+n if signal n killed it, and
    2  usage error                            125  the machine failed: there is no result
  124  the time limit was exceeded            126  PROGRAM cannot be executed       127  PROGRAM was not found
INT, TERM, QUIT and HUP are passed on to the program's process group. The machine ends at most 10 seconds later, or at
once with a second signal. At the time limit the program gets QUIT, at which a Go program prints its goroutines. A
machine that is not up after a minute is booted again, at most twice, with a message on standard error.

The first run with a kernel fetches it (100 MB) and unpacks it into $GOUDAT_CACHE, by default ~/.cache/goudat, which may
be removed. Without --kernel it is this Debian's, or that of TESTBED_KERNEL_PACKAGE, a .deb file. Packages come from
apt's mirror, or from GOUDAT_DEBIAN_MIRROR; the system's lists do not change. Only qemu and iproute2 are installed.
`

type options struct {
	timeout      time.Duration // of the program; 0: no limit
	timeoutGiven bool
	shares       []string
	memory       string
	accelerator  string
	arch         *architecture
	printRoot    bool // of the architecture, instead of running a program
	processors   int  // 0: the accelerator's default
	coarse       bool // timers expire at clock ticks
	device       control.DeviceKind
	machines     int
	ipv6         bool // no IPv4 addresses
	plainRank    int  // the machine whose output has no prefix; -1: none
	shell        bool
	verbose      bool
	consoleLogs  string // a folder
	cache        string
	kernel       kernelChoice
	mirror       string // of Debian's archive; "": the mirror of the system's apt
	command      []string
}

// maxMachines is for the memory of a typical host.
const maxMachines = 8

// parseOptions reads the flags, and the environment for options that the flags do not set.
func parseOptions(args, environment []string) (options, error) {
	env := func(name string) string { return lookup(environment, name) }
	var o options
	var timeout, processors, arch, device, kernel string
	shares := filepath.SplitList(env("TESTBED_SHARE"))
	flags := flag.NewFlagSet("testbed", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&timeout, "timeout", env("TESTBED_TIMEOUT"), "")
	flags.Func("share", "", func(folder string) error { shares = append(shares, folder); return nil })
	flags.StringVar(&o.memory, "memory", cmp.Or(env("TESTBED_MEMORY"), "2G"), "")
	flags.StringVar(&o.accelerator, "accel", cmp.Or(env("TESTBED_ACCEL"), "auto"), "")
	flags.StringVar(&processors, "cpus", env("TESTBED_CPUS"), "")
	flags.BoolVar(&o.coarse, "coarse-timers", env("TESTBED_COARSE_TIMERS") == "1", "")
	flags.StringVar(&device, "device", cmp.Or(env("TESTBED_DEVICE"), string(control.RoCE)), "")
	flags.StringVar(&kernel, "kernel", cmp.Or(env("TESTBED_KERNEL"), env("TESTBED_KERNEL_PACKAGE")), "")
	flags.IntVar(&o.machines, "machines", 1, "")
	flags.BoolVar(&o.ipv6, "ipv6", env("TESTBED_IPV6") == "1", "")
	flags.IntVar(&o.plainRank, "plain-rank", -1, "")
	flags.StringVar(&arch, "arch", cmp.Or(env("TESTBED_ARCH"), amd64.name), "")
	flags.BoolVar(&o.printRoot, "print-root", false, "")
	flags.BoolVar(&o.shell, "shell", false, "")
	flags.StringVar(&o.consoleLogs, "console-logs", env("TESTBED_CONSOLE_LOGS"), "")
	flags.BoolVar(&o.verbose, "verbose", env("TESTBED_VERBOSE") == "1", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.command = flags.Args()
	o.mirror = env(mirrorVariable)

	var err error
	if o.arch, err = findArchitecture(arch); err != nil {
		return o, err
	}
	switch {
	case o.shell && len(o.command) > 0:
		return o, errors.New("--shell takes no program")
	case o.printRoot && (o.shell || len(o.command) > 0):
		return o, errors.New("--print-root takes no program")
	case o.printRoot && !o.arch.foreign:
		return o, fmt.Errorf("--print-root is for an architecture other than %s, which uses the host's root", o.arch.name)
	}
	if o.machines < 1 || o.machines > maxMachines {
		return o, fmt.Errorf("there can be 1 to %d machines, not %d", maxMachines, o.machines)
	}
	if o.shell && o.machines > 1 {
		return o, errors.New("--shell takes one machine")
	}
	if !o.shell && !o.printRoot && len(o.command) == 0 {
		return o, errors.New("name a program to run")
	}
	if device != "none" {
		if o.device = control.DeviceKind(device); !slices.Contains(control.DeviceKinds, o.device) {
			return o, fmt.Errorf("the device %q is not one of rxe, siw, none", device)
		}
	}
	if !regexp.MustCompile(`^[1-9][0-9]*[MG]$`).MatchString(o.memory) {
		return o, fmt.Errorf("the memory size %q is not a number with M or G", o.memory)
	}
	if !slices.Contains([]string{"auto", acceleratorFastest, acceleratorKVM, acceleratorTCG, acceleratorCount, acceleratorUML}, o.accelerator) {
		return o, fmt.Errorf("the acceleration %q is not one of auto, fastest, kvm, tcg, count, uml", o.accelerator)
	}
	if processors != "" {
		n, err := strconv.Atoi(processors)
		if err != nil || n < 1 || n > maxProcessors {
			return o, fmt.Errorf("a machine can have 1 to %d processors, not %q", maxProcessors, processors)
		}
		o.processors = n
	}
	if err := o.checkMachine(flags); err != nil {
		return o, err
	}
	if timeout != "" {
		d, err := time.ParseDuration(timeout)
		if err != nil && timeout != "0" || d < 0 {
			return o, fmt.Errorf("the timeout %q is not a duration such as 90s or 20m", timeout)
		}
		o.timeout, o.timeoutGiven = d, true
	}
	if !o.timeoutGiven && !o.shell {
		o.timeout = defaultTimeout(o.command)
	}
	for _, dir := range shares {
		if dir == "" {
			continue
		}
		absolute, err := shareFolder(dir)
		if err != nil {
			return o, err
		}
		o.shares = append(o.shares, absolute)
	}
	if o.kernel, err = chooseKernel(kernel, env(mirrorVariable)); err != nil {
		return o, err
	}
	o.kernel.arch = o.arch
	o.cache, err = cacheFolder(env)
	return o, err
}

// chooseKernel decides whether text names a suite or a file. Without text, it chooses the suite of this system, or a
// well-tested suite if this system is not Debian.
func chooseKernel(name, mirror string) (kernelChoice, error) {
	switch {
	case name == "":
		return kernelChoice{suite: cmp.Or(debianSuite("/etc/os-release"), "trixie"), mirror: mirror}, nil
	case strings.HasSuffix(name, ".deb") || strings.Contains(name, "/"):
		file, err := filepath.Abs(name)
		return kernelChoice{file: file}, err
	case !regexp.MustCompile(`^[a-z][a-z0-9.-]*$`).MatchString(name):
		return kernelChoice{}, fmt.Errorf("the kernel %q is neither a suite of Debian, such as trixie-backports, nor a .deb file", name)
	}
	return kernelChoice{suite: name, mirror: mirror}, nil
}

// debianSuite returns the suite of a Debian system from its os-release, or "" for other systems.
func debianSuite(file string) (suite string) {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	debian := false
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.Trim(value, `"'`); name {
		case "ID":
			debian = value == "debian"
		case "VERSION_CODENAME":
			suite = value
		}
	}
	if !debian {
		return ""
	}
	return suite
}

// maxProcessors is the limit of the User-Mode Linux kernel's configuration.
const maxProcessors = 8

// checkMachine checks the options that depend on the accelerator, and sets the number of processors for User-Mode
// Linux.
func (o *options) checkMachine(flags *flag.FlagSet) error {
	named := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { named[f.Name] = true })
	if o.accelerator == acceleratorFastest && (o.arch.foreign || named["kernel"]) {
		o.accelerator = "auto" // User-Mode Linux has a kernel of its own
	}
	switch {
	case o.arch.foreign && o.accelerator != "auto" && o.accelerator != acceleratorTCG:
		return fmt.Errorf("a machine of %s is emulated: --accel can be tcg, not %s", o.arch.name, o.accelerator)
	case o.accelerator == acceleratorCount && o.processors > 1:
		return errors.New("with --accel count there is one processor")
	case o.accelerator == "auto" && o.device == control.IWARP && !named["kernel"] && !o.arch.foreign:
		o.accelerator = acceleratorUML // its kernel has the device
	}
	switch {
	case o.accelerator != acceleratorUML:
		return nil
	case named["kernel"]:
		return errors.New("--kernel is for virtual machines: User-Mode Linux has its own")
	case o.processors == 0:
		o.processors = 1
	}
	return nil
}

// defaultTimeout lets the program's own limit act first: it reports more than the test bed can.
func defaultTimeout(command []string) time.Duration {
	const fallback = 15 * time.Minute
	for i, arg := range command {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != "test.timeout" || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !given && i+1 < len(command) {
			value = command[i+1]
		}
		if d, err := time.ParseDuration(value); err == nil && d > 0 {
			return d + time.Minute
		}
	}
	return fallback
}

// shareFolder checks a folder for --share.
func shareFolder(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(absolute)
	switch {
	case err != nil:
		return "", fmt.Errorf("--share needs a folder that exists: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("--share needs a folder: %s is a file", dir)
	case absolute == "/":
		return "", errors.New("--share takes a folder, not the whole file system")
	}
	return absolute, nil
}

func cacheFolder(env func(string) string) (string, error) {
	dir := env("GOUDAT_CACHE")
	if dir == "" {
		base := env("XDG_CACHE_HOME")
		if !filepath.IsAbs(base) {
			home := env("HOME")
			if home == "" {
				return "", errors.New("set GOUDAT_CACHE to a folder for the machine's kernel: there is no HOME")
			}
			base = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(base, "goudat")
	}
	return filepath.Abs(dir)
}

// lookup returns the last value of a variable: that one counts.
func lookup(environment []string, name string) string {
	for _, entry := range slices.Backward(environment) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}
