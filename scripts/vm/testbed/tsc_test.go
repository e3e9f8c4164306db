//go:build linux && amd64

package main

import (
	"bufio"
	"syscall"
	"testing"
	"time"
)

func TestTSCFrequency(t *testing.T) {
	const least, most = 100_000, 10_000_000 // kHz
	first, second := tscFrequency(), tscFrequency()
	if first < least || first > most {
		t.Errorf("the frequency is %d kHz", first)
	}
	if difference := max(first, second) - min(first, second); difference > first/100 {
		t.Errorf("the frequency is %d kHz, then %d", first, second)
	}
}

// The machine's clock runs like the host's.
func TestClockOfMachine(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "echo begin; while read up rest </proc/uptime; do echo $up; sleep 1; done")
	lines := bufio.NewScanner(b.startUntil("begin"))
	now := func() (inside time.Duration, outside time.Time) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		inside, err := time.ParseDuration(lines.Text() + "s")
		if err != nil {
			t.Fatal(err)
		}
		return inside, time.Now()
	}
	inside, outside := now()
	// The fault was a factor of four. A busy host may delay a line by seconds, which matters less the longer the test
	// runs.
	for {
		laterInside, laterOutside := now()
		within, real := laterInside-inside, laterOutside.Sub(outside)
		if within < 4*time.Second {
			continue
		}
		if within <= 2*real && real <= 4*within {
			break
		}
		if within > time.Minute {
			t.Errorf("in %v the machine's clock went on by %v", real, within)
			break
		}
	}
	b.signal(syscall.SIGTERM)
	b.wait()
}
