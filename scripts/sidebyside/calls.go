package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// calls are the costs of single calls, in C and in Go, without a network.
type calls struct {
	Command string    `json:"command"`
	Machine machine   `json:"machine"`
	Costs   []oneCall `json:"costs"`
}

// oneCall is the cost of one way to make a call.
type oneCall struct {
	Adapter      string    `json:"adapter"`
	Call         string    `json:"call"`
	In           string    `json:"in"` // C, cgo, udat or batch
	Time         []float64 `json:"time_ns"`
	Instructions []float64 `json:"instructions"`
}

// callLine is a line of BenchmarkCall.
var callLine = regexp.MustCompile(`^BenchmarkCall/ia=([^/]+)/call=([^/]+)/in=(C|cgo|udat|batch)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// runCalls runs the benchmarks of a test binary. In a machine whose clock counts instructions, the results are
// instructions.
func (c *calls) run(binary string, rounds, operations int, instructions bool) error {
	command := exec.Command(binary, "-test.run", "^$", "-test.bench", "^BenchmarkCall$", "-test.count", strconv.Itoa(rounds),
		"-test.benchtime", strconv.Itoa(operations)+"x")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return c.read(string(output), instructions)
}

func (c *calls) read(output string, instructions bool) error {
	found := 0
	for line := range strings.Lines(output) {
		parts := callLine.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		value, err := strconv.ParseFloat(parts[4], 64)
		if err != nil {
			return err
		}
		found++
		one := c.of(parts[1], parts[2], parts[3])
		if instructions {
			one.Instructions = append(one.Instructions, value)
		} else {
			one.Time = append(one.Time, value)
		}
	}
	if found == 0 {
		return fmt.Errorf("there is no result of BenchmarkCall in\n%s", output)
	}
	return nil
}

// of returns the cost of a call. It adds the call if it is missing.
func (c *calls) of(adapter, call, in string) *oneCall {
	if one := c.find(adapter, call, in); one != nil {
		return one
	}
	c.Costs = append(c.Costs, oneCall{Adapter: adapter, Call: call, In: in})
	return &c.Costs[len(c.Costs)-1]
}

func (c *calls) find(adapter, call, in string) *oneCall {
	for i := range c.Costs {
		if one := &c.Costs[i]; one.Adapter == adapter && one.Call == call && one.In == in {
			return one
		}
	}
	return nil
}

const callsTitle = "## What a call costs beyond C"

const callsIntroduction = callsTitle + `

The same call on the same object, without a network, made in four ways: in a loop in C; by the [thin layer](../lifecycle.md#the-thin-layer), package
` + "`" + `cgo` + "`" + `, with one crossing into C for each call; by package ` + "`" + `udat` + "`" + `; and, where ` + "`" + `udat` + "`" + ` can, many calls in one crossing (` + "`" + `PostBatch` + "`" + `,
` + "`" + `Poll` + "`" + `). The numbers for Go are the cost added to C. They are medians of [BenchmarkCall](../../scripts/sidebyside/callcost/call_cost_test.go), run by

    %s

on %s, %s, load %s at the start; %s; %s. **Nothing** calls a C function that does nothing: the cost of a crossing. A software event
is posted and taken. The receives that are posted, and the completions that are taken, are those of a connected endpoint whose
queues are not new; "many" are 64. **Look** is one look at a byte that
a peer may write: in C an atomic load, in Go ` + "`" + `PeerByte.Load` + "`" + `; many looks are one call of ` + "`" + `SpinUntil` + "`" + `.

`

const instructionsIntroduction = `The instructions of the whole processor, counted in a virtual machine whose clock advances with each instruction
(` + "`" + `scripts/testbed --accel count` + "`" + `):

`

func (c *calls) markdown() string {
	var b strings.Builder
	m := c.Machine
	fmt.Fprintf(&b, callsIntroduction, c.Command, m.Processor, m.Kernel, m.Load, m.Stack, m.Go)
	c.write(&b, "ns", func(o *oneCall) []float64 { return o.Time })
	b.WriteString(instructionsIntroduction)
	c.write(&b, "instructions", func(o *oneCall) []float64 { return o.Instructions })
	return b.String()
}

var ways = []string{"cgo", "udat", "batch"}

// write writes the table of the calls' costs in one unit.
func (c *calls) write(w io.Writer, unit string, valuesOf func(*oneCall) []float64) {
	var rows [][]string
	for i := range c.Costs {
		base := &c.Costs[i]
		if base.In != "C" || len(valuesOf(base)) == 0 {
			continue
		}
		inC := summarize(valuesOf(base)).median
		row := []string{base.Call + ", " + base.Adapter, number(inC)}
		for _, way := range ways {
			cell := ""
			if one := c.find(base.Adapter, base.Call, way); one != nil && len(valuesOf(one)) > 0 {
				cell = beyond(summarize(valuesOf(one)).median - inC)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	writeTable(w, "lrrrr", []string{"", "C, " + unit, "`cgo`", "`udat`", "`udat`, many in one crossing"}, rows)
}

// beyond shows a difference with its sign.
func beyond(difference float64) string {
	if difference >= 0 {
		return "+" + number(difference)
	}
	return number(difference)
}
