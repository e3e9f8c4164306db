package udattest_test

import (
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

func TestInTestbed(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": true} {
		t.Setenv("UDAT_TESTBED", value)
		if got := udattest.InTestbed(t); got != want {
			t.Errorf("with the variable %q it returned %v", value, got)
		}
	}
}
