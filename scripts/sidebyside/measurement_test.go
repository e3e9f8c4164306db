package main

import (
	"slices"
	"testing"
)

// Connections are measured only with the patched libraries. Without the patches they end the server.
func TestChoose(t *testing.T) {
	const churn = "connect and disconnect"
	any := func(measurement) bool { return true }
	for stack, want := range map[string]bool{
		"rdma-core 56.1 and dapl 2.1.10.1, patched": true,
		"the packages libdapl2 2.1.10.1.f1e05b7a-3": false,
	} {
		all := measurements(1)
		list := choose(all, any, true, machine{Stack: stack})
		has := slices.ContainsFunc(list, func(m measurement) bool { return m.name == churn })
		if others := len(all) - 1; has != want || !has && len(list) != others {
			t.Errorf("with %s, %d of %d measurements; %s is among them: %v", stack, len(list), len(all), churn, has)
		}
	}
	for _, m := range choose(measurements(1), any, false, machine{}) {
		if m.goal != 0 {
			t.Errorf("%s has a goal", m.name)
		}
	}
}
