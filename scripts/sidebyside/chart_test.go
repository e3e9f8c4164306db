package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wellFormed checks that a text is XML, and returns how many elements of each name it has.
func wellFormed(t *testing.T, text string) map[string]int {
	t.Helper()
	elements := map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
			for _, a := range start.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%s", start.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        []float64
	}{
		{12, 140, []float64{10, 20, 50, 100, 200}},
		{20, 20, []float64{20, 50}},
		{3, 3000, []float64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}},
	} {
		if got := ticksOf(c.least, c.most); !cmp.Equal(got, c.want) {
			t.Errorf("from %v to %v: got %v, want %v", c.least, c.most, got, c.want)
		}
	}
}

// plotted is a report with data for each plot.
func plotted() report {
	r := withProcessor(sample, "Chip 1")
	for _, adapter := range []string{"ofa-v2-cma-rxe0", "ofa-v2-scm-rxe0"} {
		for i, bytes := range []int{64, 8, 4096} {
			r.Results = append(r.Results, result{
				Adapter: adapter, Measurement: "sizes", Unit: "µs", Bytes: bytes, C: []float64{float64(10 + i)}, Go: []float64{float64(11 + i)},
			})
		}
	}
	r.Scale = &scale{Rounds: 1}
	for _, count := range []int{1, 16} {
		r.Scale.Crowds = append(r.Scale.Crowds, crowdResult{
			Adapter: "ofa-v2-cma-rxe0", Count: count,
			C: []figures{{"memory": 2000, "create": 5000, "message": 900}}, Go: []figures{{"memory": 0, "create": 6000, "message": 950}},
		}, crowdResult{Adapter: "ofa-v2-cma-rxe0", Count: count, Own: true, Missing: "none"})
	}
	return r
}

func TestPlots(t *testing.T) {
	folder := t.TempDir()
	text := pageOf(t, plotted(), filepath.Join(folder, "page.md"), makePage)
	for plot, want := range map[string]map[string]int{
		latencyPlot:   {"polyline": 4, "circle": 12},
		endpointsPlot: {"polyline": 6, "circle": 10},
	} {
		if !strings.Contains(text, "("+plot+")") {
			t.Errorf("the page does not show %s", plot)
		}
		drawn, err := os.ReadFile(filepath.Join(folder, plot))
		if err != nil {
			t.Error(err)
			continue
		}
		elements := wellFormed(t, string(drawn))
		for name, n := range want {
			if elements[name] != n {
				t.Errorf("%s has %d elements %s, expected %d:\n%s", plot, elements[name], name, n, drawn)
			}
		}
	}
	if strings.Contains(string(text), "| sizes |") {
		t.Error("the tables have a result for the plot")
	}
}

// Results of a second machine are sorted in.
func TestSortedResults(t *testing.T) {
	list := measurements(1)
	var r report
	for _, place := range []int{0, 5, 2, 11} {
		for _, adapter := range []string{"b", "a"} {
			r.Results = append(r.Results, result{Adapter: adapter, Measurement: list[place].name})
		}
	}
	r.sort()
	var got []string
	for _, one := range r.Results {
		got = append(got, one.Adapter+" "+one.Measurement)
	}
	var want []string
	for _, adapter := range []string{"a", "b"} {
		for _, place := range []int{0, 2, 5, 11} {
			want = append(want, adapter+" "+list[place].name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A legend that is wider than the chart has several rows, and the chart begins below them.
func TestLegendInRows(t *testing.T) {
	d := newDrawing(chartWidth, chartHeight)
	curves := []curve{{name: "short"}, {name: strings.Repeat("long", 12)}, {name: "short"}, {name: strings.Repeat("long", 30)}}
	if further := d.legend(chartLeft, chartWidth-chartRight, 32, curves); further != 28 {
		t.Errorf("the rows take %v more than one", further)
	}
	if further := d.legend(chartLeft, chartWidth-chartRight, 32, curves[:1]); further != 0 {
		t.Errorf("one row takes %v more than one", further)
	}
}
