package main

import (
	"errors"
	"slices"
	"testing"
)

// fakeDevice completes up to atOnce operations at once, and records what the stream does.
type fakeDevice struct {
	atOnce              int
	outstanding, most   int
	posts, taken, check []int
}

func (d *fakeDevice) post(i int) error {
	d.posts = append(d.posts, i)
	d.outstanding++
	d.most = max(d.most, d.outstanding)
	return nil
}

func (d *fakeDevice) take(most int) (int, error) {
	n := min(most, d.atOnce)
	if n < 1 || n > d.outstanding {
		return 0, errors.New("waiting for a completion that never comes")
	}
	d.outstanding -= n
	d.taken = append(d.taken, n)
	return n, nil
}

func (d *fakeDevice) checked(i int) error {
	d.check = append(d.check, i)
	return nil
}

func TestStreamKeepsTheWindow(t *testing.T) {
	const first, count = 7, 100
	var all []int
	for i := range count {
		all = append(all, first+i)
	}
	for _, window := range []int{1, 3, 64, 100, 1000} {
		for _, atOnce := range []int{1, 16} {
			d := &fakeDevice{atOnce: atOnce}
			got, err := stream(first, count, window, d.post, d.take, d.checked)
			if err != nil {
				t.Fatal(err)
			}
			want := min(window, count)
			if d.most != want || got.window != want || d.outstanding != 0 {
				t.Errorf("window %d: %d were outstanding, %d were reported, and %d are outstanding at the end", window, d.most, got.window, d.outstanding)
			}
			if !slices.Equal(d.posts, all) || !slices.Equal(d.check, all) || len(got.posted) != count || len(got.completed) != count {
				t.Errorf("window %d: %d posted, %d checked, %d and %d times", window, len(d.posts), len(d.check), len(got.posted), len(got.completed))
			}
			for i := range count {
				if got.completed[i] < got.posted[i] || i > 0 && (got.posted[i] < got.posted[i-1] || got.completed[i] < got.completed[i-1]) {
					t.Fatalf("operation %d was posted at %v and completed at %v", i, got.posted[i], got.completed[i])
				}
			}
		}
	}
}

func TestStreamStops(t *testing.T) {
	broken := errors.New("broken")
	d := &fakeDevice{atOnce: 1}
	fine := func(int) error { return nil }
	if _, err := stream(0, 9, 4, func(int) error { return broken }, d.take, fine); err != broken {
		t.Errorf("post: %v", err)
	}
	if _, err := stream(0, 9, 4, fine, func(int) (int, error) { return 0, broken }, fine); err != broken {
		t.Errorf("take: %v", err)
	}
	if _, err := stream(0, 9, 4, d.post, d.take, func(int) error { return broken }); err != broken {
		t.Errorf("check: %v", err)
	}
	if got, err := stream(0, 0, 4, d.post, d.take, fine); err != nil || got.window != 0 {
		t.Errorf("nothing to do: %+v, %v", got, err)
	}
}
