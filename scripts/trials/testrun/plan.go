package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// options are the arguments of scripts/test and its findings.
type options struct {
	libraries string
	quick     bool
	named     bool          // the packages were named: none of them is left out
	long      time.Duration // of each of the long searches; 0: none
	ownDevice bool
	inMachine bool
	iwarp     bool     // only the CMA provider can use the device
	uml       bool     // virtual machines are User-Mode Linux, which has soft-iWARP
	small     []string // the environment for machines that use little of the processors
}

// run is a set of packages that are tested in one way.
type run struct {
	title    string // what is special about it
	packages []string

	build       []string // flags of "go test"
	environment []string // of the build and of the tests
	exec        []string // the command that runs a test binary; none: run it here
	flags       []string // of the test binaries
	only        string   // a pattern of tests
	skip        string   // a pattern of tests, and of subtests as in "|/part"
	inShards    bool

	device       bool          // a skipped test is a failure
	manyMachines bool          // one package uses several at once
	fuzz         bool          // makes random calls
	lasts        time.Duration // may exceed the limit
}

// What packages need. All tests except those of these packages get a device. The test bed's own tests boot machines
// themselves.
var (
	hostPackages = packagePattern(`cgo$|scripts/(porting/.*|sidebyside|trials/(apistatus|constants|scripts|testrun|withoutcgo))$|scripts/vm(/|$)|udat/internal/(life|logging|notify|shadow)$|examples/internal/messagesizes$|examples/interop/internal/getopt$`)
	// The same program runs in all machines. Two of them are killed.
	machinesPackages = packagePattern(`scripts/trials/reliability$`)
	// These mostly boot machines and break them.
	testBedPackages = packagePattern(`scripts/(trials/scripts|vm/testbed)$`)
	soakPackages    = packagePattern(`scripts/trials/soak$`)
	// These start processes, in which nothing is watched.
	failuresPackages = packagePattern(`scripts/dapl/devicetest/failures$`)
	// What runs under the shapes of other adapters: see scripts/dapl/devicetest/shapes.
	shapesPackages = packagePattern(`(udat|scripts/trials/conformance|examples/(hello|pingpong|udatinfo)|examples/interop/dtestx?)$`)
	iwarpPackages  = packagePattern(`(udat|udat/stream|scripts/(dapl/devicetest(/failures|/shapes)?|streamtest|trials/conformance))$`)
	ipv6Packages   = packagePattern(`(udat|udat/stream|scripts/dapl/devicetest|examples/interop/(dtest|dapltest))$`)
	racePackages   = packagePattern(`(udat(/|$)|scripts/(dapl/devicetest/shapes|streamtest|trials/.*)$)`)
	// In these, one goroutine makes one call after the other.
	sequentialPackages = packagePattern(`scripts/trials/conformance$`)
	udatPackage        = packagePattern(`udat$`)
	dtestPackage       = packagePattern(`examples/interop/dtest$`)
	mpiPackage         = packagePattern(`examples/mpi/mpi$`)
	streamPackage      = packagePattern(`scripts/streamtest$`)
)

const (
	// Calls in all states, calls that fail, and attempts that end at any moment, a sample of which runs over soft-iWARP, too:
	// there the kernel waits for peers.
	iwarpOnly = `^FuzzCalls$/^seed#[0-9]$|^Test(CallsInEachState|Sweep|Shapes|DialsEndedAnytime|Conn|GRPC|EndUnanswered|CallsBesideSilentHost)$`
	// What has to do with addresses, in a plain run on machines with IPv6 alone.
	ipv6Only     = `Address|GID|Connect|Accept|Reject|Listen|Service|Request|Peer|Stranger|Attempt|Timeout|Unreachable|Unanswered|Query|CallsInEachState|CClientWithGoServer`
	machinesIPv6 = `^Test(DeviceRemoved|AddressTakenAway|FreeBesideCutPeer|ListenerWithoutFiles|ProcessKilledInTransfer)$`
	// These take long, and are like others that are run.
	machinesSkip = `^TestLinkCutLong$|^TestLinkCutForGood$/^RDMA|^TestLoss$/^(5|10)%$|^TestDeviceRemoved$/^sender$|^TestLimitReached$/^memory$`
	// These test what only maintainers run, or follow each step of a user. They run at night.
	hostSkip = `^Test(ReadmeCommands|Container|AnotherModule|Bench|Release|APIChanges|TestBedIsInstalled)$`
	// FuzzCalls makes calls in all states and orders. The run with the race detector also compares the states with the
	// specification, so one run is enough. TestCWithC tests only the native stack, as the reference for programs in Go.
	plainSkip = `^FuzzCalls$|^TestCWithC$`
	// These pair each program with the C programs, or repeat many times what other tests do.
	quickSkip = plainSkip + `|^Test(GoWithGo|GoClientWithCServer|CClientWithGoServer|Pairs|Collectives|CloseUnderRequests|ExplainFileLimit|` +
		`NoMemory|Load|ReservedUnderLoad|ServicePoints(UnderLoad|WithFullQueue)|SlowPeers|BusyQueues|RoomOfRandomCalls|ResetBesideThread)$`
	// These start processes, for adapters that do not open or for values of a variable, which takes long and has nothing
	// to watch.
	childSkip = `^Test(Explain|WriteConfig|Variables)`
	// These compare udatinfo with what sysfs says, which is no part of a shape, and wait long.
	shapesSkip = `^TestFinding.*$|` + plainSkip
	// Of one shape in each run: not what loads the library for seconds, and has no limits of a device.
	shapesSkipMore = shapesSkip + `|^Test(WaitersInStorm|Free(MemoryWhile|GivesBackWhile|RSPBeside).*|CloseBesideCreators)$`
	// Also these, which repeat many times what other tests do.
	asanSkipMore = childSkip + `|^FuzzCalls$|^Test(CloseUnderRequests|CloseBesideCreators|NilAndZeroArguments)$`
)

// The race detector and the address sanitizer watch the binding, which is the same over both providers. Each runs over
// one provider, so that both providers are covered. A quick run uses one provider, too.
const (
	socketCMParts = `|/^ofa-v2-scm-`
	cmaParts      = `|/^ofa-v2-cma-`
)

const module = "github.com/goudat/goudat/"

// inShards are the packages whose tests are distributed over several machines.
var inShards = map[string]int{
	module + "udat":                       4,
	module + "scripts/trials/conformance": 2,
	module + "scripts/dapl/devicetest":    2,
	module + "udat/stream":                2,
	module + "scripts/vm/testbed":         2,
	module + "examples/interop/dtest":     2,
	module + "examples/mpi/mpi":           4,
}

// plan lists the runs, the longest first.
func (o options) plan(packages []string) []run {
	if o.quick && !o.named {
		packages = but(packages, testBedPackages, machinesPackages, soakPackages, failuresPackages)
	}
	withDevice := []string{"scripts/with-device"}
	onDevice := but(packages, hostPackages, machinesPackages, failuresPackages)
	plain := run{
		title:    "device",
		packages: onDevice,
		exec:     withDevice,
		device:   true,
		inShards: true,
	}
	switch {
	case o.quick:
		plain.skip = quickSkip
		if !o.named {
			plain.skip += socketCMParts
		}
	case o.long == 0:
		plain.skip = plainSkip
	}
	host := run{
		title:    "",
		packages: of(packages, hostPackages),
		inShards: true,
	}
	if o.long == 0 {
		host.skip = hostSkip
	}
	failures := plain
	failures.title = "device"
	failures.packages, failures.flags = of(packages, failuresPackages), []string{seedFlag("failures.seed")}
	failures.lasts = o.long // all calls take a quarter of an hour
	runs := []run{host, plain, failures}
	if !o.inMachine {
		r := run{
			title:        "machines",
			packages:     of(packages, machinesPackages),
			exec:         []string{"scripts/testbed", "--machines", "4", "--plain-rank", "0", "--memory", "640M"},
			device:       true,
			manyMachines: true,
		}
		if o.long == 0 {
			r.skip = machinesSkip
		} else {
			r.flags = []string{"-reliability.flood=2000", seedFlag("reliability.seed")}
		}
		runs = append(runs, r)
		if !o.quick && !o.ownDevice && !o.iwarp && o.uml {
			ipv6 := r
			ipv6.title = "machines, IPv6"
			ipv6.exec = append(slices.Clone(r.exec), "--ipv6")
			if o.long == 0 {
				ipv6.only = machinesIPv6
			}
			runs = append(runs, ipv6)
		}
		if !o.quick && o.long == 0 && !o.ownDevice && !o.iwarp && o.uml {
			runs = append(runs, run{
				title:    "soft-iWARP",
				packages: of(packages, iwarpPackages),
				exec:     []string{"scripts/testbed", "--accel", "uml", "--device", "siw"},
				device:   true,
				only:     iwarpOnly,
			})
		}
		if !o.quick {
			r.title = "machines"
			r.packages, r.flags, r.skip, r.only = of(packages, streamPackage), nil, "", `^TestMachine`
			runs = append(runs, r)
		}
	}
	if !o.quick && !o.ownDevice && !o.inMachine {
		runs = append(runs, o.shapes(packages)...)
	}
	if !o.quick && !o.ownDevice && !o.inMachine && o.uml {
		ipv6 := run{
			title:    "IPv6",
			packages: of(packages, ipv6Packages),
			exec:     []string{"scripts/testbed", "--accel", "uml", "--ipv6"},
			device:   true,
			skip:     plainSkip,
		}
		if o.long == 0 {
			ipv6.only = ipv6Only
		}
		runs = append(runs, ipv6)
	}
	if !o.quick {
		race := run{
			// All of these slow down the same code, so they share a run. It also compares the endpoints' states with
			// the specification.
			title:       "race detector, cgocheck2",
			packages:    but(of(packages, racePackages), hostPackages, machinesPackages, soakPackages, failuresPackages),
			build:       []string{"-race"},
			environment: []string{"UDAT_ASSERT=panic", "GOEXPERIMENT=cgocheck2"},
			exec:        withDevice,
			device:      true,
			inShards:    true,
		}
		asan := o.withAddressSanitizer(of(packages, udatPackage))
		if o.long == 0 {
			race.packages, race.skip = but(race.packages, sequentialPackages), childSkip
			if !o.iwarp {
				race.skip += socketCMParts
				asan.skip += cmaParts
			}
		}
		runs = append(runs, race, asan)
	}
	environment := o.small
	if o.long > 0 {
		runs = append(runs, o.searches(packages)...)
		// The machines are like those of users. The variable enables the long tests.
		environment = []string{"GOUDAT_TEST_LONG=1"}
	}
	runs = withPackages(runs)
	for i := range runs {
		runs[i].environment = append(runs[i].environment, environment...)
	}
	return runs
}

// smallMachines returns the environment for machines with one processor and coarse timers. Emulated tests then use half
// as much processor time. Settings of the user stay.
func smallMachines() (environment []string) {
	for _, variable := range []string{"TESTBED_CPUS", "TESTBED_COARSE_TIMERS"} {
		if os.Getenv(variable) == "" {
			environment = append(environment, variable+"=1")
		}
	}
	return environment
}

// userModeLinux reports whether virtual machines are User-Mode Linux: if the user wants that, or there is no KVM.
func userModeLinux() bool {
	accelerator := os.Getenv("TESTBED_ACCEL")
	if accelerator == "fastest" {
		kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
		_ = kvm.Close()
		return err != nil
	}
	return accelerator == "uml"
}

// searches are the runs that look for rare faults.
func (o options) searches(packages []string) []run {
	search := run{exec: []string{"scripts/with-device"}, device: true, lasts: o.long}
	calls, load, cycles, mix := search, search, search, search
	calls.title, calls.packages, calls.fuzz = "random calls", of(packages, udatPackage), true
	// The providers share the time.
	load.title, load.packages, load.only = "load", of(packages, soakPackages), "^TestLoad$"
	load.flags = []string{"-soak.load=" + (o.long / 2).String(), seedFlag("soak.seed")}
	cycles.title, cycles.packages, cycles.only = "connections", of(packages, soakPackages), "^TestCycles$"
	cycles.flags = []string{fmt.Sprintf("-soak.cycles=%d", max(100, int(o.long/cycleTime))), seedFlag("soak.seed")}
	mix.title, mix.packages, mix.only = "random programs", of(packages, mpiPackage), "^TestMix$"
	mix.flags = []string{"-mix.for=" + (o.long / 2).String(), "-mix.steps=50", seedFlag("mix.seed")}
	return []run{calls, load, cycles, mix}
}

// shapes are the runs under the shapes of other adapters: of one, over one provider, or of all. TestShapes tries them all
// each time.
func (o options) shapes(all []string) (runs []run) {
	like := run{packages: of(all, shapesPackages), device: true, skip: shapesSkip}
	files := []string{"e810-roce"} // it has little of what soft-RoCE has
	if o.long > 0 {
		files, _ = filepath.Glob("scripts/dapl/devicetest/shapes/testdata/*.shape") // without any, TestShapeFiles fails
	} else {
		like.packages = but(like.packages, sequentialPackages, dtestPackage)
		like.skip = shapesSkipMore + cmaParts
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".shape")
		iwarp := strings.HasSuffix(name, "-iwarp") // User-Mode Linux has soft-iWARP, and Debian's kernels do not
		if slices.Contains(tooSmall, name) || iwarp && !o.uml || !iwarp && o.iwarp {
			continue
		}
		r := like
		r.title, r.exec = "shape of "+name, []string{"scripts/with-shape", name}
		runs = append(runs, r)
	}
	return runs
}

// tooSmall are the shapes on which the tests find too little.
var tooSmall = []string{"least", "efa", "gid-error"}

// cycleTime is about the time of a cycle on an emulated machine, with each provider.
const cycleTime = 300 * time.Millisecond

// seedFlag returns the flag that sets another seed for a random test in each run. The test's log names the seed when it
// fails.
func seedFlag(name string) string {
	return fmt.Sprintf("-%s=%d", name, time.Now().Unix())
}

func (o options) withAddressSanitizer(packages []string) run {
	r := run{
		title:    "address sanitizer",
		packages: packages,
		build:    []string{"-asan"},
		// Show long stacks of allocations: the lower end is in the provider's library, and has no names.
		environment: []string{
			"ASAN_OPTIONS=fast_unwind_on_malloc=0:suppressions=" + inCheckout("scripts/asan.supp"),
			"LSAN_OPTIONS=print_suppressions=0:suppressions=" + inCheckout("scripts/lsan.supp"),
		},
		exec:     []string{"scripts/with-device"},
		device:   true,
		skip:     asanSkipMore,
		inShards: true,
	}
	if o.long > 0 {
		r.skip = childSkip
	}
	// The address sanitizer's dlopen does not use the run path of the calling library.
	r.exec = append(r.exec, "env", "LD_LIBRARY_PATH="+o.libraries)
	return r
}

func packagePattern(expression string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.QuoteMeta(module) + "(" + expression + ")")
}

func of(packages []string, pattern *regexp.Regexp) (matching []string) {
	for _, p := range packages {
		if pattern.MatchString(p) {
			matching = append(matching, p)
		}
	}
	return matching
}

func but(packages []string, patterns ...*regexp.Regexp) (others []string) {
next:
	for _, p := range packages {
		for _, pattern := range patterns {
			if pattern.MatchString(p) {
				continue next
			}
		}
		others = append(others, p)
	}
	return others
}

func withPackages(runs []run) (some []run) {
	for _, r := range runs {
		if len(r.packages) > 0 {
			some = append(some, r)
		}
	}
	return some
}

// inCheckout returns the absolute path of a file of the checkout. The working folder is the checkout.
func inCheckout(file string) string {
	path, err := filepath.Abs(file)
	if err != nil {
		panic(err) // nothing works without it
	}
	return path
}
