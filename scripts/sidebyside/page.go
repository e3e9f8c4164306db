package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// makePage writes the page on performance from a results file.
func makePage(file, page string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if len(r.Results) == 0 && r.Scale == nil && r.Calls == nil {
		return fmt.Errorf("%s has no results", file)
	}
	if len(r.Results) > 0 && r.Machine.emulated() {
		return errEmulated
	}
	text, err := r.pageFor(page)
	if err != nil {
		return err
	}
	if err := r.writePlots(filepath.Dir(page)); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

var errEmulated = errors.New("the processor was emulated: most of the times are the emulator's, and no page has them")

// pageFor returns the new text of the page. Sections that are not of this run stay as they are.
func (r report) pageFor(page string) (string, error) {
	former, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	text := string(former)
	switch {
	case len(r.Results) == 0 && text == "":
		return "", fmt.Errorf("%s is not there, and this run has only sections for it", page)
	case len(r.Results) == 0:
	default:
		text = r.markdown()
	}
	if r.Calls != nil {
		text = withSection(text, callsTitle, r.Calls.markdown())
	}
	if r.Scale != nil {
		text = withSection(text, scaleTitle, r.Scale.markdown())
	}
	return keepSections(page, text)
}

const introduction = `# Performance

What goudat costs, compared with a C program that does the same work with the same native library. The page comes from
one run of

    %s

It builds both programs, runs them by turns on each provider, and compares them round by round. The numbers change from
run to run; the column Go/C matters. Each cell is the median of %d rounds, with the quartiles in brackets: half of the
rounds lie between them.

| | |
|---|---|
| Machine | %s, load %s at the start |
| Processor that the programs saw | %s, %d of them |
| Kernel | %s |
| Native stack | %s |
| Compilers | %s; %s |

`

const userModeNote = `The kernel was User-Mode Linux (` + "`" + `scripts/testbed --accel uml` + "`" + `). The kernel and the programs are processes of the host, and run
on its processor without emulation. System calls take several µs there instead of some tenths of one, and the threads
of a process take turns. Sleeping and waking are therefore *not reliable here*. Measurements that poll had two processors, all
others had one. Those at a fixed rate had two. The programs were in the scheduling class *idle*: soft-RoCE moves data in threads of the kernel, which otherwise
wait until a program that polls has used up its clock tick of 10 ms.

`

const explanation = `## What is measured

Both twins, [scripts/sidebyside/ctwin](../../scripts/sidebyside/ctwin) and [examples/interop/udatperf](../../examples/interop/udatperf),
are two processes each, a server and a client. Both twins make the same calls in the same order. The Go twin uses
package ` + "`" + `udat` + "`" + ` as any program can: ` + "`" + `PostBatch` + "`" + `, ` + "`" + `Poll` + "`" + ` and ` + "`" + `SpinPoll` + "`" + ` do many operations in one crossing into C. While one
twin works, the other waits for its turn and uses no processor. Client and server are each pinned to one processor. The
Go programs run with GOMAXPROCS=2: with 1, the default after pinning, Go's runtime takes the processor away from calls into C.

* **Round trip**: the server answers each message. The number is the median of all messages of a round; *for a second*, it is
  the mean, in which each pause counts. Receives are posted, and completions of sends taken, 32 at a time while a message is
  on its way.
  * *Polling* looks again and again.
  * *Waiting* is ` + "`" + `dat_evd_wait` + "`" + ` in C, which sleeps until the completion is there. In Go it is ` + "`" + `WaitBatch` + "`" + `, which polls for about
    as long as a wake-up takes, and then sleeps. A C program can poll before it waits, too.
  * *Sleeping* is the same in C. In Go it waits without polling first (` + "`" + `SetWaitSpin(0)` + "`" + `).
  * *Polling memory* has no messages: the sides write to each other's memory by RDMA, and poll the last byte of their own, with
    an atomic load in C and ` + "`" + `PeerByte.SpinUntil` + "`" + ` in Go.
* **Messages**: the client posts a send whenever one completes. The server takes the messages and posts their receives again.
* **RDMA**: bytes written or read per second, with 16 operations of 64 KiB outstanding, or 4 of 1 MiB.
* **Connect and disconnect**: an endpoint is created, connected, disconnected by the client, and freed.
* **get_status**: one call on a connected endpoint.
* **Processor time**: what both sides use for each operation, user and system, by ` + "`" + `getrusage` + "`" + `. Kernels count it in clock ticks,
  so it is the mean of all rounds. User-Mode Linux counts all of it as the system's.
* **At 1000/s**: a request is due each millisecond, whether or not the one before it is answered. The number is the time from when it
  was due until its answer was taken: a program that is stopped for 10 ms answers ten requests late. *Polling* does all in one thread.
  *Waiting* has a thread that sleeps until a request is due and sends it, and one that waits for the answers; the server waits.
  * *Beside churn*, another thread of each side makes an endpoint, connects, disconnects and frees it, with a pause of 20 ms, or
    *unpaced*, without one. It uses the same event dispatchers, or those *of its own*. All threads of a side share
    its processor. A connection takes 2 to 3 ms of that. So with pauses it is free most of the time, and p90 tells who waits for a
    lock; unpaced churn tells also of too little processor time.
  * *Beside a cut-off peer*, an endpoint is freed whose peer is on a machine that was cut off, on the same event dispatchers.
  * *P90 over that of quiet* compares with as many round trips just before. Its goal is one for Go alone.
  * *100 endpoints* are connected on the same event dispatchers, else 2.
  * The Go twin has GOMAXPROCS=4 for this: a goroutine in C keeps its processor of Go's until the monitor thread sees that, which can take
    10 ms. With 2, a third one that comes back from C meanwhile waits for that.
`

func (r report) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, introduction, r.Command, r.Rounds, m.Host, m.Load, m.Processor, m.CPUs, m.Kernel, m.Stack, m.Compiler, m.Go)
	if m.userMode() {
		b.WriteString(userModeNote)
	}
	if r.latencyPlot() != "" {
		b.WriteString(image(latencyPlot, "Round trips over the size of the message, in C and in Go"))
	}
	r.writeTables(&b)
	r.writeMisses(&b)
	r.writeReferences(&b)
	b.WriteString(explanation)
	return b.String()
}

// writeTables writes a table for each adapter.
func (r report) writeTables(w io.Writer) {
	for _, group := range groups(r.Results, func(r result) string { return r.Adapter }) {
		var rows [][]string
		for _, result := range group.list {
			if result.Bytes != 0 {
				continue // of a plot
			}
			ratio := result.ratio()
			rows = append(rows, []string{result.Measurement, spread(summarize(result.C)), spread(summarize(result.Go)), result.Unit,
				fmt.Sprintf("**%.3f** (%.3f to %.3f)", ratio.median, ratio.low, ratio.high), goalText(result), verdict(result)})
		}
		fmt.Fprintf(w, "## %s\n\n", group.title)
		writeTable(w, "lrrlrll", []string{"", "C", "Go", "unit", "Go/C", "goal", ""}, rows)
	}
}

// reasons are those that hold on any machine.
var reasons = []reason{
	{"waiting", "The completion wakes the provider's thread, which writes to an eventfd. That wakes the thread of the goroutine that waits. " +
		"In C, the completion wakes the program's thread directly."},
}

// reason says why Go takes longer in some measurements.
type reason struct{ measurement, text string }

// userModeReasons are from experiments under User-Mode Linux, where a system call takes several µs, and hold only there.
var userModeReasons = []reason{
	{"RDMA", "soft-RoCE moves the bytes before the call that posts returns, on the program's own processor: 16 posts of 64 KiB take " +
		"milliseconds. Go's monitor thread shares that processor, and runs more often while single calls into C take that long. An " +
		"RDMA adapter moves the bytes itself."},
	{"for a second", "The mean counts pauses, of which Go has more. `SpinPoll` lets other goroutines run every 5 ms; otherwise Go's monitor " +
		"thread takes the processor after 10 ms. Letting others run wakes a thread that looks for work. Here it must share the " +
		"processor of the one that polls. By `/proc/PID/task/*/status`, this thread wakes 300 times a second on each side, and the " +
		"monitor thread 110 times. In C no thread wakes."},
	{"connect", "The threads that work sleep and wake as often in both twins, by `/proc/PID/task/*/status`. Go has two more, which wake three " +
		"times in two connections, on each side: the monitor thread, and the one that looks for work whenever a wait lets others run, every " +
		"5 ms. Each time costs several system calls. If waits let others run every 8 ms, the ratio is the same; if never, the monitor " +
		"thread wakes six times for each connection, and the ratio is lower by a sixth."},
	{"churn", "The thread that makes and frees endpoints shares the processor with whatever a message wakes: in C the provider's thread and the " +
		"program's, in Go also the one that looks for goroutines to run. In C, too, the p90 rises, by 1.3 to 2 times."},
}

// writeMisses lists the goals that were not met, by how much, and why.
func (r report) writeMisses(b *strings.Builder) {
	var missed []result
	for _, result := range r.Results {
		if !result.met(result.ratio().median) {
			missed = append(missed, result)
		}
	}
	b.WriteString("## Goals that were not met\n\n")
	if len(missed) == 0 {
		b.WriteString("None: all were met.\n\n")
		return
	}
	for _, result := range missed {
		fmt.Fprintf(b, "* %s, %s: %.3f, goal %s: %s.\n", result.Measurement, result.Adapter, result.ratio().median, goalText(result), verdict(result))
	}
	b.WriteString("\n")
	writeReasons(b, reasons, missed)
	if r.Machine.userMode() {
		writeReasons(b, userModeReasons, missed)
	}
}

// writeReasons writes the reasons for any of the results.
func writeReasons(b *strings.Builder, list []reason, results []result) {
	for _, reason := range list {
		if slices.ContainsFunc(results, func(r result) bool { return strings.Contains(r.Measurement, reason.measurement) }) {
			fmt.Fprintf(b, "**%s**: %s\n\n", strings.ToUpper(reason.measurement[:1])+reason.measurement[1:], reason.text)
		}
	}
}

func (r report) writeReferences(w io.Writer) {
	if len(r.References) == 0 {
		return
	}
	fmt.Fprint(w, "## Other programs\n\nMeasured in the same run, on the same device, with programs of other projects:\n\n")
	var rows [][]string
	for _, reference := range r.References {
		rows = append(rows, []string{reference.What, reference.text(), reference.Unit, "`" + reference.Tool + "`"})
	}
	writeTable(w, "lrll", []string{"", "", "unit", "program"}, rows)
}
