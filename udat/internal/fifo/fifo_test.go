package fifo

import (
	"slices"
	"testing"
)

func TestQueue(t *testing.T) {
	var q Queue[int]
	links := make([]Link[int], 4)
	for i := range links {
		links[i].Member = i
	}
	members := func() (list []int) {
		for l := q.First(); l != nil; l = l.Next() {
			list = append(list, l.Member)
		}
		return list
	}
	check := func(want ...int) {
		t.Helper()
		if got := members(); !slices.Equal(got, want) || q.Len() != len(want) {
			t.Fatalf("the members are %v, %d of them, want %v", got, q.Len(), want)
		}
		for i := range links {
			if links[i].Queued() != slices.Contains(want, i) {
				t.Fatalf("member %d is queued: %t", i, links[i].Queued())
			}
		}
	}
	if q.Pop() != nil {
		t.Error("Pop of an empty queue returns a member")
	}
	for i := range links {
		q.Push(&links[i])
	}
	check(0, 1, 2, 3)
	for _, i := range []int{1, 3} { // in the middle, and at the end
		if !q.Remove(&links[i]) || q.Remove(&links[i]) {
			t.Errorf("member %d is not removed exactly once", i)
		}
	}
	check(0, 2)
	q.Push(&links[1])
	check(0, 2, 1)
	if l := q.Pop(); l != &links[0] {
		t.Errorf("%v comes first", l)
	}
	check(2, 1)
	q.Remove(&links[2]) // at the beginning
	check(1)
	q.Pop()
	check()
}
