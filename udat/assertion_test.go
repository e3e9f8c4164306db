package udat_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
)

// watch has the endpoints that the test makes from now on checked, and returns what is
// reported of them.
func watch(t *testing.T) (reports func() []*udat.AssertionError) {
	t.Helper()
	var mu sync.Mutex
	var list []*udat.AssertionError
	previous := udat.SetAssertions(func(e *udat.AssertionError) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, e)
	})
	t.Cleanup(func() { udat.SetAssertions(previous) })
	return func() []*udat.AssertionError {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// wantNoReport fails the test when something was reported.
func wantNoReport(t *testing.T, reports func() []*udat.AssertionError) {
	t.Helper()
	for _, e := range reports() {
		t.Error(e)
	}
}
