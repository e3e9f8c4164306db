package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// report has the findings so far.
type report struct {
	settings
	here, there *host // there is nil without another host
	work        string
	out         io.Writer
	clean       *cleaner

	began   time.Time
	done    []finished
	details strings.Builder // of what went wrong
}

// step is one part of the report.
type step struct {
	title string
	most  time.Duration // time limit
	do    func(ctx context.Context, p *progress) outcome
}

// outcome is the result of a step.
type outcome struct {
	summary string // in a few words
	failed  bool   // something is wrong
	text    string // for the page
}

type finished struct {
	title string
	took  time.Duration
	outcome
}

func newReport(s settings, here, there *host, work string, out io.Writer) *report {
	r := &report{settings: s, here: here, there: there, work: work, out: out, began: time.Now()}
	r.clean = newCleaner(here.Hidden, hidden{Addresses: []string{here.Address}})
	if there != nil {
		r.clean = newCleaner(here.Hidden, there.Hidden, hidden{[]string{s.connect}, []string{here.Address, there.Address}})
	}
	return r
}

func (r *report) steps() (list []step) {
	add := func(title string, most time.Duration, do func(context.Context, *progress) outcome) {
		list = append(list, step{title, most * time.Duration(r.patience), do})
	}
	for _, a := range r.here.opened() {
		add("conformance over "+a.Provider, 150*time.Second, func(ctx context.Context, p *progress) outcome { return r.conformance(ctx, p, a) })
	}
	both := r.common()
	if r.there != nil {
		add("programs in C and in Go, between the hosts", 100*time.Second, func(ctx context.Context, p *progress) outcome { return r.pairs(ctx, p, r.there, both) })
		for _, a := range both {
			add("C beside Go over "+a.Provider+", between the hosts", time.Minute, func(ctx context.Context, p *progress) outcome { return r.twins(ctx, p, r.there, a) })
		}
		add("other programs, between the hosts", 45*time.Second, func(ctx context.Context, p *progress) outcome { return r.references(ctx, p, r.there, both) })
	}
	add("programs in C and in Go", 100*time.Second, func(ctx context.Context, p *progress) outcome { return r.pairs(ctx, p, nil, r.here.opened()) })
	for _, a := range r.here.opened() {
		add("connections under load over "+a.Provider, time.Minute, func(ctx context.Context, p *progress) outcome { return r.soak(ctx, p, a) })
	}
	for _, a := range r.here.opened() {
		add("C beside Go over "+a.Provider, time.Minute, func(ctx context.Context, p *progress) outcome { return r.twins(ctx, p, nil, a) })
	}
	add("other programs", 45*time.Second, func(ctx context.Context, p *progress) outcome { return r.references(ctx, p, nil, r.here.opened()) })
	return list
}

// common are the adapters that open on both hosts.
func (r *report) common() (list []adapter) {
	if r.there == nil {
		return nil
	}
	for _, a := range r.here.opened() {
		for _, b := range r.there.opened() {
			if a.Name == b.Name {
				list = append(list, a)
			}
		}
	}
	return list
}

var errDeviceGone = errors.New("the device has gone away")

// run runs all steps. It fails if some were not run.
func (r *report) run(ctx context.Context) error {
	steps := r.steps()
	var incomplete error
	for i, s := range steps {
		left := r.limit - time.Since(r.began)
		reason := incomplete
		switch {
		case ctx.Err() != nil:
			reason = errors.New("interrupted")
		case reason == nil && !r.here.present():
			reason = errDeviceGone
		case len(r.here.opened()) == 0:
			reason = errors.New("no adapter opens")
		case left < 5*time.Second:
			reason = fmt.Errorf("no time is left of %v", r.limit)
		}
		if reason != nil {
			incomplete = reason
			r.finish(s.title, 0, outcome{summary: "not run: " + reason.Error(), failed: true})
			continue
		}
		r.runStep(ctx, s, i+1, len(steps), min(s.most, left))
	}
	if incomplete != nil {
		return fmt.Errorf("the report is not complete: %w", incomplete)
	}
	return nil
}

func (r *report) runStep(ctx context.Context, s step, number, of int, most time.Duration) {
	stepContext, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	stepContext, gone := context.WithCancelCause(stepContext)
	defer gone(nil)
	go r.watchDevice(stepContext, gone)
	began := time.Now()
	p := newProgress(r.out, fmt.Sprintf("report: %d of %d: %s", number, of, s.title), most)
	result := s.do(stepContext, p)
	p.stop()
	if !r.here.present() {
		result.failed = true
		result.summary += "; meanwhile " + errDeviceGone.Error()
	}
	if ctx.Err() != nil {
		result.failed = true
		result.summary = "interrupted: " + result.summary
	}
	r.finish(s.title, time.Since(began), result)
}

// watchDevice ends a step whose device goes away: what happens after that says nothing about goudat.
func (r *report) watchDevice(ctx context.Context, gone context.CancelCauseFunc) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !r.here.present() {
				gone(errDeviceGone)
				return
			}
		}
	}
}

func (r *report) finish(title string, took time.Duration, result outcome) {
	result.summary = r.clean.text(oneLine(result.summary))
	r.done = append(r.done, finished{title, took, result})
	fmt.Fprintf(r.out, "report:    %s: %s\n", title, result.summary)
}

// mostDetail is how many lines of a program's output go to the page.
const mostDetail = 40

// detail adds the end of a program's output to the page.
func (r *report) detail(title, said string) {
	lines := strings.Split(strings.TrimRight(said, "\n"), "\n")
	if len(lines) > mostDetail {
		lines = append([]string{"..."}, lines[len(lines)-mostDetail:]...)
	}
	for i, line := range lines {
		const most = 400
		if len(line) > most {
			lines[i] = line[:most] + "..."
		}
	}
	text := strings.ReplaceAll(r.clean.text(strings.Join(lines, "\n")), "```", "'''")
	fmt.Fprintf(&r.details, "### %s\n\n```\n%s\n```\n\n", title, strings.ToValidUTF8(text, "?"))
}

// command makes the command that runs a program on a host, on this one if it is nil.
func (r *report) command(on *host, name string, args ...string) (*exec.Cmd, error) {
	if on != nil {
		return r.remoteCommand(name, args...)
	}
	return r.tools.command(r.here.environment, name, args...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
