package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A picture has two panels side by side: typical latencies and average bandwidths over message sizes. All axes are
// logarithmic.
const (
	panelWidth   = 420.0
	panelHeight  = 320.0
	marginLeft   = 70.0
	marginTop    = 40.0
	marginBottom = 50.0
	panelGap     = 80.0
	legendLine   = 18.0
)

var colors = []string{"#1b6ca8", "#c2410c", "#15803d", "#7e22ce", "#a16207"} // by operation

var dashes = []string{"none", "6 3", "2 3", "8 3 2 3"} // by adapter

// curve is the results of one operation on one adapter.
type curve struct {
	adapter   string
	operation operation
	points    []point
}

type point struct{ size, value float64 }

// curves sorts the results of a measure into curves, in their order.
func curves(results []result, m measure) []curve {
	var found []curve
	for _, r := range results {
		if r.Measure != m {
			continue
		}
		i := slices.IndexFunc(found, func(c curve) bool { return c.adapter == r.Adapter && c.operation == r.Operation })
		if i < 0 {
			i = len(found)
			found = append(found, curve{adapter: r.Adapter, operation: r.Operation})
		}
		value := 0.0
		if r.Latency != nil {
			value = r.Latency.Typical
		} else if r.Bandwidth != nil {
			value = r.Bandwidth.Average
		}
		found[i].points = append(found[i].points, point{float64(r.Bytes), value})
	}
	for _, c := range found {
		slices.SortStableFunc(c.points, func(a, b point) int { return int(a.size - b.size) })
	}
	return found
}

// axis maps values to positions on a logarithmic scale between two powers of base.
type axis struct {
	base     float64
	low, end int // exponents
	from, to float64
}

func newAxis(base float64, values []float64, from, to float64) axis {
	a := axis{base: base, from: from, to: to, low: 0, end: 1}
	smallest, largest := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			smallest, largest = min(smallest, v), max(largest, v)
		}
	}
	if largest > 0 {
		a.low = int(math.Floor(math.Log(smallest)/math.Log(base) + 1e-9))
		a.end = max(int(math.Ceil(math.Log(largest)/math.Log(base)-1e-9)), a.low+1)
	}
	return a
}

func (a axis) at(v float64) float64 {
	if v <= 0 {
		return a.from
	}
	share := (math.Log(v)/math.Log(a.base) - float64(a.low)) / float64(a.end-a.low)
	return a.from + share*(a.to-a.from)
}

func (a axis) ticks() []float64 {
	every := 1 + (a.end-a.low)/8
	var values []float64
	for e := a.low; e <= a.end; e += every {
		values = append(values, math.Pow(a.base, float64(e)))
	}
	return values
}

// drawSVG draws the results.
func drawSVG(w io.Writer, results []result) error {
	panels := []struct {
		title, unit string
		curves      []curve
	}{
		{"typical latency", "µs", curves(results, measureLatency)},
		{"average bandwidth", "MiB/s", curves(results, measureBandwidth)},
	}
	var names []string
	most := 0
	for _, r := range results {
		if !slices.Contains(names, r.Adapter) {
			names = append(names, r.Adapter)
		}
	}
	for _, p := range panels {
		most = max(most, len(p.curves))
	}
	width := 2*(marginLeft+panelWidth) + panelGap
	height := marginTop + panelHeight + marginBottom + legendLine*float64(most+1)

	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintln(b, `<rect width="100%" height="100%" fill="white"/>`)
	for i, p := range panels {
		left := marginLeft + float64(i)*(panelWidth+panelGap)
		drawPanel(b, left, p.title, p.unit, p.curves, names)
	}
	fmt.Fprintln(b, `</svg>`)
	return b.Flush()
}

func drawPanel(w io.Writer, left float64, title, unit string, curves []curve, adapters []string) {
	var sizes, values []float64
	for _, c := range curves {
		for _, p := range c.points {
			sizes, values = append(sizes, p.size), append(values, p.value)
		}
	}
	bottom := marginTop + panelHeight
	x, y := newAxis(2, sizes, left, left+panelWidth), newAxis(10, values, bottom, marginTop)

	fmt.Fprintf(w, `<g class="%s">`+"\n", strings.ReplaceAll(title, " ", "-"))
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" font-size="15">%s in %s</text>`+"\n", left, marginTop-15, title, unit)
	for _, v := range x.ticks() {
		fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n", x.at(v), marginTop, x.at(v), bottom)
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x.at(v), bottom+16, sizeLabel(v))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n", left, y.at(v), left+panelWidth, y.at(v))
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="end">%g</text>`+"\n", left-6, y.at(v)+4, v)
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle">bytes</text>`+"\n", left+panelWidth/2, bottom+36)

	for i, c := range curves {
		color := colors[int(c.operation)%len(colors)]
		dash := dashes[slices.Index(adapters, c.adapter)%len(dashes)]
		name := escape(c.operation.String() + ", " + c.adapter)
		var places []string
		for _, p := range c.points {
			places = append(places, fmt.Sprintf("%.1f,%.1f", x.at(p.size), y.at(p.value)))
		}
		fmt.Fprintf(w, `<polyline points="%s" fill="none" stroke="%s" stroke-dasharray="%s" stroke-width="1.5"/>`+"\n", strings.Join(places, " "), color, dash)
		for _, p := range c.points {
			fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %.0f bytes, %.2f %s</title></circle>`+"\n",
				x.at(p.size), y.at(p.value), color, name, p.size, p.value, unit)
		}
		line := bottom + marginBottom + legendLine*float64(i)
		fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="%s" stroke-width="1.5"/>`+"\n", left, line, left+30, line, color, dash)
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f">%s</text>`+"\n", left+36, line+4, name)
	}
	fmt.Fprintln(w, `</g>`)
}

// sizeLabel returns a short form of a power of two.
func sizeLabel(v float64) string {
	switch {
	case v >= 1<<20:
		return fmt.Sprintf("%gM", v/(1<<20))
	case v >= 1<<10:
		return fmt.Sprintf("%gK", v/(1<<10))
	}
	return fmt.Sprintf("%g", v)
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder never fails
	return b.String()
}
