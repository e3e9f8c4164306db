package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func TestFlags(t *testing.T) {
	for line, want := range map[string]options{
		"":                        {size: 256},
		"-s -b20":                 {size: 20},
		"-h 10.1.2.3 -P cma:eth0": {size: 256, host: "10.1.2.3", provider: "cma:eth0"},
		"-chhost -v":              {size: 256, host: "host", verbose: true},
		"-qP scm:rxe0/1":          {size: 256, queryOnly: true, provider: "scm:rxe0/1"},
	} {
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
	for _, line := range []string{"x", "-x", "-b", "-b 19", "-b 4k", "-b 268435457", "-p", "-h", "-c", "-s -h host", "--help",
		"-P " + strings.Repeat("p", 64)} {
		if _, err := parseFlags(strings.Fields(line)); err == nil || errors.Is(err, testprogram.ErrHelp) {
			t.Errorf("%q gives %v", line, err)
		}
	}
	for _, line := range []string{"-u", "-U 4", "-m", "-uh host"} {
		if _, err := parseFlags(strings.Fields(line)); !errors.Is(err, errUD) {
			t.Errorf("%q gives %v", line, err)
		}
	}
	if _, err := parseFlags([]string{"-v?"}); !errors.Is(err, testprogram.ErrHelp) {
		t.Errorf("-? gives %v", err)
	}
}
