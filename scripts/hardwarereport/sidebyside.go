package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// measured is the part of the results of scripts/sidebyside that the report uses.
type measured struct {
	Results []struct {
		Measurement, Unit string
		C, Go             []float64
	}
	References []struct {
		Tool, What, Unit, Missing string
		Values                    []float64
	}
}

// twins measures the same work in C and in Go on an adapter. The servers run on another host if there is one.
func (r *report) twins(ctx context.Context, p *progress, on *host, a adapter) outcome {
	rounds, work := "5", "0.3"
	if r.quick {
		rounds, work = "1", "0.001"
	}
	m, err := r.sideBySide(ctx, p, "C beside Go over "+a.Provider+where(on), on, []adapter{a}, "-goals=false", "-sweep=false",
		"-c", filepath.Join(r.tools.built, "ctwin"), "-go", filepath.Join(r.tools.built, "gotwin"), "-rounds", rounds, "-work", work)
	t := table{head: []string{"", "unit", "C", "Go", "Go/C"}}
	for _, result := range m.Results {
		c, g := median(result.C), median(result.Go)
		t.add(result.Measurement, result.Unit, number(c), number(g), fmt.Sprintf("%.2f", g/c))
	}
	return r.measuredOutcome(t, fmt.Sprintf("%d measured, medians of %s rounds", len(m.Results), rounds), err)
}

// references measures with programs of other projects.
func (r *report) references(ctx context.Context, p *progress, on *host, adapters []adapter) outcome {
	rounds, work := "3", "1"
	if r.quick {
		rounds, work = "1", "0.01"
	}
	args := []string{"-references", "-rounds", rounds, "-work", work, "-device", r.here.Device, "-address", r.here.Address}
	if on != nil {
		args = append(args, "-server-device", on.Device, "-address", on.Address)
	}
	for _, name := range []string{"dtest", "dapltest"} {
		if path, err := r.tools.find(name); err == nil {
			args = append(args, "-"+name, path)
		}
	}
	m, err := r.sideBySide(ctx, p, "Other programs"+where(on), on, adapters, args...)
	t := table{head: []string{"", "unit", "", "program"}}
	found := 0
	for _, reference := range m.References {
		value := "not measured: " + reference.Missing
		if len(reference.Values) > 0 {
			value = number(median(reference.Values))
			found++
		}
		t.add(reference.What, reference.Unit, r.clean.text(value), reference.Tool)
	}
	return r.measuredOutcome(t, fmt.Sprintf("%d of %d measured", found, len(m.References)), err)
}

// measuredOutcome has what was measured before an error.
func (r *report) measuredOutcome(t table, summary string, err error) outcome {
	o := outcome{summary: summary, failed: err != nil}
	if err != nil {
		o.summary += "; then failed: " + err.Error()
	}
	if len(t.rows) > 0 {
		o.text = t.String()
	}
	return o
}

// sideBySide runs scripts/sidebyside. If it fails, it returns the results until then.
func (r *report) sideBySide(ctx context.Context, p *progress, title string, on *host, adapters []adapter, args ...string) (m measured, err error) {
	file := filepath.Join(r.work, "sidebyside.json")
	os.Remove(file)
	args = append(args, "-json", file)
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	if on != nil {
		args = append(args, "-server-by", self)
	}
	cmd, err := r.command(nil, "sidebyside", args...)
	if err != nil {
		return m, err
	}
	names := ""
	for i, a := range adapters {
		if i > 0 {
			names += ","
		}
		names += a.Name
	}
	cmd.Env = append(cmd.Env, "UDAT_TEST_IA="+names)
	if on != nil {
		cmd.Env = r.remoteEnvironment(cmd.Env)
	}
	process, err := start(ctx, cmd)
	if err != nil {
		return m, err
	}
	for number := 0; ; number++ {
		line, ok := process.line(ctx, number)
		if !ok {
			break
		}
		p.say("%s", oneLine(line))
	}
	err = process.wait(ctx)
	text, readErr := os.ReadFile(file)
	if readErr == nil {
		readErr = json.Unmarshal(text, &m)
	}
	err = cmp.Or(err, readErr)
	if err != nil {
		r.detail(title, process.said())
	}
	return m, err
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// number shows at least three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
