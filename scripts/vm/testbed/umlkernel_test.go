package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnmetSettings(t *testing.T) {
	const wanted = "# a comment\nCONFIG_A=y\n\nCONFIG_B=n\nCONFIG_C=n\nCONFIG_D=8\n"
	for _, c := range []struct {
		got  string
		want []string
	}{
		{"CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=8\n", nil},
		{"CONFIG_AA=y\nCONFIG_C=y\nCONFIG_D=16\n", []string{"CONFIG_A=y", "CONFIG_C=n", "CONFIG_D=8"}},
		{"CONFIG_A=y\nCONFIG_B=m\nCONFIG_D=8\n", []string{"CONFIG_B=n"}},
	} {
		if got := unmetSettings(wanted, c.got); !slices.Equal(got, c.want) {
			t.Errorf("%q lacks %q, want %q", c.got, got, c.want)
		}
	}
}

func TestNewestSource(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"linux-source-6.12", umlSource, "linux-source-7.10"}, umlSource},
		{[]string{"linux-source-7.9", "linux-source-7.10", "linux-source-6.12", "linux-source-rt"}, "linux-source-7.10"},
		{[]string{"linux-source"}, ""},
		{nil, ""},
	} {
		if got := newestSource(c.names); got != c.want {
			t.Errorf("of %q it is %q, want %q", c.names, got, c.want)
		}
	}
}

// TestUMLContent checks that each patch has a license and patches something.
func TestUMLContent(t *testing.T) {
	_, patches, err := umlContent()
	check(t, err)
	if len(patches) == 0 {
		t.Error("there are no patches")
	}
	for _, p := range patches {
		if !strings.Contains(p.text, "SPDX-License-Identifier: GPL-2.0\n") || !strings.Contains(p.text, "\n--- a/") {
			t.Errorf("%s has no license or patches nothing", p.name)
		}
	}
}

// TestPatchAppliesWholly checks that a patch changes nothing if a part of it does not apply.
func TestPatchAppliesWholly(t *testing.T) {
	b := umlBuild{dir: t.TempDir()}
	file := filepath.Join(b.source(), "file")
	check(t, os.Mkdir(b.source(), 0o755))
	check(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o644))
	const good, bad = "--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n"
	if err := b.patch(umlPatch{"both", good + bad}); err == nil || !strings.Contains(err.Error(), "both does not apply") {
		t.Errorf("a patch of a file that is not there: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("after a patch that does not apply, the file is %q, %v", text, err)
	}
	if err := b.patch(umlPatch{"good", good}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "1\ntwo\n" {
		t.Errorf("the patched file is %q, %v", text, err)
	}
}
