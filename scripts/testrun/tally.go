package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quiet is the longest silence before a line says that the tests still run.
const quiet = 20 * time.Second

// slowest is how many of the slowest tests are listed.
const slowest = 15

// event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// tally counts the tests, shows progress and failures, and prints the totals at the end.
type tally struct {
	mu sync.Mutex

	out     io.Writer
	shown   time.Time // time of the last output
	running []*outcome
	total   counts
	times   []testTime
	reasons []string // the failures, one line each
	noneDue bool     // there is nothing to run
}

// outcome is that of one test binary.
type outcome struct {
	tally   *tally
	name    string
	title   string // of the run
	noSkips bool
	began   time.Time

	counts
	open   []string            // running tests, in the order of their start
	output map[string][]string // by test, "" for the binary's own
	failed bool                // the binary reported it
}

// testTime is how long a top-level test took.
type testTime struct {
	name    string
	seconds float64
}

type counts struct{ passed, failures, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failures, c.skipped)
}

func (c *counts) add(d counts) {
	c.passed += d.passed
	c.failures += d.failures
	c.skipped += d.skipped
}

// checked records how the check of the code ended.
func (t *tally) checked(command, output string, err error, took, processor time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		fmt.Fprint(t.out, output)
		lines := strings.Split(strings.TrimSpace(output), "\n")
		t.failLocked("%s: %v: %s", command, err, lines[len(lines)-1])
	}
	t.sayLocked("  %-30s in %.0fs, %.0fs of a processor", command, took.Seconds(), processor.Seconds())
}

// noTests records that none of the packages has tests.
func (t *tally) noTests(packages []string) {
	t.say("there are no tests in %s", strings.Join(packages, ", "))
	t.noneDue = true
}

func (t *tally) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sayLocked(format, args...)
}

func (t *tally) sayLocked(format string, args ...any) {
	fmt.Fprintf(t.out, "test: "+format+"\n", args...)
	t.shown = time.Now()
}

func (t *tally) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failLocked(format, args...)
	t.total.failures++
}

func (t *tally) failLocked(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	t.reasons = append(t.reasons, reason)
	t.sayLocked("%s", reason)
}

// begin starts the outcome of a test binary that is about to run.
func (t *tally) begin(name, title string, noSkips bool) *outcome {
	o := &outcome{tally: t, name: name, title: title, noSkips: noSkips, began: time.Now(), output: map[string][]string{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running = append(t.running, o)
	return o
}

// read reads the binary's output, through test2json.
func (o *outcome) read(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			o.line(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (o *outcome) line(line string) {
	o.tally.mu.Lock()
	defer o.tally.mu.Unlock()
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprintln(o.tally.out, line)
		return
	}
	switch e.Action {
	case "run":
		o.open = append(o.open, e.Test)
	case "output":
		o.output[e.Test] = append(o.output[e.Test], e.Output)
	case "build-output":
		fmt.Fprint(o.tally.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			o.failed = e.Action == "fail"
		} else {
			o.testEnd(e)
		}
	}
}

func (o *outcome) testEnd(e event) {
	t := o.tally
	switch e.Action {
	case "pass":
		o.passed++
	case "fail":
		o.failures++
		t.failLocked("failed: %s %s (%s)", o.name, e.Test, o.title)
		t.reasons = append(t.reasons, messages(o.output[e.Test])...)
		o.show(e.Test)
	case "skip":
		o.skipped++
		why := skipReason(o.output[e.Test])
		if o.noSkips {
			t.failLocked("skipped, which is a failure here: %s %s: %s", o.name, e.Test, why)
		} else {
			t.sayLocked("skipped: %s %s: %s", o.name, e.Test, why)
		}
	}
	if !strings.Contains(e.Test, "/") {
		t.times = append(t.times, testTime{o.name + " " + e.Test + " (" + o.title + ")", e.Elapsed})
	}
	delete(o.output, e.Test)
	o.open = slices.DeleteFunc(o.open, func(name string) bool { return name == e.Test })
}

// end completes the binary's outcome. It counts a binary that failed outside of a test, or ran no test, as a failure.
func (o *outcome) end(err error, processor time.Duration) {
	t := o.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case (err != nil || o.failed) && o.failures == 0:
		// It crashed, or ran out of time.
		o.failures++
		t.failLocked("failed: %s, outside of its tests' own checks (%s): %s", o.name, o.title, ending(err))
		o.show("")
		for _, test := range o.open {
			o.show(test)
		}
	case err != nil || o.failed:
		o.show("")
	case o.counts == counts{}:
		o.failures++
		t.failLocked("%s: there was no test (%s)", o.name, o.title)
	}
	t.sayLocked("  %-30s %s in %.0fs, %.0fs of a processor (%s)", o.name, o.counts, time.Since(o.began).Seconds(), processor.Seconds(), o.title)
	t.total.add(o.counts)
	t.running = slices.DeleteFunc(t.running, func(other *outcome) bool { return other == o })
}

func ending(err error) string {
	if err == nil {
		return "it says so itself"
	}
	return err.Error()
}

// show prints the output of a test.
func (o *outcome) show(test string) {
	out := o.tally.out
	for _, line := range o.output[test] {
		if strings.HasPrefix(line, "=== ") || strings.TrimSpace(line) == "FAIL" {
			continue
		}
		fmt.Fprint(out, "    "+line)
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(out)
		}
	}
	delete(o.output, test)
	o.tally.shown = time.Now()
}

// pulse prints the running tests when nothing has been shown for a while.
func (t *tally) pulse(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.running) == 0 || now.Sub(t.shown) < quiet {
		return
	}
	var what []string
	for _, o := range t.running {
		test := "begins"
		if len(o.open) > 0 {
			test = o.open[len(o.open)-1]
		}
		what = append(what, fmt.Sprintf("%s %s, %.0fs", o.name, test, now.Sub(o.began).Seconds()))
	}
	t.sayLocked("  ... %s", strings.Join(what, "; "))
}

// summary prints the last lines and reports whether all is well.
func (t *tally) summary(took time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.times, func(a, b testTime) int { return cmp.Compare(b.seconds, a.seconds) })
	if len(t.times) > slowest {
		t.sayLocked("the slowest tests:")
		for _, slow := range t.times[:slowest] {
			t.sayLocked("  %6.1fs %s", slow.seconds, slow.name)
		}
	}
	if t.total == (counts{}) && len(t.reasons) == 0 && !t.noneDue {
		t.failLocked("nothing was run")
	}
	if len(t.reasons) > 0 {
		t.sayLocked("failures:")
		for _, reason := range t.reasons {
			t.sayLocked("  %s", reason)
		}
	}
	t.sayLocked("the tests took %s", took.Round(time.Second))
	t.sayLocked("%s", t.total)
	return len(t.reasons) == 0
}

// skipReason returns the test's last message, without its file and line.
func skipReason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		line := strings.TrimSpace(output[i])
		if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "===") {
			continue
		}
		if file, text, found := strings.Cut(line, ": "); found && isPlace(file) {
			return text
		}
		return line
	}
	return "no reason given"
}

// messages returns the first lines that a test reported, with their continuation lines. The summary repeats them: a
// reader may see only the end of the log.
func messages(output []string) []string {
	const (
		most    = 8
		longest = 300 // characters
	)
	var found []string
	message := math.MaxInt // the indentation of the last message
	for _, line := range output {
		text := strings.TrimSpace(line)
		indentation := strings.Index(line, text)
		file, _, hasText := strings.Cut(text, ": ")
		switch {
		case text == "" || len(found) == most:
			continue
		case hasText && isPlace(file):
			message = indentation
		case indentation > message:
			text = "  " + text
		default:
			message = math.MaxInt
			continue
		}
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + " ..."
		}
		found = append(found, "  "+text)
	}
	return found
}

func isPlace(text string) bool {
	file, number, found := strings.Cut(text, ":")
	_, err := strconv.Atoi(number)
	return found && err == nil && strings.HasSuffix(file, ".go")
}
