package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// roundTrip is a line of a result that the picture shows.
var roundTrip = regexp.MustCompile(`^BenchmarkRoundTrip/how=poll/bytes=(\d+)/ia=([^/]+)/in=(C|Go) \d+ ([\d.e+]+) ns/op`)

// curves have the samples in µs, by adapter, language and size.
type curves map[string]map[string]map[int][]float64

func readRoundTrips(results io.Reader) (curves, error) {
	found := curves{}
	lines := bufio.NewScanner(results)
	for lines.Scan() {
		parts := roundTrip.FindStringSubmatch(lines.Text())
		if parts == nil {
			continue
		}
		bytes, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		ns, err := strconv.ParseFloat(parts[4], 64)
		if err != nil {
			return nil, err
		}
		if found[parts[2]] == nil {
			found[parts[2]] = map[string]map[int][]float64{"C": {}, "Go": {}}
		}
		curve := found[parts[2]][parts[3]]
		curve[bytes] = append(curve[bytes], ns/1e3)
	}
	if lines.Err() == nil && len(found) == 0 {
		return nil, errors.New("there are no round trips to draw")
	}
	return found, lines.Err()
}

// Of a chart, in pixels.
const (
	chartWidth, chartHeight   = 460, 320
	left, right, top, bottom  = 62.0, 446.0, 44.0, 270.0
	leastBytes, doublings     = 8, 12 // of the x axis
	doublingsBetweenTwoLabels = 3
)

// drawRoundTrips draws a chart for each adapter: the medians of the round trips over the size of the message, on
// logarithmic axes. It is SVG on white, so that it looks the same on any page.
func drawRoundTrips(results io.Reader, w io.Writer) error {
	found, err := readRoundTrips(results)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#222">`+"\n",
		chartWidth*len(found), chartHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i, adapter := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*chartWidth)
		drawChart(&b, adapter, found[adapter])
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func drawChart(b *strings.Builder, adapter string, of map[string]map[int][]float64) {
	text := func(x, y float64, anchor, text string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, text)
	}
	line := func(x1, y1, x2, y2 float64, style string) {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
	}
	least, most := math.Inf(1), 0.0
	for _, curve := range of {
		for _, samples := range curve {
			least, most = min(least, median(samples)), max(most, median(samples))
		}
	}
	low, high := math.Floor(math.Log2(least)), math.Floor(math.Log2(most))+1
	atX := func(bytes int) float64 {
		return left + (right-left)*math.Log2(float64(bytes)/leastBytes)/doublings
	}
	atY := func(us float64) float64 { return bottom - (bottom-top)*(math.Log2(us)-low)/(high-low) }
	text(left, 18, "start", "round trip in µs over bytes, polling, "+adapter)
	for tick := low; tick <= high; tick++ {
		y := atY(math.Exp2(tick))
		line(left, y, right, y, `stroke="#ddd"`)
		text(left-6, y+4, "end", strconv.FormatFloat(math.Exp2(tick), 'g', 3, 64))
	}
	for step := 0; step <= doublings; step += doublingsBetweenTwoLabels {
		text(atX(leastBytes<<step), bottom+17, "middle", strconv.Itoa(leastBytes<<step))
	}
	for i, language := range []struct{ name, style string }{
		{"C", `stroke="#4c6a92"`}, {"Go", `stroke="#d1762b" stroke-dasharray="5 4"`},
	} {
		x, curve := left+float64(70*i), of[language.name]
		line(x, 32, x+24, 32, language.style+` stroke-width="2"`)
		text(x+30, 36, "start", language.name)
		var points []string
		for _, bytes := range slices.Sorted(maps.Keys(curve)) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", atX(bytes), atY(median(curve[bytes]))))
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke-width="2" %s/>`+"\n", strings.Join(points, " "), language.style)
	}
}

// median returns the greater of the two in the middle.
func median(samples []float64) float64 {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}
