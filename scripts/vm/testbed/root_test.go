package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRootName(t *testing.T) {
	for name, want := range map[string]string{
		"./lib/aarch64-linux-gnu/libc.so.6": "usr/lib/aarch64-linux-gnu/libc.so.6",
		"./usr/lib/x.so":                    "usr/lib/x.so",
		"/bin/bash":                         "usr/bin/bash",
		"./lib/":                            "",
		"./usr/share/doc/bash/README":       "",
		"./etc/passwd":                      "etc/passwd",
		"../../etc/passwd":                  "etc/passwd",
		"./libexec/x":                       "libexec/x",
	} {
		if got := rootName(name); got != want {
			t.Errorf("%s goes to %q, want %q", name, got, want)
		}
	}
}

// The files of packages are laid out as on a system where /lib is a link, even if a package has them elsewhere.
func TestUnpackRoot(t *testing.T) {
	dir := t.TempDir()
	check(t, makeMergedFolders(dir))
	for _, files := range [][]tar.Header{
		{{Name: "./lib/", Typeflag: tar.TypeDir}, {Name: "./lib/a.so.1", Typeflag: tar.TypeReg, Mode: 0o4755, Size: 3},
			{Name: "./lib/a.so", Typeflag: tar.TypeSymlink, Linkname: "a.so.1"}, {Name: "./usr/bin/b", Typeflag: tar.TypeLink, Linkname: "./lib/a.so.1"}},
		// Another version of the package replaces them.
		{{Name: "./lib/a.so.1", Typeflag: tar.TypeReg, Mode: 0o644, Size: 3}, {Name: "./lib/a.so", Typeflag: tar.TypeSymlink, Linkname: "a.so.1"}},
	} {
		var stream bytes.Buffer
		w := tar.NewWriter(&stream)
		for _, file := range files {
			check(t, w.WriteHeader(&file))
			if _, err := w.Write([]byte("one")[:file.Size]); err != nil {
				t.Fatal(err)
			}
		}
		check(t, w.Close())
		check(t, unpackRoot(&stream, dir))
	}
	for _, file := range []string{"lib/a.so", "usr/lib/a.so.1", "bin/b"} {
		if content, err := os.ReadFile(filepath.Join(dir, file)); string(content) != "one" {
			t.Errorf("%s has %q, %v", file, content, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "usr/bin/b")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the program has the mode %v, %v", info.Mode(), err)
	}
}
