package main

import (
	"regexp"
	"slices"
	"testing"
)

// Each test is in one shard, even one that tests does not find in a file.
func TestDeal(t *testing.T) {
	names := []string{"TestA", "TestB", "TestC", "TestAB", "TestD"}
	for shards := range 8 {
		dealt := deal(names, shards, "^TestD$")
		if want := max(shards, 1); len(dealt) != want {
			t.Errorf("%d shards are %d", shards, len(dealt))
		}
		for _, name := range append(names, "TestElsewhere") {
			n := 0
			for _, s := range dealt {
				if regexp.MustCompile(s.run).MatchString(name) && (s.skip == "" || !regexp.MustCompile(s.skip).MatchString(name)) {
					n++
				}
			}
			want := 1
			if name == "TestD" {
				want = 0
			}
			if n != want {
				t.Errorf("with %d shards %s runs in %d of them", shards, name, n)
			}
		}
	}
}

// Package testing compiles all patterns for each subtest, which is slow with long ones.
func TestShardPatternsAreShort(t *testing.T) {
	for _, p := range everyPackage(t) {
		shards, err := run{shards: inShards}.deal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shards {
			if len(s.run) > 40 || s.skip != "" {
				t.Errorf("the pattern of %s%v is %q, and that of tests to skip is %q", short(p.ImportPath), s, s.run, s.skip)
			}
		}
	}
}

// Shards have about as many tests each, and the tests that take long are in different ones.
func TestShardsAreEven(t *testing.T) {
	for _, p := range everyPackage(t) {
		tests, err := p.tests()
		if err != nil {
			t.Fatal(err)
		}
		shards, err := run{shards: inShards}.deal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shards {
			var in, long []string
			for _, test := range tests {
				if regexp.MustCompile(s.run).MatchString(test) {
					in = append(in, test)
					if slices.Contains(longTests, test) {
						long = append(long, test)
					}
				}
			}
			if len(in) > 2*len(tests)/len(shards) || len(long) > 1 {
				t.Errorf("%s%v has %d of %d tests, among them %v", short(p.ImportPath), s, len(in), len(tests), long)
			}
		}
	}
}
