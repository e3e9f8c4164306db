package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func TestFlags(t *testing.T) {
	server := options{size: defaultSize, burst: defaultBurst, signalRate: 10}
	for line, change := range map[string]func(*options){
		"":                        func(o *options) {},
		"-h 10.1.2.3 -P cma:eth0": func(o *options) { o.host, o.provider = "10.1.2.3", "cma:eth0" },
		"-hone -stpb4096 -B 7":    func(o *options) { o.times, o.polling, o.size, o.burst, o.signalRate = true, true, 4096, 7, 7 },
		"-uvcd 3":                 func(o *options) { o.unidirectional, o.verbose, o.useCNO, o.delay = true, true, true, 3*time.Second },
		"-w -S20":                 func(o *options) { o.writeOnly, o.signalRate = true, 20 },
		"-W":                      func(o *options) { o.writePingPong, o.unidirectional, o.signalRate, o.size = true, true, 1, 1 },
		"-B5 -W -b9":              func(o *options) { o.writePingPong, o.unidirectional, o.signalRate, o.size = true, true, 1, 9 },
		"-D":                      func(o *options) { o.writePingPong, o.unidirectional, o.signalRate, o.checkData = true, true, 1, true },
		"-Wi 5 -B5": func(o *options) {
			o.writePingPong, o.unidirectional, o.signalRate, o.allSizes, o.increment, o.burst = true, true, 1, true, 5, 5
		},
	} {
		want := server
		change(&want)
		got, err := parseFlags(strings.Fields(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{"x", "-", "-x", "-b", "-b 0", "-b -1", "-b 4k", "-B 0", "-S 0", "-i 0 -W", "-W -i 8192 -b 4096", "-d -1", "-a", "-i 4", "-h",
		"-P " + strings.Repeat("p", 64), "-b 99999999999999999999", "--help"} {
		if _, err := parseFlags(strings.Fields(line)); err == nil || errors.Is(err, testprogram.ErrHelp) {
			t.Errorf("%q gives %v", line, err)
		}
	}
	for _, args := range [][]string{{"-h", ""}, {"-P", ""}, {"-P", "a b"}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if _, err := parseFlags([]string{"-pU"}); !errors.Is(err, testprogram.ErrHelp) {
		t.Errorf("-U gives %v", err)
	}
}

func TestPingPongSizes(t *testing.T) {
	for _, c := range []struct {
		o    options
		want []int
	}{
		{options{size: 77}, []int{77}},
		{options{size: 1, allSizes: true}, []int{1}},
		{options{size: 8, allSizes: true}, []int{1, 2, 3, 4, 5, 7, 8}},
		{options{size: 9, allSizes: true}, []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16}},
		{options{size: 25, allSizes: true, increment: 10}, []int{9, 10, 11, 19, 20, 21}},
		{options{size: 20, allSizes: true, increment: 10}, []int{9, 10, 11, 19, 20}},
	} {
		if diff := cmp.Diff(c.want, c.o.pingPongSizes()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.o, diff)
		}
	}
}
