package main

import (
	"regexp"
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
