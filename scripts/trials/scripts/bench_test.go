//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each measurement returns numbers in C and in Go on each adapter, and tables of them. The test does not judge the numbers.
func TestBench(t *testing.T) {
	needTime(t)
	needMachine(t)
	for what, measurements := range map[string][]string{
		"--smoke": {
			"RoundTrip/how=poll/bytes=8/", "RoundTrip/how=poll/bytes=32768/", "RoundTrip/how=wait/bytes=8/", "RoundTrip/how=sleep/bytes=8/",
			"Mailbox/how=poll/bytes=4096/", "Send/how=poll/bytes=8/", "Send/how=wait/bytes=8/", "Write/how=poll/bytes=65536/",
			"Read/how=poll/bytes=1048576/", "Connect/how=wait/bytes=0/", "GetStatus/how=poll/bytes=0/",
			"Paced/beside=nothing/how=wait/bytes=8/", "Paced/beside=churn/how=wait/bytes=8/",
		},
		"--scale": {"Endpoints/evds=shared/count=4/", "Endpoints/evds=own/count=4/", "Wake/waiters=100/evds=100/"},
	} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "results")
			bench := exec.Command("./bench", "--smoke", what, "--out", file)
			// On one processor, two programs that poll have to take turns.
			bench.Env = append(os.Environ(), "TESTBED_CPUS=2")
			output, err := bench.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			results, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(`(?m)^/ia: (\S+)$`).FindAllStringSubmatch(string(output), -1)
			if len(found) == 0 {
				t.Fatalf("there is no table in\n%s", output)
			}
			for _, adapter := range found {
				for _, measurement := range measurements {
					for _, in := range []string{"C", "Go"} {
						result := regexp.MustCompile(`(?m)^Benchmark` + regexp.QuoteMeta(measurement+"ia="+adapter[1]+"/in="+in) + `(-\d+)? +\d+ [1-9]`)
						if !result.Match(results) {
							t.Errorf("%s is missing in %s on %s:\n%s", measurement, in, adapter[1], results)
						}
					}
					if !strings.Contains(string(output), "\n"+strings.TrimSuffix(measurement, "/")+" ") {
						t.Errorf("the tables lack %s:\n%s", measurement, output)
					}
				}
			}
		})
	}
}
