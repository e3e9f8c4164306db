package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
)

func TestParseOptions(t *testing.T) {
	dir := t.TempDir()
	home := "HOME=/home/somebody"
	for _, c := range []struct {
		name  string
		args  []string
		env   []string
		check func(options) bool
	}{
		{"defaults", []string{"true"}, []string{home}, func(o options) bool {
			return o.timeout == 15*time.Minute && o.memory == "2G" && o.device == control.RoCE && o.accelerator == "auto" && !o.verbose && !o.coarse && o.processors == 0 &&
				!o.shell && o.machines == 1 && o.cache == "/home/somebody/.cache/goudat" && len(o.shares) == 0
		}},
		{"flags end at the program", []string{"--device", "none", "prog", "--timeout", "x"}, []string{home}, func(o options) bool {
			return o.device == control.NoDevice && slices.Equal(o.command, []string{"prog", "--timeout", "x"})
		}},
		{"device", []string{"--device=siw", "true"}, []string{home, "TESTBED_DEVICE=rxe"}, func(o options) bool {
			return o.device == control.IWARP && o.accelerator == acceleratorUML && o.processors == 1
		}},
		{"device of the environment", []string{"true"}, []string{home, "TESTBED_DEVICE=siw", "TESTBED_ACCEL=tcg"}, func(o options) bool {
			return o.device == control.IWARP && o.accelerator == acceleratorTCG
		}},
		{"limit of a test", []string{"x.test", "-test.v", "-test.timeout=10m0s"}, []string{home}, func(o options) bool {
			return o.timeout == 11*time.Minute
		}},
		{"limit of a test in two words", []string{"x.test", "--test.timeout", "20s"}, []string{home}, func(o options) bool {
			return o.timeout == 80*time.Second
		}},
		{"test without limit", []string{"x.test", "-test.timeout=0s"}, []string{home}, func(o options) bool {
			return o.timeout == 15*time.Minute
		}},
		{"flag beats test", []string{"--timeout=5s", "x.test", "-test.timeout=10m0s"}, []string{home}, func(o options) bool {
			return o.timeout == 5*time.Second
		}},
		{"flag beats environment", []string{"--timeout=5s", "--memory", "1G", "true"},
			[]string{home, "TESTBED_TIMEOUT=7s", "TESTBED_MEMORY=3G", "TESTBED_ACCEL=tcg", "TESTBED_VERBOSE=1"},
			func(o options) bool {
				return o.timeout == 5*time.Second && o.memory == "1G" && o.accelerator == "tcg" && o.verbose
			}},
		{"console logs", []string{"true"}, []string{home, "TESTBED_CONSOLE_LOGS=/logs"}, func(o options) bool { return o.consoleLogs == "/logs" }},
		{"no limit", []string{"true"}, []string{home, "TESTBED_TIMEOUT=0"}, func(o options) bool { return o.timeout == 0 }},
		{"shell has no limit", []string{"--shell"}, []string{home}, func(o options) bool { return o.timeout == 0 && o.shell }},
		{"shares", []string{"--share", dir, "--share", dir + "/..", "true"}, []string{home, "TESTBED_SHARE=" + dir + "::/tmp"},
			func(o options) bool {
				return len(o.shares) == 4 && o.shares[1] == "/tmp" && !strings.Contains(o.shares[3], "..")
			}},
		{"cache of XDG", []string{"true"}, []string{home, "XDG_CACHE_HOME=/c"}, func(o options) bool { return o.cache == "/c/goudat" }},
		{"machines", []string{"--machines", "8", "true"}, []string{home}, func(o options) bool { return o.machines == 8 && o.plainRank == -1 }},
		{"processors", []string{"true"}, []string{home, "TESTBED_CPUS=3"}, func(o options) bool { return o.processors == 3 }},
		{"architecture of the host", []string{"true"}, []string{home}, func(o options) bool { return o.arch == amd64 && o.kernel.arch == amd64 }},
		{"architecture", []string{"--arch", "arm64", "true"}, []string{home, "TESTBED_ARCH=amd64"}, func(o options) bool { return o.arch == arm64 && o.kernel.arch == arm64 }},
		{"architecture of the environment", []string{"--accel", "tcg", "true"}, []string{home, "TESTBED_ARCH=arm64"}, func(o options) bool { return o.arch == arm64 }},
		{"root of an architecture", []string{"--arch", "arm64", "--print-root"}, []string{home}, func(o options) bool { return o.printRoot }},
		{"coarse timers", []string{"true"}, []string{home, "TESTBED_COARSE_TIMERS=1"}, func(o options) bool { return o.coarse }},
		{"processors", []string{"--cpus", "2", "true"}, []string{home}, func(o options) bool { return o.processors == 2 }},
		{"User-Mode Linux", []string{"true"}, []string{home, "TESTBED_ACCEL=uml"}, func(o options) bool {
			return o.accelerator == acceleratorUML && o.processors == 1
		}},
		{"another kernel than the fastest", []string{"--kernel", "trixie", "true"}, []string{home, "TESTBED_ACCEL=fastest"}, func(o options) bool { return o.accelerator == "auto" }},
		{"own cache", []string{"true"}, []string{"GOUDAT_CACHE=/d"}, func(o options) bool { return o.cache == "/d" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parseOptions(c.args, c.env)
			if err != nil || !c.check(o) {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "name a program"},
		{[]string{"--shell", "true"}, "takes no program"},
		{[]string{"--memory", "lots", "true"}, "memory"},
		{[]string{"--cpus", "0", "true"}, "processors"},
		{[]string{"--cpus", "two", "true"}, "processors"},
		{[]string{"--accel", "count", "--cpus", "2", "true"}, "one processor"},
		{[]string{"--memory", "2GB", "true"}, "memory"},
		{[]string{"--timeout", "5", "true"}, "timeout"},
		{[]string{"--timeout", "-5s", "true"}, "timeout"},
		{[]string{"--accel", "hvf", "true"}, "acceleration"},
		{[]string{"--share", "/no/such/folder", "true"}, "exists"},
		{[]string{"--share", "/etc/passwd", "true"}, "is a file"},
		{[]string{"--share", "/", "true"}, "whole file system"},
		{[]string{"--machines", "0", "true"}, "1 to 8 machines"},
		{[]string{"--machines", "9", "true"}, "1 to 8 machines"},
		{[]string{"--machines", "2", "--shell"}, "one machine"},
		{[]string{"--cpus", "9", "--accel", "uml", "true"}, "1 to 8 processors"},
		{[]string{"--kernel", "trixie", "--accel", "uml", "true"}, "has its own"},
		{[]string{"--arch", "vax", "true"}, "not one of amd64, arm64"},
		{[]string{"--arch", "arm64", "--accel", "kvm", "true"}, "--accel can be tcg"},
		{[]string{"--arch", "arm64", "--accel", "uml", "true"}, "--accel can be tcg"},
		{[]string{"--print-root"}, "other than amd64"},
		{[]string{"--arch", "arm64", "--print-root", "true"}, "takes no program"},
		{[]string{"--arch", "arm64", "--print-root", "--shell"}, "takes no program"},
		{[]string{"--device", "mlx5", "true"}, "rxe, siw, none"},
		{[]string{"--bogus", "true"}, "bogus"},
	} {
		if _, err := parseOptions(c.args, []string{"HOME=/h"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error with %q", c.args, err, c.want)
		}
	}
	if _, err := parseOptions([]string{"true"}, nil); err == nil || !strings.Contains(err.Error(), "GOUDAT_CACHE") {
		t.Errorf("without HOME: %v", err)
	}
	if _, err := parseOptions([]string{"--help"}, nil); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

func TestHelpFits(t *testing.T) {
	lines := strings.Split(help, "\n")
	if len(lines) > 64 {
		t.Errorf("the help has %d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 120 {
			t.Errorf("a line of the help has %d columns: %s", len(line), line)
		}
	}
}

func TestChooseKernel(t *testing.T) {
	for name, want := range map[string]kernelChoice{
		"bookworm":             {suite: "bookworm", mirror: "m"},
		"trixie-backports":     {suite: "trixie-backports", mirror: "m"},
		"/a/linux-image-1.deb": {file: "/a/linux-image-1.deb"},
		"/a/kernel":            {file: "/a/kernel"},
	} {
		if got, err := chooseKernel(name, "m"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := chooseKernel("a.deb", ""); err != nil || !filepath.IsAbs(got.file) {
		t.Errorf("a relative name: %+v, %v", got, err)
	}
	if got, err := chooseKernel("", ""); err != nil || got.suite == "" {
		t.Errorf("no name: %+v, %v", got, err)
	}
	for _, name := range []string{"6.12", "Trixie", "two words"} {
		if _, err := chooseKernel(name, ""); err == nil || !strings.Contains(err.Error(), "neither a suite") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDebianSuite(t *testing.T) {
	for content, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=trixie\n":              "trixie",
		"VERSION_CODENAME=\"bookworm\"\nID=\"debian\"\n":    "bookworm",
		"ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble": "",
		"ID=debian\n": "",
	} {
		file := filepath.Join(t.TempDir(), "os-release")
		check(t, os.WriteFile(file, []byte(content), 0o644))
		if got := debianSuite(file); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	if got := debianSuite("/nowhere"); got != "" {
		t.Errorf("without a file: %q", got)
	}
}
