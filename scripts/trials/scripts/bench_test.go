//go:build linux && amd64

package scripts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each measurement returns a number in C and in Go on each adapter, also with several endpoints. The test does not
// judge the numbers.
func TestBench(t *testing.T) {
	needTime(t)
	needMachine(t)
	file := filepath.Join(t.TempDir(), "results.json")
	bench := exec.Command("./bench", "--smoke", "--json", file)
	// On one processor, two programs that poll have to take turns.
	bench.Env = append(os.Environ(), "TESTBED_CPUS=2")
	output, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Results []struct {
			Adapter, Measurement string
			Goal, Limit          float64
			Bytes                int
			C, Go                []float64
		}
		Scale struct{ Crowds, Waiters []crowd }
	}
	if err := json.Unmarshal(text, &report); err != nil || len(report.Results) == 0 {
		t.Fatalf("there are no results (%v) in\n%s", err, text)
	}
	const measurements = 67 + 7 // seven of them are for the plot
	adapters := 2
	if strings.Contains(report.Results[0].Adapter, "siw") {
		adapters = 1 // the socket CM's provider cannot use the device
	}
	if len(report.Results) != measurements*adapters {
		t.Errorf("there are %d results, expected %d measurements on each of %d adapters", len(report.Results), measurements, adapters)
	}
	for _, r := range report.Results {
		least := 1e-9
		if strings.HasSuffix(r.Measurement, "processor time") || strings.HasSuffix(r.Measurement, "the system's") {
			least = 0 // a few operations take less than a clock tick
		}
		if len(r.C) != 1 || len(r.Go) != 1 || r.C[0] < least || r.Go[0] < least {
			t.Errorf("%s on %s returned %v in C and %v in Go", r.Measurement, r.Adapter, r.C, r.Go)
		}
		if r.Goal != 0 || r.Limit != 0 {
			t.Errorf("%s has a goal, which a few operations cannot miss or meet", r.Measurement)
		}
		if r.Bytes == 0 && !strings.Contains(string(output), r.Measurement) {
			t.Errorf("the table lacks %s", r.Measurement)
		}
	}
	checkScale(t, report.Scale.Crowds, 2*adapters, "create", "connect", "message", "free", "threads")
	checkScale(t, report.Scale.Waiters, 2*adapters, "wake", "threads")
}

// crowd is a number of endpoints, or of waiters, with the results of each round.
type crowd struct {
	Adapter, Missing string
	Own              bool
	Count, EVDs      int
	C, Go            []map[string]float64
}

// checkScale checks that all crowds have their numbers.
func checkScale(t *testing.T, list []crowd, length int, names ...string) {
	t.Helper()
	if len(list) != length {
		t.Errorf("there are %d results of %v, expected %d", len(list), names, length)
	}
	for _, c := range list {
		samples := append(c.Go, c.C...)
		if c.Missing != "" || len(c.Go) != 1 || len(samples) == 1 && c.EVDs != 1 {
			t.Errorf("%+v is not complete", c)
		}
		for _, sample := range samples {
			for _, name := range names {
				if sample[name] <= 0 {
					t.Errorf("%+v has no %s", c, name)
				}
			}
		}
	}
}
