package main

import (
	"fmt"
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

// deal distributes the tests over count shards. The last shard runs whatever the others do not name, so that no test is
// lost. skip is a pattern of tests that all shards leave out.
func deal(tests []string, shards int, skip string) []shard {
	hands := make([][]string, max(shards, 1))
	for i, test := range tests {
		hands[i%len(hands)] = append(hands[i%len(hands)], test)
	}
	var dealt []shard
	var others []string
	for i, hand := range hands {
		s := shard{number: i + 1, of: len(hands), skip: skip}
		if i < len(hands)-1 {
			if len(hand) == 0 {
				hand = []string{"none"}
			}
			s.run = pattern(hand)
			others = append(others, hand...)
		} else if len(others) > 0 {
			s.skip = strings.TrimPrefix(skip+"|"+pattern(others), "|")
		}
		dealt = append(dealt, s)
	}
	return dealt
}

// pattern returns a pattern for exactly these tests.
func pattern(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }
