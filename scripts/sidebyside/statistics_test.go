package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   summary
	}{
		{[]float64{7}, summary{7, 7, 7}},
		{[]float64{3, 1}, summary{2, 1.5, 2.5}},
		{[]float64{5, 1, 4, 2, 3}, summary{3, 2, 4}},
		{[]float64{1, 2, 3, 1000}, summary{2.5, 1.75, 252.25}},
	} {
		before := append([]float64{}, c.values...)
		if got := summarize(c.values); got != c.want {
			t.Errorf("of %v got %+v, want %+v", c.values, got, c.want)
		}
		if !cmp.Equal(before, c.values) {
			t.Errorf("the values became %v", c.values)
		}
	}
}

// A round in which the whole machine was disturbed counts no more than another.
func TestRatios(t *testing.T) {
	got := ratios([]float64{11, 110, 1.1}, []float64{10, 100, 1})
	if r := summarize(got); r.median < 1.0999 || r.median > 1.1001 || r.high-r.low > 1e-9 {
		t.Errorf("got %+v", r)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		r    result
		want string
	}{
		{result{C: []float64{10}, Go: []float64{20}}, ""},
		{result{C: []float64{100}, Go: []float64{104}, Goal: 1.05, LowerIsBetter: true}, "met"},
		{result{C: []float64{100}, Go: []float64{115}, Goal: 1.05, LowerIsBetter: true}, "missed by 10.0 %"},
		{result{C: []float64{10000}, Go: []float64{10502}, Goal: 1.05, LowerIsBetter: true}, "missed by less than 0.1 %"},
		{result{C: []float64{100}, Go: []float64{96}, Goal: 0.95}, "met"},
		{result{C: []float64{100}, Go: []float64{90}, Goal: 0.95}, "missed by 5.0 %"},
	} {
		if got := verdict(c.r); got != c.want {
			t.Errorf("of %+v got %q, want %q", c.r, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 98765.4: "98765"} {
		if got := number(v); got != want {
			t.Errorf("of %v got %s, want %s", v, got, want)
		}
	}
}
