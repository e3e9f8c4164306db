package main

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	for i, name := range operationNames {
		o := operation(i)
		var back operation
		if err := back.UnmarshalText([]byte(name)); o.String() != name || err != nil || back != o {
			t.Errorf("%s: %v, %v, %v", name, o, back, err)
		}
	}
	for i, name := range measureNames {
		m := measure(i)
		var back measure
		if err := back.UnmarshalText([]byte(name)); m.String() != name || err != nil || back != m {
			t.Errorf("%s: %v, %v, %v", name, m, back, err)
		}
	}
	if got := operation(99).String() + measure(-1).String(); got != "operation(99)measure(-1)" {
		t.Errorf("got %q", got)
	}
}

func TestSteps(t *testing.T) {
	s := settings{operations: []operation{opFetchAdd, opSend}, measures: []measure{measureBandwidth, measureLatency}, sizes: []int{1, 64}, warmup: 2, count: 3}
	want := []step{
		{opFetchAdd, measureBandwidth, 8, 2, 3}, {opFetchAdd, measureLatency, 8, 2, 3},
		{opSend, measureBandwidth, 1, 2, 3}, {opSend, measureBandwidth, 64, 2, 3},
		{opSend, measureLatency, 1, 2, 3}, {opSend, measureLatency, 64, 2, 3},
	}
	if got := s.steps(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestStepCheck(t *testing.T) {
	good := step{opSend, measureLatency, 64, 0, 1}
	if err := good.check(64); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*step){
		"operation": func(s *step) { s.Operation = 5 },
		"measure":   func(s *step) { s.Measure = -1 },
		"empty":     func(s *step) { s.Size = 0 },
		"too large": func(s *step) { s.Size = 65 },
		"atomic":    func(s *step) { s.Operation = opCmpSwap },
		"no count":  func(s *step) { s.Count = 0 },
		"too many":  func(s *step) { s.Count = maxCount + 1 },
		"warm-up":   func(s *step) { s.Warmup = -1 },
	} {
		bad := good
		change(&bad)
		if bad.check(64) == nil {
			t.Errorf("%s: %+v passes", what, bad)
		}
	}
}
