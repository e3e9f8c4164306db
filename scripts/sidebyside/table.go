package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
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

// writeTable writes a table in Markdown. Of each column, align has l, or r for numbers.
func writeTable(w io.Writer, align string, titles []string, rows [][]string) {
	rule := strings.NewReplacer("l", "|---", "r", "|---:").Replace(align)
	fmt.Fprintf(w, "| %s |\n%s|\n", strings.Join(titles, " | "), rule)
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(w)
}
