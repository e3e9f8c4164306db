package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files beside the page that it shows.
const (
	latencyPlot   = "performance-latency.svg"
	endpointsPlot = "performance-endpoints.svg"
)

// writePlots writes the plots for the report's results.
func (r report) writePlots(folder string) error {
	plots := map[string]string{}
	if text := r.latencyPlot(); text != "" {
		plots[latencyPlot] = text
	}
	if r.Scale != nil && !r.Scale.empty() {
		plots[endpointsPlot] = r.Scale.plot()
	}
	for name, text := range plots {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// image returns the Markdown that shows a plot.
func image(file, what string) string { return fmt.Sprintf("![%s](%s)\n\n", what, file) }

// latencyPlot draws a chart for each adapter: round trips over the message size. It returns "" without at least two
// sizes.
func (r report) latencyPlot() string {
	byAdapter := map[string][2][]point{}
	for _, result := range r.Results {
		if result.Bytes == 0 || len(result.C) == 0 {
			continue
		}
		x := float64(result.Bytes)
		points := byAdapter[result.Adapter]
		points[0] = append(points[0], point{x, summarize(result.C).median})
		points[1] = append(points[1], point{x, summarize(result.Go).median})
		byAdapter[result.Adapter] = points
	}
	adapters := slices.Sorted(maps.Keys(byAdapter))
	if len(adapters) == 0 || len(byAdapter[adapters[0]][0]) < 2 {
		return ""
	}
	d := newDrawing(chartWidth*len(adapters), chartHeight)
	for i, adapter := range adapters {
		points := byAdapter[adapter]
		for _, list := range points {
			slices.SortFunc(list, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		}
		d.lineChart(float64(i*chartWidth), 0, lineChart{
			title: "round trip, polling, " + adapter, xTitle: "size of the message", yTitle: "µs, median", xLabel: bytesLabel,
			curves: []curve{{name: "C", color: colorC, points: points[0]}, {name: "Go", color: colorGo, dashed: true, points: points[1]}},
		})
	}
	return d.String()
}

// bytesLabel returns a size as 64, 4K or 1M.
func bytesLabel(size float64) string {
	switch n := int(size); {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dK", n>>10)
	default:
		return fmt.Sprint(n)
	}
}

// plot draws a chart for the memory of an endpoint, and charts for its times, over the number of endpoints, which share
// their event dispatchers.
func (s *scale) plot() string {
	charts := []struct{ title, unit, figure string }{
		{"memory of an endpoint", "KiB", "memory"},
		{"time to create one", "µs", "create"},
		{"time of a message", "µs", "message"},
	}
	factors := map[string]float64{"KiB": 1.0 / 1024, "µs": 1e-3}
	d := newDrawing(chartWidth*len(charts), chartHeight)
	for i, chart := range charts {
		d.lineChart(float64(i*chartWidth), 0, lineChart{
			title: chart.title, xTitle: "endpoints of the process", yTitle: chart.unit + ", median",
			xLabel: func(n float64) string { return fmt.Sprint(n) },
			curves: s.curves(chart.figure, factors[chart.unit]),
		})
	}
	return d.String()
}

// curves returns one curve in C and one in Go for each adapter. Zero has no place on the axis.
func (s *scale) curves(figure string, factor float64) (list []curve) {
	for _, r := range s.sortedCrowds() {
		if r.Own || r.Missing != "" || len(r.C) == 0 || len(r.Go) == 0 {
			continue
		}
		for _, program := range []struct {
			name, color string
			samples     []figures
		}{{"C", colorC, r.C}, {"Go", colorGo, r.Go}} {
			name := program.name + ", " + strings.SplitN(strings.TrimPrefix(r.Adapter, "ofa-v2-"), "-", 2)[0]
			place := slices.IndexFunc(list, func(c curve) bool { return c.name == name })
			if place < 0 {
				place = len(list)
				list = append(list, curve{name: name, color: program.color, dashed: strings.Contains(r.Adapter, "-scm-")})
			}
			if value := summarize(values(program.samples, figure)).median * factor; value > 0 {
				list[place].points = append(list[place].points, point{float64(r.Count), value})
			}
		}
	}
	return list
}

func sortedKeys(set map[float64]bool) []float64 { return slices.Sorted(maps.Keys(set)) }
