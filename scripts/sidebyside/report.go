package main

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
)

// report has the results of a run, as in the JSON file.
type report struct {
	Command    string      `json:"command"`
	Machine    machine     `json:"machine"`
	Rounds     int         `json:"rounds"`
	Results    []result    `json:"results"`
	References []reference `json:"references"`
	Scale      *scale      `json:"scale,omitempty"`
	Calls      *calls      `json:"calls,omitempty"`
}

// result is one measurement on one adapter: a number for each round.
type result struct {
	Adapter       string    `json:"adapter"`
	Measurement   string    `json:"measurement"`
	Unit          string    `json:"unit"`
	LowerIsBetter bool      `json:"lower_is_better"`
	Goal          float64   `json:"goal,omitempty"`   // the goal: the worst acceptable ratio of Go to C
	Limit         float64   `json:"limit,omitempty"`  // the goal for the number of Go alone: the largest acceptable
	Bytes         int       `json:"bytes,omitempty"`  // one of many sizes, for a plot and not for the tables
	Marked        bool      `json:"marked,omitempty"` // not reliable on this machine
	C             []float64 `json:"c"`
	Go            []float64 `json:"go"`
}

func (r result) met(ratio float64) bool {
	switch {
	case r.Limit != 0:
		return summarize(r.Go).median <= r.Limit
	case r.Goal == 0:
		return true
	case r.LowerIsBetter:
		return ratio <= r.Goal
	}
	return ratio >= r.Goal
}

// sort puts the results into the order of the measurements, adapter by adapter, when some came from another machine.
func (r *report) sort() {
	order := map[string]int{}
	for _, m := range measurements(1) {
		for _, r := range m.results("", r.Machine, nil, nil) {
			order[r.Measurement] = len(order)
		}
	}
	slices.SortStableFunc(r.Results, func(a, b result) int {
		return cmp.Or(strings.Compare(a.Adapter, b.Adapter), cmp.Compare(order[a.Measurement], order[b.Measurement]))
	})
}

func readReport(name string) (report, error) {
	var r report
	text, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func (r report) write(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
