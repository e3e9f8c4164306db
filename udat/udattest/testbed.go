package udattest

import (
	"os"
	"testing"
)

// InTestbed reports whether the test runs in goudat's test bed: a machine that
// is thrown away, and that a test may therefore change and break. Elsewhere it
// logs that nothing was tested. The test does not skip then: there is nothing to
// set up that would make it run.
func InTestbed(t testing.TB) bool {
	t.Helper()
	if os.Getenv("UDAT_TESTBED") == "" {
		t.Log("not tested: this changes the machine, which only the test bed is for")
		return false
	}
	return true
}
