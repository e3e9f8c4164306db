package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const mpiTitle = "## Beside MPICH and Open MPI"

// mpiPlot is the file with the plot, beside the page.
const mpiPlot = "beside.svg"

// makeMPIPage writes the page's section, and the plot.
func makeMPIPage(file, page string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if r.MPI == nil {
		return fmt.Errorf("%s has no message passing", file)
	}
	if r.MPI.Machine.emulated() {
		return errEmulated
	}
	former, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := withSection(string(former), mpiTitle, r.MPI.markdown())
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(page), mpiPlot), []byte(r.MPI.plot()), 0o644)
}

// markdown is the section.
func (m *messagePassing) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", mpiTitle)
	fmt.Fprintf(&b, "Medians of %d rounds of\n\n    %s\n\nwith all libraries by turns in one machine: %s, %d processors, %s, on %s at a load of %s.\n",
		m.Rounds, m.Command, m.Machine.Processor, m.Machine.CPUs, m.Machine.Kernel, m.Machine.Host, m.Machine.Load)
	b.WriteString("MPICH and Open MPI use TCP on the device's interface, and its verbs where they can, without shared memory. " +
		"Each rank is pinned to one processor; those in Go run with GOMAXPROCS=2. " +
		"The latency is the median of round trips; one in a hundred takes longer than p99. Less is better if the unit is us.\n\n")
	if len(m.Failed) > 0 {
		fmt.Fprintf(&b, "These runs failed or did not end, and are missing: %s.\n\n", strings.Join(m.Failed, "; "))
	}
	b.WriteString(image(mpiPlot, "Round trips over the message size"))
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

// goals compares with udat itself, and with the others over TCP.
func (m *messagePassing) goals() string {
	var b strings.Builder
	b.WriteString("| adapter | | mpi | beside | | ratio | goal |\n|---|---|---|---|---|---|---|\n")
	compare := func(adapter, what string, ours float64, beside string, theirs float64, goal string, met func(ratio float64) bool) {
		verdict := "met"
		if !met(ours / theirs) {
			verdict = "missed"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.2f | %s: %s |\n", adapter, what, number(ours), beside, number(theirs), ours/theirs, goal, verdict)
	}
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
		if row.Test == "bandwidth" {
			compare(adapter, "1 MiB, MB/s", ours, "an RDMA read by udat", theirs, "at least 0.9", func(r float64) bool { return r >= 0.9 })
			continue
		}
		const what = "round trip of 8 bytes, us"
		compare(adapter, what, ours, "RDMA writes by udat", theirs, "at most 1.3", func(r float64) bool { return r <= 1.3 })
		for _, name := range m.by() {
			if theirs, found := m.find(name, 2, row.Test, row.Bytes); found && strings.HasSuffix(name, "TCP") {
				compare(adapter, what, ours, name, theirs, "less than 1", func(r float64) bool { return r < 1 })
			}
		}
	}
	return b.String()
}

// plot draws the round trips of two ranks over the message size.
func (m *messagePassing) plot() string {
	chart := lineChart{
		title: "round trip between two ranks", xTitle: "size of the message", yTitle: "µs, median", xLabel: bytesLabel, logY: true,
	}
	for i, name := range m.by() {
		c := curve{name: strings.TrimPrefix(name, "ofa-v2-"), color: mpiColors[i%len(mpiColors)], dashed: strings.HasSuffix(name, "TCP")}
		for _, row := range m.Values {
			if row.By == name && row.Test == "latency" && row.Ranks == 2 && row.Bytes > 0 {
				c.points = append(c.points, point{float64(row.Bytes), summarize(row.Rounds).median})
			}
		}
		chart.curves = append(chart.curves, c)
	}
	d := newDrawing(chartWidth, chartHeight)
	d.lineChart(0, 0, chart)
	return d.String()
}

// mpiColors are those of the two providers, and of the two libraries beside them, over verbs and over TCP.
var mpiColors = []string{colorGo, colorMore, "#3a8f8f", "#8a8a3a", colorC, "#5aa05a"}
