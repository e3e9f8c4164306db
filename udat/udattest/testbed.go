package udattest

import (
	"os"
	"testing"
)

// InTestbed reports whether the test runs in goudat's test bed: a throw-away machine that a test
// may change and break. Elsewhere it logs that nothing was tested. The test should then return
// instead of skipping: no set-up on this machine would make it run.
func InTestbed(t testing.TB) bool {
	t.Helper()
	if os.Getenv("UDAT_TESTBED") == "" {
		t.Log("not tested: this changes the machine, which only the test bed allows")
		return false
	}
	return true
}
