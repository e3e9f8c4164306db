package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/udat/conformance"
)

// clauseRun is a line of the suite's output.
var clauseRun = regexp.MustCompile(`^=== RUN +TestClauses/([A-Z]-\d+)/`)

// conformance runs the suite on an adapter. A clause that ends the process, or hangs, is left out of the next run.
func (r *report) conformance(ctx context.Context, p *progress, a adapter) outcome {
	whole := &conformance.Report{}
	var complaints []string
	seen := map[string]bool{}
	for attempt := 0; ; attempt++ {
		found, at, said, err := r.suite(ctx, p, a, attempt, seen)
		whole.Results = append(whole.Results, found.Results...)
		for _, result := range found.Results {
			seen[result.Clause] = true
		}
		var exit *exec.ExitError
		switch {
		case err == nil:
		case errors.As(err, &exit) && exit.ExitCode() == testsFailed:
			if whole.Count(a.Name, conformance.Violated) == 0 {
				complaints = append(complaints, "the suite failed")
				r.detail("Conformance over "+a.Provider, said)
			}
		case ctx.Err() != nil:
			complaints = append(complaints, "ended at "+cmp.Or(at, "no clause"))
		case at == "" || seen[at]:
			complaints = append(complaints, "the suite ended: "+err.Error())
			r.detail("Conformance over "+a.Provider, said)
		default:
			seen[at] = true
			complaints = append(complaints, fmt.Sprintf("%s ended the suite: %v", at, err))
			r.detail(fmt.Sprintf("Conformance over %s, %s", a.Provider, at), said)
			continue
		}
		return r.conformanceOutcome(a, whole, complaints)
	}
}

// testsFailed is the exit code of a test binary that finished with failures.
const testsFailed = 1

// mostSilence is how long a clause may take.
const mostSilence = 40 * time.Second

// suite runs the suite once, without the clauses that were seen. It returns the results, the clause at which it ended,
// and its output.
func (r *report) suite(ctx context.Context, p *progress, a adapter, attempt int, seen map[string]bool) (found conformance.Report, at, said string, err error) {
	file := filepath.Join(r.work, fmt.Sprintf("%s-%d.json", a.Name, attempt))
	args := []string{"-test.v", "-test.run", "^TestClauses$" + r.someClauses(), "-ia", a.Name, "-report", file}
	if len(seen) > 0 {
		args = append(args, "-test.skip", "^TestClauses$/^("+strings.Join(sortedKeys(seen), "|")+")$")
	}
	cmd, err := r.command(nil, "conformance.test", args...)
	if err != nil {
		return found, "", "", err
	}
	cmd.Dir = r.work
	process, err := start(ctx, cmd)
	if err != nil {
		return found, "", "", err
	}
	for number, count := 0, len(seen); ; number++ {
		line, ok := r.lineWithin(ctx, process, number)
		if !ok {
			break
		}
		if m := clauseRun.FindStringSubmatch(line); m != nil {
			at = m[1]
			count++
			p.say("clause %d of %d, %s", count, len(conformance.Clauses), at)
		}
	}
	err = process.wait(ctx)
	text, readErr := os.ReadFile(file)
	if readErr == nil {
		readErr = json.Unmarshal(text, &found)
	}
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	return found, at, process.said(), err
}

// lineWithin returns the next line of a suite. A suite that is silent for too long is ended, and reports where it
// hangs.
func (r *report) lineWithin(ctx context.Context, process *process, number int) (line string, ok bool) {
	silence, cancel := context.WithTimeout(ctx, mostSilence)
	defer cancel()
	if line, ok = process.line(silence, number); !ok && silence.Err() != nil && ctx.Err() == nil {
		process.interrupt(ctx)
	}
	return line, ok
}

func (r *report) someClauses() string {
	if r.quick {
		return "/^G-0[1-4]$"
	}
	return ""
}

func sortedKeys(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (r *report) conformanceOutcome(a adapter, whole *conformance.Report, complaints []string) outcome {
	count := func(o conformance.Outcome) int { return whole.Count(a.Name, o) }
	o := outcome{
		summary: fmt.Sprintf("of %d clauses %d shown, %d not shown, %d violated", len(conformance.Clauses),
			count(conformance.Shown), count(conformance.NotShown), count(conformance.Violated)),
		failed: count(conformance.Violated) > 0 || len(complaints) > 0,
	}
	if len(complaints) > 0 {
		o.summary += "; " + strings.Join(complaints, "; ")
	}
	t := table{head: []string{"clause", "requirement", "outcome", "the library by itself"}}
	plain, missing := 0, 0
	for _, c := range conformance.Clauses {
		i := slices.IndexFunc(whole.Results, func(result conformance.Result) bool { return result.Clause == c.ID })
		if i < 0 {
			missing++
			continue
		}
		result := whole.Results[i]
		text := result.Outcome.String()
		for _, more := range []string{result.Reason, result.Needs, result.Remark} {
			if more != "" {
				text += "; " + more
			}
		}
		if text == conformance.Shown.String() && result.Library == "" {
			plain++
			continue
		}
		t.add(c.ID, c.Text, r.clean.text(text), r.clean.text(result.Library))
	}
	o.text = folded("Clauses", fmt.Sprintf("%s\nIn addition, %d are shown without remarks, and %d were not run.\n", &t, plain, missing))
	return o
}
