package smallset

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	var s Set[int]
	members := func() []int { return slices.Sorted(s.All()) }
	for _, step := range []struct {
		do   func(int)
		n    int
		want []int
	}{
		{s.Remove, 1, nil}, {s.Add, 1, []int{1}}, {s.Add, 1, []int{1}}, {s.Add, 2, []int{1, 2}}, {s.Add, 3, []int{1, 2, 3}},
		{s.Add, 2, []int{1, 2, 3}}, {s.Remove, 1, []int{2, 3}}, {s.Add, 3, []int{2, 3}}, {s.Add, 4, []int{2, 3, 4}},
		{s.Remove, 3, []int{2, 4}}, {s.Remove, 4, []int{2}}, {s.Remove, 2, nil}, {s.Remove, 2, nil},
	} {
		step.do(step.n)
		if got := members(); !slices.Equal(got, step.want) || s.Has(step.n) != slices.Contains(step.want, step.n) || s.Has(0) {
			t.Fatalf("after %d there are %v, want %v", step.n, got, step.want)
		}
	}
	for range s.All() {
		t.Error("an empty set has a member")
	}
	s.Add(5)
	s.Add(6)
	for range s.All() {
		break // must end the iteration
	}
}
