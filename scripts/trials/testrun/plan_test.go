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

// No pattern is of packages that are gone.
func TestPatternsMatch(t *testing.T) {
	packages := everyPackage(t)
	for _, pattern := range []*regexp.Regexp{hostPackages, machinesPackages, testBedPackages, soakPackages, failuresPackages, shapesPackages,
		iwarpPackages, ipv6Packages, racePackages, sequentialPackages, udatPackage, dtestPackage, mpiPackage, streamPackage} {
		if len(of(packages, pattern)) == 0 {
			t.Errorf("no package matches %s", pattern)
		}
	}
	for name := range inShards {
		if !slices.Contains(packages, name) {
			t.Errorf("there is no package %s", name)
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
