package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLauncherBuilds builds the programs into an empty cache, from a folder outside of any module. The environment has
// hostile settings that a caller may have for the program under test.
func TestLauncherBuilds(t *testing.T) {
	module, cache := copyModule(t), filepath.Join(t.TempDir(), "a cache")
	run := func() *bed {
		b := newBed(t, "--help")
		b.cmd.Path = filepath.Join(module, "run")
		b.cmd.Dir = t.TempDir()
		b.cmd.Env = append(os.Environ(), "GOUDAT_CACHE="+cache, "GOFLAGS=-mod=vendor -race -tags=none", "GOOS=windows",
			"GOARCH=arm64", "GOWORK=/nowhere/go.work", "GO111MODULE=off", "CGO_ENABLED=1", "GOAMD64=v4",
			"GOEXPERIMENT=cgocheck2", "CC=false")
		b.runs(0)
		if !strings.HasPrefix(b.stdout.String(), "Usage: ") || b.stderr.Len() > 0 {
			t.Fatalf("stdout is %.200q, stderr %q", b.stdout.String(), b.stderr.String())
		}
		return b
	}
	programs := func() []string {
		found, err := filepath.Glob(filepath.Join(cache, "*"))
		check(t, err)
		return found
	}
	run()
	before := programs()
	run()
	if after := programs(); len(after) != len(before) {
		t.Errorf("the second run made %q of %q", after, before)
	}
	// The name of the programs depends on the sources of the machine's init, too.
	source := filepath.Join(module, "guest/main.go")
	content, err := os.ReadFile(source)
	check(t, err)
	check(t, os.WriteFile(source, append(content, "\n// changed\n"...), 0o644))
	run()
	if after := programs(); len(after) != len(before)+1 {
		t.Errorf("a changed source made %q of %q, want one more", after, before)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, shop.temporary+"*")); len(left) > 0 {
		t.Errorf("the launcher left %q", left)
	}
}

func TestLauncherNeedsGo(t *testing.T) {
	b := newBed(t, "true")
	b.cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin")
	if _, err := os.Stat("/usr/bin/go"); err == nil {
		t.Skip("Go is in the folder of all other tools")
	}
	b.runs(exitFailure, "Go is missing")
}

// If the cache folder cannot be made, the error names it, with the reason.
func TestLauncherNeedsCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "file", "cache")
	check(t, os.WriteFile(filepath.Dir(cache), nil, 0o644))
	b := newBed(t, "true")
	b.cmd.Env = append(os.Environ(), "GOUDAT_CACHE="+cache)
	b.runs(exitFailure, "the cache folder "+cache+" cannot be used (Not a directory): GOUDAT_CACHE names another\n")
}
