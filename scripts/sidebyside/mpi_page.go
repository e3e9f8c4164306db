package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mpiTitle begins the section of the page that has message passing.
const mpiTitle = "## Beside MPICH and Open MPI"

// mpiPlot is the file with the plot, beside the page.
const mpiPlot = "beside.svg"

// makeMPIPage writes the section of the page, and the plot.
func makeMPIPage(file, page string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if r.MPI == nil {
		return fmt.Errorf("%s has no message passing", file)
	}
	former, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(withSection(string(former), mpiTitle, r.MPI.markdown())), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(page), mpiPlot), []byte(r.MPI.plot()), 0o644)
}

// markdown is the section.
func (m *messagePassing) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", mpiTitle)
	fmt.Fprintf(&b, "Medians of %d rounds of `%s`, all by turns in one machine: %s, %d processors, %s, on %s at a load of %s.\n",
		m.Rounds, m.Command, m.Machine.Processor, m.Machine.CPUs, m.Machine.Kernel, m.Machine.Host, m.Machine.Load)
	fmt.Fprintf(&b, "MPICH and Open MPI go over TCP on the interface of the device, without shared memory. Lower is better for times (us).\n\n")
	fmt.Fprintf(&b, "![Round trips](%s)\n\n", mpiPlot)
	b.WriteString(m.goals())
	names := m.by()
	for _, ranks := range m.ranks() {
		fmt.Fprintf(&b, "\n### %d ranks\n\n| | bytes | | %s |\n|---|---|---|%s\n", ranks, strings.Join(names, " | "), strings.Repeat("---|", len(names)))
		for _, row := range m.Values {
			if row.By != names[0] || row.Ranks != ranks {
				continue
			}
			size := fmt.Sprint(row.Bytes)
			if row.Bytes == 0 {
				size = ""
			}
			fmt.Fprintf(&b, "| %s | %s | %s |", row.Test, size, row.Unit)
			for _, name := range names {
				text := ""
				if v, found := m.find(name, ranks, row.Test, row.Bytes); found {
					text = number(v)
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (m *messagePassing) ranks() (list []int) {
	for _, row := range m.Values {
		if !slices.Contains(list, row.Ranks) {
			list = append(list, row.Ranks)
		}
	}
	return list
}

// goals compares with udat itself.
func (m *messagePassing) goals() string {
	var b strings.Builder
	b.WriteString("| adapter | | mpi | udat itself | ratio | goal |\n|---|---|---|---|---|---|\n")
	for _, row := range m.Values {
		adapter, isUdat := strings.CutPrefix(row.By, byUdat+" ")
		if !isUdat {
			continue
		}
		ours, found := m.find(adapter, 2, row.Test, row.Bytes)
		if !found {
			continue
		}
		theirs := summarize(row.Rounds).median
		goal, met := "at most 1.3", ours/theirs <= 1.3
		what := "round trip of 8 bytes, us"
		if row.Test == "bandwidth" {
			goal, met = "at least 0.9", ours/theirs >= 0.9
			what = "1 MiB, and an RDMA read of it, MB/s"
		}
		verdict := "met"
		if !met {
			verdict = "missed"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %s: %s |\n", adapter, what, number(ours), number(theirs), ours/theirs, goal, verdict)
	}
	return b.String()
}

// The plot shows round trips of two ranks over the bytes, both in powers of ten.
const (
	plotWidth, plotHeight = 760, 440
	plotLeft, plotRight   = 70, 190
	plotTop, plotBottom   = 30, 50
)

var plotColors = []string{"#1b6ca8", "#5aa9e6", "#b5403a", "#d9902f"}

func (m *messagePassing) plot() string {
	type point struct{ x, y float64 }
	curves := map[string][]point{}
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, row := range m.Values {
		if row.Test != "latency" || row.Ranks != 2 || row.Bytes == 0 || strings.HasPrefix(row.By, byUdat+" ") {
			continue
		}
		p := point{math.Log10(float64(row.Bytes)), math.Log10(summarize(row.Rounds).median)}
		curves[row.By] = append(curves[row.By], p)
		low, high = point{min(low.x, p.x), min(low.y, math.Floor(p.y))}, point{max(high.x, p.x), max(high.y, math.Ceil(p.y))}
	}
	x := func(v float64) float64 {
		return plotLeft + (v-low.x)/max(high.x-low.x, 1)*(plotWidth-plotLeft-plotRight)
	}
	y := func(v float64) float64 {
		return plotHeight - plotBottom - (v-low.y)/max(high.y-low.y, 1)*(plotHeight-plotTop-plotBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="18">round trip of a message between two ranks, microseconds</text>`+"\n", plotLeft)
	if len(curves) > 0 {
		for v := low.y; v <= high.y; v++ {
			fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n",
				plotLeft, plotWidth-plotRight, y(v), y(v), plotLeft-8, y(v)+4, math.Pow(10, v))
		}
	}
	for i, name := range m.by() {
		color := plotColors[i%len(plotColors)]
		var line []string
		for _, p := range curves[name] {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(p.x), y(p.y)))
			if i == 0 {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x(p.x), plotHeight-plotBottom+20, math.Pow(10, p.x))
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(line, " "), color)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", plotWidth-plotRight+10, plotTop+20+20*i, color, name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">bytes</text>`+"\n</svg>\n", (plotLeft+plotWidth-plotRight)/2, plotHeight-12)
	return b.String()
}
