package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const callOutput = `goos: linux
BenchmarkCall/ia=one/call=dat_x/in=C-2         	    2000	       100.0 ns/op	       0 B/op	       0 allocs/op
BenchmarkCall/ia=one/call=dat_x/in=cgo-2       	    2000	       150.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkCall/ia=one/call=dat_x/in=C           	    2000	       102.0 ns/op
BenchmarkCall/ia=one/call=dat_x/in=udat-2      	    2000	        91.0 ns/op
PASS
`

func TestCalls(t *testing.T) {
	var c calls
	for _, instructions := range []bool{false, true} {
		if err := c.read(callOutput, instructions); err != nil {
			t.Fatal(err)
		}
	}
	want := oneCall{Adapter: "one", Call: "dat_x", In: "C", Time: []float64{100, 102}, Instructions: []float64{100, 102}}
	if len(c.Costs) != 3 || !cmp.Equal(c.Costs[0], want) {
		t.Errorf("got %+v", c.Costs)
	}
	c.Command = "scripts/bench --calls --page"
	text := c.markdown()
	for _, want := range []string{callsTitle + "\n", "    scripts/bench --calls --page\n", "| C, ns |", "| C, instructions |",
		"\n| dat_x, one | 101 | +49.5 | -10.0 |  |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the section lacks %q:\n%s", want, text)
		}
	}
	if c.read("PASS\n", false) == nil {
		t.Error("an output without results is no error")
	}
}
