package udattest

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
)

// Main runs the tests of a package and ends the process, as TestMain's last
// call. When the tests have left objects alive, it prints each of them with the
// line that made it, and the run fails. From Go 1.27 on it also fails, with
// their stacks, when goroutines are left that nothing can wake. If there was no
// device, it says how to run what was skipped.
func Main(m *testing.M) {
	code := m.Run()
	if living := udat.Living(); len(living) > 0 {
		fmt.Fprintf(os.Stderr, "udattest: the tests have left %d objects alive:\n", len(living))
		for _, o := range living {
			fmt.Fprintf(os.Stderr, "\t%v\n", o)
		}
		code = max(code, 1)
	}
	if profile := pprof.Lookup("goroutineleak"); profile != nil {
		var stacks strings.Builder
		if err := profile.WriteTo(&stacks, 1); err != nil || profile.Count() > 0 {
			fmt.Fprintf(os.Stderr, "udattest: the tests have left goroutines that nothing can wake: %v\n%s", err, &stacks)
			code = max(code, 1)
		}
	}
	if n := withoutDevice.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "udattest: skipped tests: %d, since %s\n", n, howToRun)
	}
	os.Exit(code)
}

// CheckLeaks fails the test if objects that were made after this call are alive at its end. Call it
// first in a test, so that the test's cleanups run before the check. A test that runs in parallel
// with others must not use it.
func CheckLeaks(t testing.TB) {
	t.Helper()
	var last uint64
	for _, o := range udat.Living() {
		last = o.Serial
	}
	t.Cleanup(func() {
		for _, o := range udat.Living() {
			if o.Serial > last {
				t.Errorf("left alive: %v", o)
			}
		}
	})
}
