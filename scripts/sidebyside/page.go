package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// makePage writes the page on performance from a file of results.
func makePage(file, page string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if len(r.Results) == 0 && r.Scale == nil && r.Calls == nil {
		return fmt.Errorf("%s has no results", file)
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

// pageFor gives the new text of the page. Its sections that are not of this run stay as they are, and so does the part that
// leads, from a real processor, when this run had an emulated one.
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
	case r.Machine.emulated() && leadsWithRealProcessor(text):
		text = withSection(text, emulationTitle, r.emulationSection())
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

// leadsWithRealProcessor tells from the table of the machine, which comes before the first section.
func leadsWithRealProcessor(page string) bool {
	lead, _, _ := strings.Cut(page, "\n## ")
	_, seen, found := strings.Cut(lead, processorRow)
	return found && !(machine{Processor: seen}).emulated()
}

const processorRow = "| Processor that the programs saw | "

const introduction = `# Performance

What goudat costs, next to a program in C that does the same work with the same native library. This page is made from
one run of

    %s

which builds both programs, runs them by turns on each provider, and compares them round by round. Another run gives
other numbers: what counts is the column Go/C. Each cell is the median of %d rounds, with the quartiles in brackets, between
which half of the rounds lie.

| | |
|---|---|
| Machine | %s, load %s at the start |
` + processorRow + `%s, %d of them |
| Kernel | %s |
| Native stack | %s |
| Compilers | %s; %s |

`

const userModeNote = `The kernel was User-Mode Linux (` + "`scripts/testbed --accel uml`" + `): it and the programs are processes of the machine, so that the code
ran on its processor, without emulation. System calls take about 3 µs there in place of some tenths, and threads of one process
take turns. What sleeps and is woken is therefore *not measured well here*; [Under emulation](#under-emulation) has it, if it was
measured. Whoever polls had two processors, and all else one.

`

const (
	emulationTitle        = "## Under emulation"
	emulationIntroduction = emulationTitle + `

From a run of its own, of

    %s

in a virtual machine whose processor is emulated (%s, %d of them, on %s, load %s at the start); %s; %s; %s; %s. Cells are as above.
How long something takes, and what Go's part of it is, is mostly the emulator's here; but a system call does not take longer than
everything else, so that what sleeps and is woken can be compared.

`
)

const explanation = `## What is measured

Both twins, [scripts/sidebyside/ctwin](../scripts/sidebyside/ctwin) and [scripts/sidebyside/gotwin](../scripts/sidebyside/gotwin),
are two processes each, a server and a client, and make the same calls in the same order. The one in Go uses the package
` + "`udat`" + ` as any program can: ` + "`PostBatch`, `Poll` and `SpinPoll`" + ` do many operations in one crossing into C. While one twin
works the other waits for its turn, and uses no processor. Client and server are pinned to a processor each. Those in
Go run with GOMAXPROCS=2: with the 1 that pinning implies, Go's runtime takes the processor away from calls into C.

* **Round trip**: the server answers each message; the median of all messages of a round, and *for a second* the mean, in
  which each pause counts. Receives are posted, and
  completions of sends taken, 32 at a time and while a message is on its way. *Polling* looks again and again;
  *waiting* is ` + "`dat_evd_wait`" + ` in C, which sleeps until the completion is there, and ` + "`WaitBatch`" + ` in Go, which looks for it
  for about as long as it takes to be woken, and then sleeps; *sleeping* is the same in C, and in Go without that look
  (` + "`SetWaitSpin(0)`" + `). A program in C can spin before it waits too. *Polling memory* has no messages: both sides write
  to each other's memory by RDMA, and look at the last byte of their own, with an atomic load in C and ` + "`PeerByte.SpinUntil`" + `
  in Go.
* **Messages**: sends are posted as others complete. The server takes the messages and posts receives in their place.
* **RDMA**: bytes that were written or read in a second, with 16 operations outstanding of 64 KiB and 4 of 1 MiB.
* **Connect and disconnect**: an endpoint is made, connected, disconnected by the client, and freed.
* **get_status**: one call on a connected endpoint.
`

func (r report) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, introduction, r.Command, r.Rounds, m.Host, m.Load, m.Processor, m.CPUs, m.Kernel, m.Stack, m.Compiler, m.Go)
	if m.userMode() {
		b.WriteString(userModeNote)
	}
	if !m.emulated() && r.latencyPlot() != "" {
		b.WriteString(image(latencyPlot, "Round trips over the size of the message, in C and in Go"))
	}
	r.writeTables(&b, "##")
	r.writeMisses(&b)
	if m.emulated() {
		writeReasons(&b, emulationReasons, r.Results)
	}
	r.writeReferences(&b)
	b.WriteString(explanation)
	return b.String()
}

// emulationSection is the part of the page for a run in an emulated machine, below one on a real processor.
func (r report) emulationSection() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, emulationIntroduction, r.Command, m.Processor, m.CPUs, m.Host, m.Load, m.Kernel, m.Stack, m.Compiler, m.Go)
	r.writeTables(&b, "###")
	writeReasons(&b, emulationReasons, r.Results)
	return b.String()
}

// writeTables writes a table for each adapter, under headings of this level.
func (r report) writeTables(b *strings.Builder, level string) {
	adapter := ""
	for _, result := range r.Results {
		if result.Bytes != 0 {
			continue
		}
		if result.Adapter != adapter {
			if adapter != "" {
				b.WriteString("\n")
			}
			adapter = result.Adapter
			fmt.Fprintf(b, "%s %s\n\n| | C | Go | unit | Go/C | goal | |\n|---|---:|---:|---|---:|---|---|\n", level, adapter)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | **%.3f** (%.3f to %.3f) | %s | %s |\n", result.Measurement, spread(summarize(result.C)),
			spread(summarize(result.Go)), result.Unit, result.ratio().median, result.ratio().low, result.ratio().high, goalText(result), verdict(result))
	}
	b.WriteString("\n")
}

// reasons hold on any machine.
var reasons = []reason{
	{"waiting", "The provider's thread is woken, which writes to an eventfd, for which Go's poller wakes the binding's goroutine for " +
		"notifications, which wakes the one that waits. That is the price of sleeping without a thread for each goroutine."},
}

// reason says why Go takes longer with some measurements.
type reason struct{ measurement, text string }

// userModeReasons are from system calls counted with strace in the twins under User-Mode Linux, where each takes 3 µs.
var userModeReasons = []reason{
	{"connect", "The native library makes the same system calls for both twins: 50 for a connection on the client's side over CMA. Go's " +
		"runtime makes as many more. Half of them or more are its monitor thread's, which looks every 20 µs for a while whenever the process has " +
		"slept; the rest are the poller's, and wake threads for goroutines. On a machine with a processor to spare the monitor thread " +
		"delays nobody, and system calls take a tenth of the time."},
}

// emulationReasons are from profiles of the twins in the emulated test bed, and hold there alone.
var emulationReasons = []reason{
	{"polling", "It is the post that takes longer, and the part of it in C. In the test bed `dat_ep_post_send`, which over soft-RoCE is a " +
		"system call that moves the message, took 36 µs in the twin in C, and 46 µs in the one in Go, with the clock read in C right " +
		"before and after the same call; what Go adds around that was 1 µs. A profile has 1.5 to 1.8 times as many samples in the " +
		"functions of the kernel that branch much, and no more in those that are one loop. More threads, more memory in use and a " +
		"timer that ticks made the twin in C no slower. Code that runs between the posts does: one that called 200 more small functions " +
		"before each post took 44 µs for the post in place of 34, and one that counted for longer than these take, 36. We take it for " +
		"the emulator's table of translated code, where the program pushes out the kernel's, and have no other machine to see it on."},
	{"messages", "Go's monitor thread takes the processor of a goroutine that it has found in C for 10 ms, and looks every 20 µs for a " +
		"while after that; here it has no processor of its own. Since `SpinPoll` lets others run every 5 ms the thread woke 171 times " +
		"in 6000 round trips in place of 1864, and messages went from 0.6 of what C does to what the table has. The rest is as with polling."},
	{"RDMA", "The client polls on the processor on which soft-RoCE moves the bytes. See messages and polling."},
	{"connect", "A profile of the client has 24 % of the samples in the monitor thread of Go's runtime, which looks every 20 µs for a while " +
		"whenever the process has slept, 10 % in its scheduler, and 4 % in making the endpoint; the rest is the native library and the " +
		"kernel. Each event of a connection takes the way of a wait that sleeps, and requests are first taken off the library's queue by " +
		"a goroutine of the binding's own."},
}

// writeMisses says which goals were not met, by how much, and why.
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
		fmt.Fprintf(b, "* %s, %s: %.3f, %s by the goal: %s.\n", result.Measurement, result.Adapter, result.ratio().median, goalText(result), verdict(result))
	}
	b.WriteString("\n")
	writeReasons(b, reasons, missed)
	if r.Machine.userMode() {
		writeReasons(b, userModeReasons, missed)
	}
}

// writeReasons writes those that are about one of the results.
func writeReasons(b *strings.Builder, list []reason, results []result) {
	for _, reason := range list {
		if slices.ContainsFunc(results, func(r result) bool { return strings.Contains(r.Measurement, reason.measurement) }) {
			fmt.Fprintf(b, "**%s**: %s\n\n", strings.ToUpper(reason.measurement[:1])+reason.measurement[1:], reason.text)
		}
	}
}

func (r report) writeReferences(b *strings.Builder) {
	if len(r.References) == 0 {
		return
	}
	b.WriteString("## Other programs beside them\n\nMeasured in the same run, on the same device, by programs that are not goudat's:\n\n" +
		"| | | unit | program |\n|---|---:|---|---|\n")
	for _, reference := range r.References {
		value := "not measured: " + reference.Missing
		if len(reference.Values) > 0 {
			value = spread(summarize(reference.Values))
		}
		fmt.Fprintf(b, "| %s | %s | %s | `%s` |\n", reference.What, value, reference.Unit, reference.Tool)
	}
	b.WriteString("\n")
}
