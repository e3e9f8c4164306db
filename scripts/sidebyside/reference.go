package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// reference is a measurement by a program of another project.
type reference struct {
	Tool    string    `json:"tool"` // with its arguments
	What    string    `json:"what"`
	Unit    string    `json:"unit"`
	Values  []float64 `json:"values"`
	Missing string    `json:"missing,omitempty"` // why there are no results
}

func (r reference) text() string {
	if len(r.Values) == 0 {
		return "not measured: " + r.Missing
	}
	return spread(summarize(r.Values))
}

// tool is a program that runs as its own server and client.
type tool struct {
	program       string
	common        []string // arguments of both
	what, unit    string
	value         *regexp.Regexp // with the number as its group
	addressOption string         // "" when the address is the last argument

	// For a program whose server takes arguments of its own: then common is only for the client, and the address goes
	// before its last argument.
	server []string
	last   int  // how many arguments follow the address
	serves bool // until it is ended
}

// clientArguments returns the client's arguments.
func (t tool) clientArguments(address string) []string {
	before := len(t.common) - t.last
	arguments := append([]string{}, t.common[:before]...)
	if t.addressOption != "" {
		arguments = append(arguments, t.addressOption)
	}
	return append(append(arguments, address), t.common[before:]...)
}

// serverArguments returns the server's arguments.
func (t tool) serverArguments() []string {
	if t.server != nil {
		return t.server
	}
	return t.common
}

// perftestRow matches a row of numbers. Its group is the number at a place, counted from 0.
func perftestRow(place int) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\d+\s+\d+` + strings.Repeat(`\s+[\d.]+`, place-2) + `\s+([\d.]+)`)
}

var dapltestBandwidth = regexp.MustCompile(`(?m)^\s*Bandwidth\s*:\s*([\d.]+) MB/sec`)

var dtestLatency = regexp.MustCompile(`PingPong:.* latency ([\d.]+) us`)

// tools lists the programs. perftest measures the device, without uDAPL; dtest and dapltest use an adapter.
func tools(dtest, dapltest, device string, adapters []string, work float64) []tool {
	dtest, dapltest = cmp.Or(dtest, "dtest"), cmp.Or(dapltest, "dapltest")
	count := func(n int) string { return strconv.Itoa(max(int(float64(n)*work), 5)) }
	verbs := func(bytes string, n int) []string { return []string{"-d", device, "-s", bytes, "-n", count(n)} }
	list := []tool{
		{program: "ib_send_lat", common: verbs("8", 1000), what: "half a round trip, 8 B, polling, verbs", unit: "µs", value: perftestRow(4)},
		{program: "ib_send_lat", common: verbs("4096", 500), what: "half a round trip, 4 KiB, polling, verbs", unit: "µs", value: perftestRow(4)},
		{program: "ib_write_bw", common: verbs("65536", 200), what: "RDMA write, 64 KiB, verbs", unit: "MiB/s", value: perftestRow(3)},
		{program: "ib_write_bw", common: verbs("1048576", 12), what: "RDMA write, 1 MiB, verbs", unit: "MiB/s", value: perftestRow(3)},
		{program: "ib_read_bw", common: verbs("65536", 200), what: "RDMA read, 64 KiB, verbs", unit: "MiB/s", value: perftestRow(3)},
	}
	for _, adapter := range adapters {
		list = append(list, tool{
			program: dtest, common: []string{"-P", adapter, "-b", "8", "-B", count(200)}, addressOption: "-h",
			what: "half a round trip, 8 B, dtest on " + adapter, unit: "µs (mean)", value: dtestLatency,
		})
		for _, operation := range []struct{ name, what string }{{"RW", "write"}, {"RR", "read"}} {
			list = append(list, tool{
				program: dapltest, server: []string{"-T", "S", "-D", adapter}, serves: true, addressOption: "-s", last: 3,
				common: []string{"-T", "P", "-D", adapter, "-i", count(200), "-p", "16", "-m", "p", operation.name, "65536", "1"},
				what:   "RDMA " + operation.what + ", 64 KiB, dapltest on " + adapter, unit: "MiB/s", value: dapltestBandwidth,
			})
		}
	}
	return list
}

// measureReferences runs each tool once in each round, and passes each result to found. A tool that cannot run is no
// failure: the result says why.
func measureReferences(list []tool, address string, rounds int, found func(reference)) {
	for _, t := range list {
		r := reference{What: t.what, Unit: t.unit, Tool: strings.Join(append([]string{filepath.Base(t.program)}, t.common...), " ")}
		for range rounds {
			value, err := t.run(address)
			if err != nil {
				r.Values, r.Missing = nil, err.Error()
				break
			}
			r.Values = append(r.Values, value)
		}
		fmt.Fprintln(os.Stderr, "bench:  ", r.What, r.text())
		found(r)
	}
}

// run starts the server, and starts the client until it finds the server.
func (t tool) run(address string) (float64, error) {
	if _, err := exec.LookPath(t.program); err != nil {
		return 0, fmt.Errorf("%s is not installed", filepath.Base(t.program))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := exec.CommandContext(ctx, t.program, t.serverArguments()...)
	if err := server.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() {
		server.Process.Kill()
		<-ended
	}()
	arguments := t.clientArguments(address)
	// A client that comes before the server listens gives up at once.
	for {
		output, err := exec.CommandContext(ctx, t.program, arguments...).CombinedOutput()
		if found := t.value.FindSubmatch(output); found != nil {
			if t.serves {
				return strconv.ParseFloat(string(found[1]), 64)
			}
			select {
			case <-ended:
				ended <- nil
			case <-ctx.Done():
			}
			return strconv.ParseFloat(string(found[1]), 64)
		}
		select {
		case <-ended:
			ended <- nil
			return 0, fmt.Errorf("its server ended, and the client with %v: %s", err, lastLine(output))
		case <-ctx.Done():
			return 0, fmt.Errorf("it gave no result within %v: %v: %s", patience, err, lastLine(output))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// lastLine returns the last line that has a letter.
func lastLine(output []byte) string {
	last := ""
	for line := range strings.Lines(string(output)) {
		if strings.ContainsFunc(line, unicode.IsLetter) {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// deviceOf returns the name of the first RDMA device.
func deviceOf() string {
	devices, err := filepath.Glob("/sys/class/infiniband/*")
	if err != nil || len(devices) == 0 {
		return ""
	}
	return filepath.Base(devices[0])
}
