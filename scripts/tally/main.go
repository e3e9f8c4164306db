// Command tally reads what "go test -json" prints, shows how far the tests are and what fails, and ends with their
// number. It is a part of scripts/test.
//
// Lines that are not JSON tell it about the runs: "run NAME" before the output of each "go test", "run-noskip NAME"
// when a skipped test is a failure there, and "exit CODE" after it. "check NAME" is a check of the code that has failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quiet is how long nothing may be shown before a line tells that the tests still run.
const quiet = 20 * time.Second

func main() {
	t := &tally{out: os.Stdout, shown: time.Now()}
	go func() {
		for range time.Tick(time.Second) {
			t.pulse(time.Now())
		}
	}()
	if err := t.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "test: reading the output of go test: %v\n", err)
		os.Exit(1)
	}
	if !t.summary() {
		os.Exit(1)
	}
}

// event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

type tally struct {
	mu sync.Mutex

	out   io.Writer
	shown time.Time // when something was shown last

	// The run.
	name    string
	noSkips bool
	running bool
	before  counts // at its start

	// The package. With -p 1 there is one at a time.
	current string
	started time.Time
	pkg     counts
	open    []string            // tests that have not ended, in the order of their start
	output  map[string][]string // by test, "" for the package's own

	total   counts
	reasons []string // why it is not a success, one line each
}

type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func (c *counts) add(d counts) {
	c.passed += d.passed
	c.failed += d.failed
	c.skipped += d.skipped
}

func (t *tally) say(format string, args ...any) {
	fmt.Fprintf(t.out, "test: "+format+"\n", args...)
	t.shown = time.Now()
}

func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.line(strings.TrimSuffix(line, "\n"))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) line(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var e event
	if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil {
		t.event(e)
		return
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "run", "run-noskip":
		t.name, t.noSkips, t.running, t.before = rest, word == "run-noskip", true, t.total
		t.say("%s", rest)
	case "exit":
		t.exit(rest)
	case "check":
		t.reasons = append(t.reasons, rest+" complains")
	default:
		fmt.Fprintln(t.out, line)
	}
}

// exit ends a run. One that failed without a test that failed would otherwise look like a success, and so would one
// that ran nothing.
func (t *tally) exit(code string) {
	t.running = false
	if t.current != "" {
		t.fail("%s: go test ended within %s", t.name, t.current)
		t.show("")
		t.total.failed++
		t.endPackage()
	}
	ran := t.total != t.before
	switch {
	case code != "0" && t.total.failed == t.before.failed:
		t.fail("%s: go test failed, exit code %s, see above", t.name, code)
		t.total.failed++
	case code == "0" && !ran:
		t.fail("%s: there was no test", t.name)
		t.total.failed++
	}
}

func (t *tally) event(e event) {
	switch e.Action {
	case "start":
		t.current, t.started = e.Package, time.Now()
		t.pkg, t.open, t.output = counts{}, nil, map[string][]string{}
		return
	case "build-output":
		fmt.Fprint(t.out, e.Output)
		return
	}
	if t.output == nil {
		t.output = map[string][]string{}
	}
	switch e.Action {
	case "run":
		t.open = append(t.open, e.Test)
	case "output":
		t.output[e.Test] = append(t.output[e.Test], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.packageEnd(e)
		} else {
			t.testEnd(e)
		}
	}
}

func (t *tally) testEnd(e event) {
	switch e.Action {
	case "pass":
		t.pkg.passed++
	case "fail":
		t.pkg.failed++
		t.fail("failed: %s %s", short(e.Package), e.Test)
		t.reasons = append(t.reasons, messages(t.output[e.Test])...)
		t.show(e.Test)
	case "skip":
		t.pkg.skipped++
		why := skipReason(t.output[e.Test])
		if t.noSkips {
			t.fail("skipped, which is a failure here: %s %s: %s", short(e.Package), e.Test, why)
		} else {
			t.say("skipped: %s %s: %s", short(e.Package), e.Test, why)
		}
	}
	delete(t.output, e.Test)
	t.open = slices.DeleteFunc(t.open, func(name string) bool { return name == e.Test })
}

func (t *tally) packageEnd(e event) {
	switch {
	case e.Action == "fail" && t.pkg.failed == 0:
		// It does not build, or crashed, or ran out of time.
		t.pkg.failed++
		t.fail("failed: %s, outside of its tests' own checks", short(e.Package))
		t.show("")
		for _, test := range t.open {
			t.show(test)
		}
	case e.Action == "fail":
		t.show("")
	}
	if t.pkg != (counts{}) {
		t.say("  %-40s %s in %.1fs", short(e.Package), t.pkg, e.Elapsed)
	}
	t.endPackage()
}

func (t *tally) endPackage() {
	t.total.add(t.pkg)
	t.current, t.open, t.pkg, t.output = "", nil, counts{}, nil
}

// show prints the output of a test.
func (t *tally) show(test string) {
	for _, line := range t.output[test] {
		if strings.HasPrefix(line, "=== ") || strings.TrimSpace(line) == "FAIL" {
			continue
		}
		fmt.Fprint(t.out, "    "+line)
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(t.out)
		}
	}
	delete(t.output, test)
	t.shown = time.Now()
}

func (t *tally) fail(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	t.reasons = append(t.reasons, reason)
	t.say("%s", reason)
}

// pulse tells what runs when nothing has been shown for a while.
func (t *tally) pulse(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running || now.Sub(t.shown) < quiet {
		return
	}
	switch {
	case t.current == "":
		t.say("  ... building")
	case len(t.open) == 0:
		t.say("  ... building or starting %s, %.0fs", short(t.current), now.Sub(t.started).Seconds())
	default:
		t.say("  ... %s %s, %s so far, %.0fs", short(t.current), t.open[len(t.open)-1], t.pkg, now.Sub(t.started).Seconds())
	}
}

// summary prints the last line and tells whether all is well.
func (t *tally) summary() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.running:
		t.fail("%s: it did not end", t.name)
		t.total.add(t.pkg)
		t.total.failed++
	case t.name == "":
		t.fail("nothing was run")
	}
	if len(t.reasons) > 0 {
		t.say("these are why it is not a success:")
		for _, reason := range t.reasons {
			t.say("  %s", reason)
		}
	}
	t.say("%s", t.total)
	return len(t.reasons) == 0
}

// short is a package's folder in the checkout.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/goudat/goudat/")
}

// skipReason is what the test said last, without the place where it said it.
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

// messages are the first lines that a test reported. The summary repeats them, as a log may reach its reader as nothing
// but its end.
func messages(output []string) []string {
	const (
		most    = 3
		longest = 300 // characters
	)
	var found []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		file, _, hasText := strings.Cut(line, ": ")
		if !hasText || !isPlace(file) || len(found) == most {
			continue
		}
		if len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + " ..."
		}
		found = append(found, "  "+line)
	}
	return found
}

func isPlace(text string) bool {
	file, number, found := strings.Cut(text, ":")
	_, err := strconv.Atoi(number)
	return found && err == nil && strings.HasSuffix(file, ".go")
}
