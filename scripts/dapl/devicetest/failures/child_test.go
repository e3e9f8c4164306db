//go:build linux

package failures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

// taskVariable has what a child is to do: a task in JSON.
const taskVariable = "UDAT_TEST_FAILURES"

// task is for a child. It runs the scenario twice: first the nth call of a kind fails, then none.
type task struct {
	Adapter string
	Kind    kind
	Nth     int      // 0: none
	Usual   holdings // after two runs without a failure; zero if that is to be found out
}

// result is what a child says.
type result struct {
	Calls    [kinds]int
	Failed   string   // the call; empty if there were not as many
	Noticed  []string // in the first run: what reported the failure
	Faults   []string
	Holdings holdings
	Took     time.Duration
}

// holdings are what the process has.
type holdings struct {
	Descriptors int
	Threads     int // of the native library
	Objects     int // of the device, which the library has made
	Pieces      int // of the library's memory
	Pinned      int // memory, in kilobytes
}

func (h holdings) isMoreThan(usual holdings) bool {
	return h.Descriptors > usual.Descriptors || h.Threads > usual.Threads || h.Objects > usual.Objects || h.Pieces > usual.Pieces || h.Pinned > usual.Pinned
}

func (h holdings) String() string {
	return fmt.Sprintf("%d descriptors, %d threads of the library, %d of its objects of the device, %d pieces of its memory and %d KiB of pinned memory",
		h.Descriptors, h.Threads, h.Objects, h.Pieces, h.Pinned)
}

func measure(c *control) (h holdings, err error) {
	runtime.GC()
	h.Threads, h.Objects, h.Pieces = int(c.threads.Load()), int(c.objects.Load()), int(c.pieces.Load())
	entries, err := os.ReadDir("/proc/self/fd")
	h.Descriptors = len(entries)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		fmt.Sscanf(string(line), "VmPin: %d", &h.Pinned)
	}
	return h, err
}

// runChild does the task, and prints the result.
func runChild(text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	c, err := mapControl(os.Getenv(controlVariable))
	if err != nil {
		return err
	}
	var r result
	start := time.Now()
	c.fail(t.Kind, t.Nth)
	first := newPass()
	first.run(t.Adapter)
	r.Calls, r.Failed = c.stop()
	r.Noticed, r.Faults = first.noticed, first.faults
	second := newPass()
	second.run(t.Adapter)
	for _, what := range append(second.noticed, second.faults...) {
		r.Faults = append(r.Faults, "in the second run, without a failure: "+what)
	}
	// Threads of the library may be about to end.
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r.Holdings, err = measure(c); err != nil {
			return err
		}
		isMore := t.Usual != (holdings{}) && r.Holdings.isMoreThan(t.Usual)
		if isMore && time.Now().Before(deadline) {
			continue
		}
		if isMore {
			r.Faults = append(r.Faults, fmt.Sprintf("in the end the process has %v; without a failure %v", r.Holdings, t.Usual))
		}
		break
	}
	r.Took = time.Since(start)
	return json.NewEncoder(os.Stdout).Encode(r)
}
