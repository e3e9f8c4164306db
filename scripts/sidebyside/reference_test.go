package main

import (
	"strings"
	"testing"
)

// Rows as the programs print them.
const (
	latencyRow = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]
 8       200          19.20          160609.43      21.82    	       7150.35     	-nan   		131099.29
`
	bandwidthRow = ` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      50               38.52              11.26  		   0.000180
`
	dapltestRow = "    Operation Throughput : 459.38 ops/sec\n    Bandwidth            : 28.71 MB/sec\n"
	dtestRow    = "114: Message PingPong: (100 x 8) Total 2692373.99 us: latency 13461.87 us, BW 0.00 MB/s\n"
)

func TestNumbersOfOtherPrograms(t *testing.T) {
	for _, tool := range tools("/somewhere/dtest", "/somewhere/dapltest", "rxe0", []string{"adapter"}, 1) {
		text, want := dtestRow, "13461.87"
		switch tool.program {
		case "ib_send_lat":
			text, want = latencyRow, "21.82"
		case "ib_write_bw", "ib_read_bw":
			text, want = bandwidthRow, "11.26"
		case "/somewhere/dapltest":
			text, want = dapltestRow, "28.71"
		}
		if found := tool.value.FindStringSubmatch(text); found == nil || found[1] != want {
			t.Errorf("%s: found %q, want %s", tool.program, found, want)
		}
	}
}

// A missing program does not fail the run.
func TestMissingProgram(t *testing.T) {
	list := []tool{{program: "no-such-program-as-this", common: []string{"-x"}, what: "something", value: dtestLatency}}
	var got []reference
	measureReferences(list, "127.0.0.1", 3, func(found reference) { got = append(got, found) })
	if len(got) != 1 || got[0].Missing == "" || len(got[0].Values) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestArgumentsOfOtherPrograms(t *testing.T) {
	for _, c := range []struct {
		tool           tool
		server, client string
	}{
		{tool{common: []string{"-d", "x"}}, "-d x", "-d x address"},
		{tool{common: []string{"-d", "x"}, addressOption: "-h"}, "-d x", "-d x -h address"},
		{tool{common: []string{"-p", "4", "RW", "8"}, addressOption: "-s", server: []string{"-T", "S"}, last: 2}, "-T S", "-p 4 -s address RW 8"},
	} {
		server, client := strings.Join(c.tool.serverArguments(), " "), strings.Join(c.tool.clientArguments("address"), " ")
		if server != c.server || client != c.client {
			t.Errorf("the server has %q, the client %q; want %q and %q", server, client, c.server, c.client)
		}
	}
}
