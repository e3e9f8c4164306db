//go:build linux

package failures

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat/udattest"
)

var (
	sampleFlag = flag.Int("failures.sample", 3, "how many calls of each kind fail, with each provider, unless GOUDAT_TEST_LONG is set")
	seedFlag   = flag.Uint64("failures.seed", 1, "decides which calls those are")
)

// trial is how many releases come first: of the objects by which an open finds out how much the device sends inline, and
// whether it has memory windows. No other thread knows these, so that nothing can be in the way, and the library does not look.
const trial = 5

func TestMain(m *testing.M) {
	between.Child(taskVariable, runChild)
	flag.Parse()
	// Children mostly wait.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	udattest.Main(m)
}

// Whatever call fails of those that the native library makes, the program learns it, nothing is lost and nothing is left
// over.
func TestSweep(t *testing.T) {
	names := udattest.Names(t)
	library := between.Library(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { sweep(t, library, name) })
	}
}

func sweep(t *testing.T, library, name string) {
	usual := runTask(t, library, task{Adapter: name})
	if len(usual.Noticed)+len(usual.Faults) > 0 {
		t.Fatalf("without a failure: %q", append(usual.Noticed, usual.Faults...))
	}
	t.Logf("without a failure: %v calls of %v, and then %v; seed %d", usual.Calls, kindNames, usual.Holdings, *seedFlag)
	var mu sync.Mutex
	outcomes := map[string]int{}
	t.Cleanup(func() { t.Log(outcomes) })
	random := rand.New(rand.NewPCG(*seedFlag, 0))
	for k := range kinds {
		for _, nth := range chosen(usual.Calls[k], *sampleFlag, random) {
			if k == releases && nth <= trial {
				continue
			}
			t.Run(fmt.Sprintf("%v/%d", k, nth), func(t *testing.T) {
				t.Parallel()
				r := runTask(t, library, task{Adapter: name, Kind: k, Nth: nth, Usual: usual.Holdings})
				mu.Lock()
				outcomes[fmt.Sprintf("%v: %s", k, r.outcome())]++
				mu.Unlock()
				t.Logf("%q; %v; noticed: %q", r.Failed, r.Took.Round(time.Millisecond), r.Noticed)
				if len(r.Faults) == 0 {
					return
				}
				t.Errorf("%s: call %d of %v, %s, fails:\n\t%s\nAgain: GOUDAT_TEST_LONG=1 go test -count=1 -v -exec \"$PWD/scripts/with-device\" ./scripts/dapl/devicetest/failures -run '^TestSweep$/^%s$/^%v$/^%d$'",
					name, nth, k, r.Failed, strings.Join(r.Faults, "\n\t"), name, k, nth)
			})
		}
	}
}

// chosen returns which of a number of calls are to fail: all, or a sample that is spread evenly.
func chosen(calls, sample int, random *rand.Rand) (nths []int) {
	n := min(sample, calls)
	if isLong() {
		n = calls
	}
	for i := range n {
		from, to := calls*i/n, calls*(i+1)/n
		nths = append(nths, from+random.IntN(to-from)+1)
	}
	return nths
}

// runTask runs a child. A child that does not end as it should is a fault in the result.
func runTask(t *testing.T, library string, do task) (r result) {
	t.Helper()
	shared := filepath.Join(t.TempDir(), "control")
	text, err := json.Marshal(do)
	if err := errors.Join(err, os.WriteFile(shared, make([]byte, unsafe.Sizeof(control{})), 0o600)); err != nil {
		t.Fatal(err)
	}
	err = between.Run(library, &r, taskVariable+"="+string(text), controlVariable+"="+shared)
	if err == nil {
		return r
	}
	if c, err := mapControl(shared); err == nil {
		r.Calls, r.Failed = c.stop()
	}
	r.Faults = append(r.Faults, err.Error())
	return r
}

func (r result) outcome() string {
	switch {
	case len(r.Faults) > 0:
		return "a fault"
	case r.Failed == "":
		return "did not come" // there were fewer calls than in the run without a failure
	case len(r.Noticed) == 0:
		return "unnoticed"
	}
	return "noticed"
}
