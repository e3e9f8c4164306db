package udat

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/internal/life"
)

// dropFake has an object that is no adapter reported as one when the garbage collector finds that it was dropped,
// which it is.
func dropFake(t *testing.T) {
	var dead life.Object
	dead.Ledger = life.OpenLedger("")
	dead.Born("adapter", func() error { return nil })
	t.Cleanup(func() { _ = dead.Seal(func() error { return nil }) })
	runtime.AddCleanup(new([64]byte), dropped, dead.Ledger)
}

// A function that does not return, or ends its goroutine as t.Fatal does, keeps no other leak from being reported.
func TestLeakReportThatNeverReturns(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	defer OnLeak(nil)
	for name, end := range map[string]func(){"blocks": func() { <-block }, "Goexit": runtime.Goexit} {
		reported := make(chan struct{}, 3)
		OnLeak(func([]Origin) {
			reported <- struct{}{}
			end()
		})
		for range cap(reported) {
			dropFake(t)
			deadline := time.After(time.Minute)
			for done := false; !done; {
				runtime.GC()
				select {
				case <-reported:
					done = true
				case <-time.After(10 * time.Millisecond): // cleanups run some time after the collection
				case <-deadline:
					t.Fatalf("%s: a leak is not reported", name)
				}
			}
		}
	}
}

// Nothing is reported unless the environment, or the program, asks for it.
func TestTakeLeaksVariable(t *testing.T) {
	defer OnLeak(nil)
	for value, reports := range map[string]bool{"print": true, "": false} {
		if err := takeLeaksVariable(value); err != nil || (*leakReport.Load() != nil) != reports {
			t.Errorf("%s=%s: %v, or a leak is reported: %v", leaksVariable, value, err, !reports)
		}
	}
}

func TestLeakTextIsShort(t *testing.T) {
	text := leakText(make([]Origin, 23))
	if lines := strings.Split(text, "\n"); len(lines) != 23 || lines[21] != "\t3 more" || lines[22] != "" {
		t.Errorf("a leak of 23 objects is printed as %q", text)
	}
}
