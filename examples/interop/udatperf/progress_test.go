package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var got strings.Builder
	now := time.Unix(0, 0)
	p := &progress{w: &got, every: 5 * time.Second, now: func() time.Time { return now }, last: now}
	for i, after := range []time.Duration{4, 1, 0, 4, 1} { // seconds
		now = now.Add(after * time.Second)
		if i == 0 {
			p.begin("reading", 100)
		} else {
			p.at(i * 10)
		}
	}
	const want = "udatperf: reading, 10 of 100 operations\nudatperf: reading, 40 of 100 operations\n"
	if got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	var none *progress
	none.begin("nothing", 1)
	none.at(1)
}
