package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func TestFlags(t *testing.T) {
	server := options{qualifier: 45248, connections: 1, messages: 1, bursts: 3, srq: true}
	for line, change := range map[string]func(*options){
		"":                        func(o *options) {},
		"-h 10.1.2.3 -P cma:eth0": func(o *options) { o.host, o.provider = "10.1.2.3", "cma:eth0" },
		"-hone -s -vc4":           func(o *options) { o.verbose, o.connections = true, 4 },
		"-B 100 -t1 -b12":         func(o *options) { o.messages, o.bursts, o.size = 100, 1, 12 },
		"-S0 -p 7":                func(o *options) { o.srq, o.qualifier = false, 7 },
		"-S 1":                    func(o *options) {},
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
	for _, line := range []string{"x", "-x", "-b", "-b 11", "-b 4k", "-c 0", "-c 101", "-B 0", "-B 101", "-t 0", "-p 0", "-p 65536", "-S 2",
		"-S", "-h", "-P", "--help"} {
		if _, err := parseFlags(strings.Fields(line)); err == nil || errors.Is(err, testprogram.ErrHelp) {
			t.Errorf("%q gives %v", line, err)
		}
	}
	for line, want := range map[string]error{"-u": errUD, "-q 0x11": errUCM, "-l 1": errUCM, "-v?": testprogram.ErrHelp} {
		if _, err := parseFlags(strings.Fields(line)); !errors.Is(err, want) {
			t.Errorf("%q gives %v", line, err)
		}
	}
}
