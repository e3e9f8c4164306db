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

// lineChart has a logarithmic axis for powers of two, and another axis for the values.
type lineChart struct {
	title, xTitle, yTitle string
	xLabel                func(x float64) string
	logY                  bool
	curves                []curve
}

const (
	colorC  = "#4c6a92"
	colorGo = "#d1762b"
	// colorMore is what udat adds to a crossing.
	colorMore = "#8a5aa0"

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
	ticks := ticksOf(least, most, c.logY)
	low, high := ticks[0], ticks[len(ticks)-1]
	place := func(v, low, high float64, logarithmic bool) float64 {
		if logarithmic {
			v, low, high = math.Log(v), math.Log(low), math.Log(high)
		}
		if high == low {
			return 0.5
		}
		return (v - low) / (high - low)
	}
	atX := func(v float64) float64 { return left + (right-left)*place(v, xs[0], xs[len(xs)-1], true) }
	atY := func(v float64) float64 { return bottom - (bottom-top)*place(v, low, high, c.logY) }
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
func ticksOf(least, most float64, logarithmic bool) (ticks []float64) {
	if logarithmic && least > 0 {
		for tick := math.Pow(10, math.Floor(math.Log10(least))); ; {
			for _, factor := range []float64{1, 2, 5} {
				ticks = append(ticks, factor*tick)
				if len(ticks) > 1 && ticks[1] <= least {
					ticks = ticks[1:]
				}
				if factor*tick >= most && len(ticks) > 1 {
					return ticks
				}
			}
			tick *= 10
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	for most/step < 4 {
		step /= 2
	}
	for tick := 0.0; ; tick += step {
		ticks = append(ticks, tick)
		if tick >= most && len(ticks) > 1 {
			return ticks
		}
	}
}

// bar is a line of a bar chart: parts in a row.
type bar struct {
	name  string
	parts []float64
}

// barChart has a bar for each name. The parts of all bars have the same colors, in the same order.
type barChart struct {
	title, unit string
	colors      []string
	parts       []string // what they are
	bars        []bar
}

const (
	barHeight, barGap   = 18, 8
	barLeft, barsRight  = 250, 70
	barsTop, barsBottom = 50, 34
	barsWidth           = 760
)

func (c barChart) svg() string {
	d := newDrawing(barsWidth, barsTop+barsBottom+len(c.bars)*(barHeight+barGap))
	d.text(barGap, 18, "start", bold, c.title)
	legend := float64(barGap)
	for i, name := range c.parts {
		d.rectangle(legend, 28, 12, 12, c.colors[i])
		d.text(legend+17, 38, "start", `font-size="11"`, name)
		legend += 40 + 6.2*float64(len([]rune(name)))
	}
	most := 0.0
	for _, b := range c.bars {
		most = max(most, sum(b.parts))
	}
	if most == 0 {
		return d.String()
	}
	ticks := ticksOf(0, most, false)
	scale := float64(barsWidth-barLeft-barsRight) / ticks[len(ticks)-1]
	bottom := float64(d.height - barsBottom)
	for _, tick := range ticks {
		d.line(barLeft+tick*scale, barsTop-4, barLeft+tick*scale, bottom, "#ddd")
		d.text(barLeft+tick*scale, bottom+16, "middle", `font-size="10"`, number(tick))
	}
	for i, b := range c.bars {
		y := float64(barsTop + i*(barHeight+barGap))
		d.text(barLeft-8, y+13, "end", "", b.name)
		x := float64(barLeft)
		for part, value := range b.parts {
			d.rectangle(x, y, value*scale, barHeight, c.colors[part])
			x += value * scale
		}
		d.text(x+6, y+13, "start", "", number(sum(b.parts))+" "+c.unit)
	}
	return d.String()
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}
