package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func everyPackage(t *testing.T) []string {
	t.Helper()
	t.Chdir("../../..") // where scripts/test runs
	packages, err := listPackages(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// Whatever is left out, each package is tested once without tools that slow it down, and in no other shape.
func TestPlanTestsAll(t *testing.T) {
	packages := everyPackage(t)
	for _, o := range []options{
		{},
		{quick: true, named: true},
		{long: time.Minute},
	} {
		tested := map[string]int{}
		for _, r := range o.plan(packages) {
			if len(r.build) > 0 || r.only != "" || r.fuzz || slices.Contains(r.exec, "scripts/with-shape") {
				continue
			}
			for _, p := range r.packages {
				tested[p]++
			}
		}
		for _, p := range packages {
			if tested[p] != 1 {
				t.Errorf("with %+v %s is tested %d times", o, p, tested[p])
			}
		}
	}
}

// Long tests run only on request.
func TestPlanLong(t *testing.T) {
	packages := everyPackage(t)
	titles := func(o options) (text string) {
		for _, r := range o.plan(packages) {
			text += r.title + r.skip + strings.Join(r.build, "") + strings.Join(r.environment, "") + "\n"
		}
		return text
	}
	if text := titles(options{small: []string{"SMALL"}}); !strings.Contains(text, machinesSkip) || !strings.Contains(text, hostSkip) || strings.Contains(text, "random calls") ||
		!strings.Contains(text, asanSkipMore) || !strings.Contains(text, childSkip) || !strings.Contains(text, socketCMParts) || !strings.Contains(text, cmaParts) ||
		!strings.Contains(text, "SMALL") {
		t.Errorf("a plain run is\n%s", text)
	}
	if text := titles(options{iwarp: true, uml: true}); strings.Contains(text, cmaParts) || strings.Contains(text, "over soft-iWARP") {
		t.Errorf("a run over iWARP leaves out its only provider\n%s", text)
	}
	if text := titles(options{long: time.Minute, small: []string{"SMALL"}}); strings.Contains(text, machinesSkip) || strings.Contains(text, hostSkip) || !strings.Contains(text, "random calls") ||
		strings.Contains(text, asanSkipMore) || strings.Contains(text, socketCMParts) || strings.Contains(text, cmaParts) ||
		strings.Contains(text, "SMALL") {
		t.Errorf("a long run is\n%s", text)
	}
}

// Where virtual machines have soft-iWARP, a plain run tests on that, too.
func TestPlanIWARP(t *testing.T) {
	packages, want := everyPackage(t), []string{"scripts/dapl/devicetest", "scripts/dapl/devicetest/failures", "scripts/dapl/devicetest/shapes", "scripts/streamtest", "scripts/trials/conformance", "udat", "udat/stream"}
	var tested []string
	for _, r := range (options{uml: true}).plan(packages) {
		if r.only == iwarpOnly {
			for _, p := range r.packages {
				tested = append(tested, strings.TrimPrefix(p, module))
			}
		}
	}
	slices.Sort(tested)
	if !slices.Equal(tested, want) {
		t.Errorf("tested over soft-iWARP: %v, want %v", tested, want)
	}
}

// A plain run has the shape of one other adapter, a long one has all but those that are too small and those of which the
// machines have no device. A machine's own device keeps its own.
func TestPlanShapes(t *testing.T) {
	packages := everyPackage(t)
	shapes := func(o options) (list []string) {
		for _, r := range o.plan(packages) {
			if len(r.exec) == 2 && r.exec[0] == "scripts/with-shape" {
				list = append(list, r.exec[1])
				if all := o.long > 0; len(r.packages) != map[bool]int{false: 5, true: 7}[all] {
					t.Errorf("under the shape %s run %d packages", r.exec[1], len(r.packages))
				}
			}
		}
		return list
	}
	for _, uml := range []bool{false, true} {
		if plain := shapes(options{uml: uml}); !slices.Equal(plain, []string{"e810-roce"}) {
			t.Errorf("a plain run has the shapes %v", plain)
		}
		long := shapes(options{uml: uml, long: time.Minute})
		if len(long) < 19 || !slices.Contains(long, "e810-roce") || slices.Contains(long, "least") || slices.Contains(long, "x722-iwarp") != uml {
			t.Errorf("with uml = %v, a long run has the shapes %v", uml, long)
		}
	}
	if iwarp := shapes(options{uml: true, iwarp: true, long: time.Minute}); !slices.Equal(iwarp, []string{"cxgb4-iwarp", "erdma-iwarp", "x722-iwarp"}) {
		t.Errorf("a long run over iWARP has the shapes %v", iwarp)
	}
	for _, o := range []options{{uml: true, quick: true}, {uml: true, ownDevice: true}, {uml: true, inMachine: true}, {uml: true, iwarp: true}} {
		if some := shapes(o); some != nil {
			t.Errorf("with %+v there are the shapes %v", o, some)
		}
	}
}

// Machines with IPv6 alone have a sample of the tests, and all of them in a long run.
func TestPlanIPv6(t *testing.T) {
	packages := everyPackage(t)
	for _, long := range []time.Duration{0, time.Minute} {
		var tested []string
		for _, r := range (options{uml: true, long: long}).plan(packages) {
			if slices.Contains(r.exec, "--ipv6") && (r.only != "") == (long == 0) {
				for _, p := range r.packages {
					tested = append(tested, strings.TrimPrefix(p, module))
				}
			}
		}
		slices.Sort(tested)
		if want := []string{"examples/interop/dapltest", "examples/interop/dtest", "scripts/dapl/devicetest", "scripts/trials/reliability", "udat", "udat/stream"}; !slices.Equal(tested, want) {
			t.Errorf("in a run of %v with IPv6: %v, want %v", long, tested, want)
		}
	}
}

// A quick run leaves out long tests, but no package that is named.
func TestPlanQuick(t *testing.T) {
	packages := everyPackage(t)
	o := options{quick: true}
	for _, o.named = range []bool{false, true} {
		var tested []string
		for _, r := range o.plan(packages) {
			if len(r.build) > 0 || r.device && !r.manyMachines && !strings.HasPrefix(r.skip, quickSkip) {
				t.Errorf("a quick run has %+v", r)
			}
			if r.device && !r.manyMachines && strings.HasSuffix(r.skip, socketCMParts) == o.named {
				t.Errorf("with packages named = %v, a quick run leaves out %q", o.named, r.skip)
			}
			for _, p := range r.packages {
				tested = append(tested, strings.TrimPrefix(p, module))
			}
		}
		if slices.Contains(tested, "scripts/vm/testbed") != o.named || !slices.Contains(tested, "udat") {
			t.Errorf("with packages named = %v, a quick run tests %v", o.named, tested)
		}
	}
}

// Patterns of folders match packages of all modules.
func TestListPackages(t *testing.T) {
	all := everyPackage(t)
	for pattern, wanted := range map[string][]string{
		"./udat":                    {"udat"},
		"./scripts/...":             {"scripts/trials/scripts", "scripts/vm/testbed", "scripts/porting/portcheck"},
		"scripts/vm/guest/":         {"scripts/vm/guest"},
		module + "examples/mpi/...": {"examples/mpi/mpi"},
	} {
		found, err := listPackages(context.Background(), []string{pattern})
		if err != nil || len(found) >= len(all) {
			t.Fatalf("%s is %d packages: %v", pattern, len(found), err)
		}
		for _, want := range wanted {
			if !slices.Contains(found, module+want) {
				t.Errorf("%s is not among the packages of %s: %v", want, pattern, found)
			}
		}
	}
}

// Each test is in one shard, and each package of a run in all of its shards.
func TestShards(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, name := range []string{"TestSend", "TestEPFree", "FuzzCalls", "TestIPv6", "Test"} {
			in := 0
			for _, pattern := range shards(n) {
				if regexp.MustCompile(pattern).MatchString(name) {
					in++
				}
			}
			if in != 1 || len(shards(n)) != n {
				t.Errorf("%s is in %d of %d shards", name, in, n)
			}
		}
	}
	jobs := options{}.jobs([]run{
		{title: "a", packages: []string{module + "udat", module + "udat/mem"}, inShards: true, skip: "X|/y"},
		{title: "b", packages: []string{module + "udat"}, only: "^TestZ$", exec: []string{"scripts/testbed", "--ipv6"}, flags: []string{"-z"}},
	})
	var got []string
	for _, j := range jobs {
		got = append(got, j.title+j.shard+" "+strings.Join(j.command[9:], " "))
	}
	here := inCheckout("")
	if diff := cmp.Diff([]string{
		"a -skip=X|/y " + module + "udat/mem",
		"b -run=^TestZ$ -exec='" + here + "/scripts/testbed' '--ipv6' " + module + "udat -args -z",
		"a1/4 -run=[abdo]..$ -skip=X|/y " + module + "udat",
		"a2/4 -run=[ein]..$ -skip=X|/y " + module + "udat",
		"a3/4 -run=[lrt]..$ -skip=X|/y " + module + "udat",
		"a4/4 -run=[^abdoeinlrt]..$ -skip=X|/y " + module + "udat",
	}, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}
