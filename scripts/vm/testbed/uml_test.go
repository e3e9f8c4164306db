//go:build linux && amd64

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/vm/wire"
)

func TestUMLArguments(t *testing.T) {
	for _, c := range []struct {
		name     string
		config   machineConfig
		machines int
		has      []string
		hasNot   []string
	}{
		{"one processor", machineConfig{processors: 1, quiet: true}, 1,
			[]string{"mem=3G", "initrd=/i", "con0=null,fd:3", "con1=fd:4", "seccomp=auto", "quiet", "noreboot", "lpj=50000000", "panic=-1", wire.UserModeVariable + "=1"},
			[]string{"ncpus", "vec0"}},
		{"two processors", machineConfig{processors: 2}, 1, []string{"ncpus=2", "seccomp=on"}, []string{"quiet", "seccomp=auto", "vec0"}},
		{"on a wire", machineConfig{processors: 1}, 2, []string{"vec0:transport=fd,fd=5,mtu=9000"}, []string{"ncpus"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.memory, c.config.initramfs, c.config.kernel = "3G", "/i", "/k"
			cmd := umlCommand(c.config, wire.Job{Addresses: addresses(c.machines, false), Env: []string{"SECRET=1"}})
			if cmd.Path != "/k" || slices.ContainsFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "SECRET=") }) {
				t.Errorf("it starts %q with the environment %q", cmd.Path, cmd.Env)
			}
			for _, want := range c.has {
				if !slices.Contains(cmd.Args, want) {
					t.Errorf("%q is not in %q", want, cmd.Args)
				}
			}
			for _, unwanted := range c.hasNot {
				if slices.ContainsFunc(cmd.Args, func(arg string) bool { return strings.HasPrefix(arg, unwanted) }) {
					t.Errorf("%q is in %q", unwanted, cmd.Args)
				}
			}
		})
	}
}

func TestUMLCPUInfo(t *testing.T) {
	const host = "processor\t: 0\nmodel name\t: Chip 1\ncpu MHz\t\t: 2000.0\n\nprocessor\t: 1\nmodel name\t: Chip 1\n\n"
	const first = "processor\t: 0\nmodel name\t: Chip 1 (User-Mode Linux)\ncpu MHz\t\t: 2000.0\n\n"
	if got := umlCPUInfo(host, 1); got != first {
		t.Errorf("one processor is\n%s", got)
	}
	if got, want := umlCPUInfo(host, 2), first+strings.Replace(first, ": 0", ": 1", 1); got != want {
		t.Errorf("two are\n%s", got)
	}
	if got := umlCPUInfo("", 1); strings.TrimSpace(got) != "" {
		t.Errorf("without input: %q", got)
	}
}
