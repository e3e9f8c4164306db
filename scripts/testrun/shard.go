package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shard is a part of a package's tests, which run in a machine of their own.
type shard struct {
	run, skip string // patterns of go test, empty for none
	number    int    // from 1
	of        int
}

func (s shard) String() string {
	if s.of == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", s.number, s.of)
}

// deal distributes the tests over several shards, by the third letter from the end of their names, which is spread more
// evenly than others. Lists of names would be patterns of some thousand characters, and package testing compiles all
// patterns again for each subtest: that took a fifth of an emulated machine's processor time with the race detector. The
// last shard runs whatever the others do not, so that no test is lost. skip is a pattern of tests that all shards leave
// out.
func deal(tests []string, shards int, skip string) []shard {
	weights := map[rune]int{}
	for _, test := range tests {
		weights[letter(test)] += weight(test)
	}
	heaviest := slices.SortedFunc(maps.Keys(weights), func(a, b rune) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	shards = max(shards, 1)
	hands, loads := make([]string, shards), make([]int, shards)
	for _, l := range heaviest {
		i := slices.Index(loads, slices.Min(loads))
		hands[i] += string(l)
		loads[i] += weights[l]
	}
	var dealt []shard
	for i, letters := range hands {
		s := shard{number: i + 1, of: shards, skip: skip}
		switch others := strings.Join(hands[:shards-1], ""); {
		case i < shards-1 && letters == "":
			s.run = "^none$"
		case i < shards-1:
			s.run = "[" + letters + "]..$"
		case others != "":
			s.run = "[^" + others + "]..$"
		}
		dealt = append(dealt, s)
	}
	return dealt
}

// letter returns the third letter from the end of a test's name, which begins with Test, Fuzz or Example.
func letter(test string) rune {
	name := []rune(test)
	return name[len(name)-3]
}

// weight is about how long a test takes, compared with most others.
func weight(test string) int {
	if slices.Contains(longTests, test) {
		return 20
	}
	return 1
}
