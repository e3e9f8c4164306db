package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
)

// What an endpoint keeps when its native endpoint is replaced stays in use all the time.
func TestParentsStayInUse(t *testing.T) {
	if !udat.StaysInUse(100_000) {
		t.Error("nothing uses the object for a moment")
	}
}
