package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Connections are measured only with the patched libraries. Without the patches they end the server.
func TestChoose(t *testing.T) {
	all := measurements(1)
	names := func(list []measurement) (names []string) {
		for _, m := range list {
			names = append(names, m.name)
		}
		return names
	}
	any := func(measurement) bool { return true }
	without := slices.DeleteFunc(names(all), func(name string) bool {
		return strings.Contains(name, "disconnect") || strings.Contains(name, "beside")
	})
	for stack, want := range map[string][]string{
		"rdma-core 56.1 and dapl 2.1.10.1, patched": names(all),
		"the packages libdapl2 2.1.10.1.f1e05b7a-3": without,
	} {
		if diff := cmp.Diff(want, names(choose(all, any, true, machine{Stack: stack}))); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", stack, diff)
		}
	}
	for _, m := range choose(all, any, false, machine{}) {
		if m.goal != 0 {
			t.Errorf("%s has a goal", m.name)
		}
	}
}
