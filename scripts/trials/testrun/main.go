// Command testrun runs the tests of a plan, and passes the results to gotestsum, which prints them. It is a part of
// scripts/test, which sets up all that it needs.
//
// One go command tests in one way, on one kind of machine. Most device tests wait for a device, each package in a machine of
// its own: so two such commands run side by side, and each runs two packages at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limit is how long the tests of one package may take. The longest take some minutes, with the race detector on a busy machine.
const limit = 20 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.libraries, "libraries", "", "the `folder` of the libraries of the native stack from source")
	flag.BoolVar(&o.quick, "quick", false, "run each test at most once, and not those that take long")
	flag.DurationVar(&o.long, "long", 0, "time of each of the long searches; 0: none")
	flag.BoolVar(&o.ownDevice, "own-device", false, "the device is this machine's: run one test at a time")
	flag.BoolVar(&o.inMachine, "in-machine", false, "this is a machine of the test bed: it cannot boot others")
	flag.BoolVar(&o.iwarp, "iwarp", false, "the device speaks iWARP: only one of the providers can use it")
	check := flag.String("check", "", "a `command` that checks the code, to run beside the tests")
	flag.Parse()
	o.small, o.uml = smallMachines(), userModeLinux()
	o.named = flag.NArg() > 0

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	packages, err := listPackages(ctx, flag.Args())
	if err != nil {
		stopWith(err)
	}
	jobs := o.jobs(o.plan(packages))
	if *check != "" {
		jobs = slices.Insert(jobs, min(1, len(jobs)), job{run: run{title: "check"}, command: []string{inCheckout(*check)}})
	}
	if len(jobs) == 0 {
		fmt.Println("test: there are no tests in these packages")
		return
	}
	r, err := newResults()
	if err != nil {
		stopWith(err)
	}
	go r.pulse(ctx)
	workers := 2
	if o.ownDevice || o.inMachine {
		workers = 1
	}
	queue := make(chan job, len(jobs))
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	var running sync.WaitGroup
	for range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			for j := range queue {
				r.run(ctx, j)
			}
		}()
	}
	running.Wait()
	if !r.end() {
		os.Exit(1)
	}
}

func stopWith(err error) {
	fmt.Fprintf(os.Stderr, "test: %v\n", err)
	os.Exit(1)
}

// job is a command whose results are one part of a run's.
type job struct {
	run
	shard   string   // "1/4", "" for a whole
	command []string // go test, or the check
}

// jobs are the go commands of runs. The first of each run comes before all others, so that no two of them compile the same at
// the same time.
func (o options) jobs(runs []run) (jobs []job) {
	var more []job
	for _, r := range runs {
		bySize := map[int][]string{}
		for _, p := range r.packages {
			n := max(inShards[p], 1)
			if !r.inShards {
				n = 1
			}
			bySize[n] = append(bySize[n], p)
		}
		first := true
		for _, n := range []int{1, 2, 4} {
			for i, pattern := range shards(n) {
				if len(bySize[n]) == 0 {
					continue
				}
				j := job{run: r, command: o.command(r, pattern, bySize[n])}
				if n > 1 {
					j.shard = fmt.Sprintf("%d/%d", i+1, n)
				}
				if first {
					jobs = append(jobs, j)
				} else {
					more = append(more, j)
				}
				first = false
			}
		}
	}
	return append(jobs, more...)
}

// command is the go command that tests packages of a run.
func (o options) command(r run, pattern string, packages []string) []string {
	atOnce := 2
	if o.ownDevice || o.inMachine || r.manyMachines {
		atOnce = 1
	}
	command := []string{"go", "test", "-json", "-count=1", "-vet=off", "-buildvcs=false", "-ldflags=-w", fmt.Sprintf("-p=%d", atOnce),
		fmt.Sprintf("-timeout=%v", limit+2*r.lasts)}
	if r.fuzz {
		// One process at a time: there is one device. Minimizing inputs takes longer than it is worth.
		command = append(command, "-run=^$", "-fuzz=.", "-fuzztime="+r.lasts.String(), "-fuzzminimizetime=10x", "-parallel=1")
	}
	if only := r.only + pattern; only != "" { // at most one of the two
		command = append(command, "-run="+only)
	}
	if r.skip != "" {
		command = append(command, "-skip="+r.skip)
	}
	if len(r.exec) > 0 {
		exec := append([]string{inCheckout(r.exec[0])}, r.exec[1:]...)
		command = append(command, "-exec='"+strings.Join(exec, "' '")+"'")
	}
	command = append(append(command, r.build...), packages...)
	if len(r.flags) > 0 {
		command = append(append(command, "-args"), r.flags...)
	}
	return command
}

// shards are patterns of tests that together have each test once: by the third letter from the end of the names, which is spread
// more evenly than others. The last has whatever the others do not. Lists of names would be patterns of some thousand
// characters, and package testing compiles all patterns again for each subtest.
func shards(n int) []string {
	const a, b, c = "abdo", "ein", "lrt"
	switch n {
	case 1:
		return []string{""}
	case 2:
		return []string{"[" + a + b + "]..$", "[^" + a + b + "]..$"}
	}
	return []string{"[" + a + "]..$", "[" + b + "]..$", "[" + c + "]..$", "[^" + a + b + c + "]..$"}
}

// listPackages returns the import paths of the packages with tests that patterns of folders name, or of all packages without a
// pattern. go.work lists the modules. In a pattern of folders, "..." ends where another module begins, and in one of import
// paths it does not.
func listPackages(ctx context.Context, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"..."}
	}
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "--"}
	for _, pattern := range patterns {
		args = append(args, module+strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, module), "./"), "/"))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the packages do not load, see above: %w", err)
	}
	return strings.Fields(string(output)), nil
}
