package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// line is a result in one line.
func line(r result) string {
	c, g, ratio := summarize(r.C), summarize(r.Go), r.ratio()
	return fmt.Sprintf("%-32s C %s  Go %s %s  ratio %s", r.Measurement, spread(c), spread(g), r.Unit, ratioText(ratio))
}

// spread shows a median with its quartiles.
func spread(s summary) string {
	return fmt.Sprintf("%s (%s to %s)", number(s.median), number(s.low), number(s.high))
}

func ratioText(s summary) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", s.median, s.low, s.high)
}

// number shows three digits, or all digits before the point.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func goalText(r result) string {
	switch {
	case r.Limit != 0:
		return fmt.Sprintf("Go at most %.2f", r.Limit)
	case r.Goal == 0:
		return ""
	case r.LowerIsBetter:
		return fmt.Sprintf("at most %.2f", r.Goal)
	}
	return fmt.Sprintf("at least %.2f", r.Goal)
}

// verdict says whether the median ratio meets the goal.
func verdict(r result) string {
	ratio := r.ratio().median
	switch {
	case r.Marked:
		return "not reliable here"
	case r.Goal == 0 && r.Limit == 0:
		return ""
	case r.met(ratio):
		return "met"
	case r.Limit != 0:
		return "missed: " + number(summarize(r.Go).median)
	}
	if missed := fmt.Sprintf("%.1f", 100*math.Abs(ratio-r.Goal)); missed != "0.0" {
		return "missed by " + missed + " %"
	}
	return "missed by less than 0.1 %"
}

// printTable writes all results for a terminal.
func printTable(w io.Writer, r report) {
	adapter := ""
	for _, result := range r.Results {
		if result.Bytes != 0 {
			continue
		}
		if result.Adapter != adapter {
			adapter = result.Adapter
			fmt.Fprintf(w, "\n%s, median of %d rounds (and quartiles)\n", adapter, r.Rounds)
			fmt.Fprintf(w, "%-30s %-10s %28s %28s   %-24s %-14s %s\n", "", "", "C", "Go", "Go/C", "goal", "")
		}
		fmt.Fprintf(w, "%-30s %-10s %28s %28s   %-24s %-14s %s\n", result.Measurement, result.Unit, spread(summarize(result.C)),
			spread(summarize(result.Go)), ratioText(result.ratio()), goalText(result), verdict(result))
	}
	if len(r.References) > 0 {
		fmt.Fprintf(w, "\n%-30s %-10s\n", "beside them", "")
	}
	for _, reference := range r.References {
		fmt.Fprintf(w, "%-30s %-10s %s\n", reference.What, reference.Unit, reference.text())
	}
	if r.Scale != nil {
		fmt.Fprintf(w, "\nmany endpoints, medians: C / Go\n")
		for _, c := range r.Scale.sortedCrowds() {
			fmt.Fprintf(w, "%s, %s\n", c.Adapter, c.line())
		}
		for _, c := range r.Scale.Waiters {
			fmt.Fprintf(w, "%s, %s\n", c.Adapter, c.line())
		}
	}
}
