package main

import (
	"encoding/xml"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type svgPanel struct {
	Class  string     `xml:"class,attr"`
	Points []svgPoint `xml:"circle"`
	Curves []struct {
		Points string `xml:"points,attr"`
	} `xml:"polyline"`
}

type svgPoint struct {
	X     string `xml:"cx,attr"`
	Y     string `xml:"cy,attr"`
	Title string `xml:"title"`
}

func parseSVG(t *testing.T, results []result) []svgPanel {
	t.Helper()
	var text strings.Builder
	if err := drawSVG(&text, results); err != nil {
		t.Fatal(err)
	}
	var picture struct {
		XMLName xml.Name   `xml:"http://www.w3.org/2000/svg svg"`
		Panels  []svgPanel `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(text.String()), &picture); err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	if strings.Contains(text.String(), "NaN") || strings.Contains(text.String(), "Inf") {
		t.Errorf("a position is not a number in\n%s", text.String())
	}
	return picture.Panels
}

func TestSVGHasAllPoints(t *testing.T) {
	results := someResults()
	panels := parseSVG(t, results)
	if len(panels) != 2 || panels[0].Class != "typical-latency" || panels[1].Class != "average-bandwidth" {
		t.Fatalf("the panels are %+v", panels)
	}
	want := [][]string{
		{`send, a,"<1>: 8 bytes, 2.50 µs`, `send, a,"<1>: 4096 bytes, 2.50 µs`, `compare-swap, b: 8 bytes, 2.50 µs`},
		{`send, a,"<1>: 8 bytes, 0.33 MiB/s`},
	}
	curves := [][]int{{2, 1}, {1}} // points of each curve
	for i, panel := range panels {
		var got []string
		for _, p := range panel.Points {
			got = append(got, p.Title)
			x, errX := strconv.ParseFloat(p.X, 64)
			y, errY := strconv.ParseFloat(p.Y, 64)
			left := marginLeft + float64(i)*(panelWidth+panelGap)
			if errX != nil || errY != nil || x < left || x > left+panelWidth || y < marginTop || y > marginTop+panelHeight {
				t.Errorf("%s is drawn at %s, %s, outside its panel", p.Title, p.X, p.Y)
			}
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%s: the points are %q, want %q", panel.Class, got, want[i])
		}
		var lengths []int
		for _, c := range panel.Curves {
			lengths = append(lengths, len(strings.Fields(c.Points)))
		}
		if !slices.Equal(lengths, curves[i]) {
			t.Errorf("%s: the curves have %v points, want %v", panel.Class, lengths, curves[i])
		}
	}
}

func TestSVGOfNothing(t *testing.T) {
	zero := result{Adapter: "a", Measure: measureBandwidth, Bytes: 1, Bandwidth: &bandwidth{}}
	for _, results := range [][]result{nil, {zero}} {
		if panels := parseSVG(t, results); len(panels) != 2 || len(panels[1].Points) != len(results) {
			t.Errorf("%d results make %+v", len(results), panels)
		}
	}
}

func TestAxis(t *testing.T) {
	a := newAxis(2, []float64{8, 0, 1024}, 100, 800)
	for v, want := range map[float64]float64{8: 100, 16: 200, 1024: 800, 0: 100} {
		if got := a.at(v); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
	if got, want := a.ticks(), []float64{8, 16, 32, 64, 128, 256, 512, 1024}; !slices.Equal(got, want) {
		t.Errorf("the ticks are %v, want %v", got, want)
	}
	if a := newAxis(10, []float64{5}, 300, 0); a.at(1) != 300 || a.at(10) != 0 {
		t.Errorf("one value makes %+v", a)
	}
	for v, want := range map[float64]string{512: "512", 1024: "1K", 1 << 20: "1M"} {
		if got := sizeLabel(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
