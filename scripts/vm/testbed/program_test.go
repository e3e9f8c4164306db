package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

func TestShares(t *testing.T) {
	coverage := t.TempDir()
	got := shares("/tmp/go-build123/b042/x.test", []string{"/srv/b", "/srv", "/srv/b"}, coverage)
	want := []string{"/srv", "/srv/b", "/tmp/go-build123/b042", coverage}
	slices.Sort(want)
	var folders []string
	tags := map[string]bool{}
	for _, s := range got {
		folders = append(folders, s.Path)
		tags[s.Tag] = true
	}
	if !slices.Equal(folders, want) || len(tags) != len(want) {
		t.Errorf("got %v, want %q, each with a tag of its own", got, want)
	}
	for _, path := range []string{"/usr/bin/true", "/tmp/go-build/b001/x", "/tmp/go-build123/x"} {
		if got := shares(path, nil, ""); len(got) > 0 {
			t.Errorf("%s shares %v, want nothing", path, got)
		}
	}
	want1 := []wire.Share{{Tag: "share0", Path: "/t/go-build1/b001"}}
	if got := shares("/t/go-build1/b001/exe/prog", nil, "/no/such/folder"); !slices.Equal(got, want1) {
		t.Errorf("got %v, want %v", got, want1)
	}
}

// A program is looked up in the root before the host, under its name in the machine.
func TestFindProgram(t *testing.T) {
	root, host := t.TempDir(), t.TempDir()
	inRoot := filepath.Join(root, host)
	check(t, os.MkdirAll(inRoot, 0o755))
	for _, file := range []string{host + "/both", host + "/there", inRoot + "/both", inRoot + "/foreign"} {
		mode := os.FileMode(0o755)
		if file == host+"/both" {
			mode = 0o644 // so that finding it would be an error
		}
		check(t, os.WriteFile(file, nil, mode))
	}
	for _, name := range []string{"both", "there", "foreign"} {
		for _, name := range []string{name, host + "/" + name} {
			if path, err := findProgram(name, "/nowhere:"+host, root); err != nil || path != filepath.Join(host, filepath.Base(name)) {
				t.Errorf("%s is at %q, %v", name, path, err)
			}
		}
	}
	if path, err := findProgram("foreign", host, ""); err == nil {
		t.Errorf("without a root, foreign is at %q", path)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"A=1", "UDAT_TEST_IA=mine", "DAT_OVERRIDE=", "UDAT_TESTBED=no"}, control.RoCE, false)
	for name, want := range map[string]string{"A": "1", "UDAT_TEST_IA": "mine", "DAT_OVERRIDE": "",
		"UDAT_TEST_ADDR": "10.77.0.1", "UDAT_TESTBED": "1", control.KindVariable: "rxe"} {
		if value := lookup(got, name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	for device, want := range map[control.DeviceKind]string{control.RoCE: "ofa-v2-cma-rxe0,ofa-v2-scm-rxe0", control.IWARP: "ofa-v2-cma-siw0"} {
		if value := lookup(environment(nil, device, false), "UDAT_TEST_IA"); value != want {
			t.Errorf("UDAT_TEST_IA for %s is %q, want %q", device, value, want)
		}
	}
	if got := lookup(environment(nil, control.RoCE, true), "UDAT_TEST_ADDR"); got != "fd00:77::1" {
		t.Errorf("with IPv6 alone, UDAT_TEST_ADDR is %q", got)
	}
	if got := environment([]string{"A=1"}, control.NoDevice, false); !slices.Equal(got, []string{"A=1", "UDAT_TESTBED=1"}) {
		t.Errorf("without a device: %q", got)
	}
}
