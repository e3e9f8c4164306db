package udat

import (
	"slices"
	"testing"
)

func TestSmallSet(t *testing.T) {
	var s smallSet[int]
	members := func() []int { return slices.Sorted(s.all()) }
	for _, step := range []struct {
		do   func(int)
		n    int
		want []int
	}{
		{s.remove, 1, nil}, {s.add, 1, []int{1}}, {s.add, 1, []int{1}}, {s.add, 2, []int{1, 2}}, {s.add, 3, []int{1, 2, 3}},
		{s.add, 2, []int{1, 2, 3}}, {s.remove, 1, []int{2, 3}}, {s.add, 3, []int{2, 3}}, {s.add, 4, []int{2, 3, 4}},
		{s.remove, 3, []int{2, 4}}, {s.remove, 4, []int{2}}, {s.remove, 2, nil}, {s.remove, 2, nil},
	} {
		step.do(step.n)
		if got := members(); !slices.Equal(got, step.want) || s.has(step.n) != slices.Contains(step.want, step.n) || s.has(0) {
			t.Fatalf("after %d there are %v, want %v", step.n, got, step.want)
		}
	}
	for range s.all() {
		t.Error("an empty set has a member")
	}
	s.add(5)
	s.add(6)
	for range s.all() {
		break // must end the iteration
	}
}
