package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The charts are SVG on white, so that they look the same on any page.

// curve is a line of a chart.
type curve struct {
	name   string
	color  string
	dashed bool
	points []point
}

type point struct{ x, y float64 }

// lineChart has logarithmic axes.
type lineChart struct {
	title, xTitle, yTitle string
	xLabel                func(x float64) string
	curves                []curve
}

const (
	colorC  = "#4c6a92"
	colorGo = "#d1762b"

	chartWidth, chartHeight = 460, 320
	chartLeft, chartRight   = 62, 14
	chartTop, chartBottom   = 44, 50
)

// drawing builds an SVG file.
type drawing struct {
	b             strings.Builder
	width, height int
}

func newDrawing(width, height int) *drawing {
	d := &drawing{width: width, height: height}
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" `+
		`font-family="sans-serif" font-size="12" fill="#222">`+"\n", width, height)
	d.rectangle(0, 0, float64(width), float64(height), "#fff")
	return d
}

func (d *drawing) String() string { return d.b.String() + "</svg>\n" }

func (d *drawing) rectangle(x, y, width, height float64, color string) {
	fmt.Fprintf(&d.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, color)
}

func (d *drawing) line(x1, y1, x2, y2 float64, color string) {
	fmt.Fprintf(&d.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, color)
}

// text writes at a place; anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, attributes, text string) {
	fmt.Fprintf(&d.b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(text))
}

const bold = `font-weight="bold"`

// lineChart draws a chart whose upper left corner is at x, y. A chart without points stays empty.
func (d *drawing) lineChart(x, y float64, c lineChart) {
	d.text(x+chartLeft, y+18, "start", bold, c.title)
	left, right := x+chartLeft, x+chartWidth-chartRight
	top, bottom := y+chartTop+d.legend(left, right, y+32, c.curves), y+chartHeight-chartBottom
	xs, least, most := c.bounds()
	if len(xs) == 0 {
		return
	}
	ticks := ticksOf(least, most)
	low, high := ticks[0], ticks[len(ticks)-1]
	place := func(v, low, high float64) float64 {
		if high == low {
			return 0.5
		}
		return math.Log(v/low) / math.Log(high/low)
	}
	atX := func(v float64) float64 { return left + (right-left)*place(v, xs[0], xs[len(xs)-1]) }
	atY := func(v float64) float64 { return bottom - (bottom-top)*place(v, low, high) }
	for _, tick := range ticks {
		d.line(left, atY(tick), right, atY(tick), "#ddd")
		d.text(left-6, atY(tick)+4, "end", "", number(tick))
	}
	for _, v := range xs {
		d.line(atX(v), bottom, atX(v), bottom+4, "#888")
		d.text(atX(v), bottom+17, "middle", `font-size="10"`, c.xLabel(v))
	}
	d.line(left, bottom, right, bottom, "#888")
	d.text((left+right)/2, bottom+36, "middle", "", c.xTitle)
	d.text(x+14, (top+bottom)/2, "middle", fmt.Sprintf(`transform="rotate(-90 %.1f %.1f)"`, x+14, (top+bottom)/2), c.yTitle)
	for _, l := range c.curves {
		d.curve(l, atX, atY)
	}
}

// legend names the curves from y on. It returns the height of its rows beyond the first.
func (d *drawing) legend(left, right, y float64, curves []curve) (further float64) {
	const row = 14
	x := left
	for _, l := range curves {
		width := 18 + 6.2*float64(len([]rune(l.name)))
		if x > left && x+width > right {
			x, further = left, further+row
		}
		d.rectangle(x, y+further-6, 14, 4, l.color)
		d.text(x+18, y+further, "start", `font-size="11"`, l.name)
		x += width + 16
	}
	return further
}

func (d *drawing) curve(l curve, atX, atY func(float64) float64) {
	var path strings.Builder
	for _, p := range l.points {
		fmt.Fprintf(&path, "%.1f,%.1f ", atX(p.x), atY(p.y))
		fmt.Fprintf(&d.b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", atX(p.x), atY(p.y), l.color)
	}
	dashes := ""
	if l.dashed {
		dashes = ` stroke-dasharray="5 4"`
	}
	fmt.Fprintf(&d.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"%s/>`+"\n", strings.TrimSpace(path.String()), l.color, dashes)
}

// bounds returns the values of x in order, and the least and the largest y.
func (c lineChart) bounds() (xs []float64, least, most float64) {
	seen := map[float64]bool{}
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range c.curves {
		for _, p := range l.points {
			seen[p.x] = true
			least, most = min(least, p.y), max(most, p.y)
		}
	}
	return sortedKeys(seen), least, most
}

// ticksOf returns round numbers. The first is at most least, and the last is at least most.
func ticksOf(least, most float64) (ticks []float64) {
	for tick := math.Pow(10, math.Floor(math.Log10(least))); ; tick *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			ticks = append(ticks, factor*tick)
			if len(ticks) > 1 && ticks[1] <= least {
				ticks = ticks[1:]
			}
			if factor*tick >= most && len(ticks) > 1 {
				return ticks
			}
		}
	}
}
