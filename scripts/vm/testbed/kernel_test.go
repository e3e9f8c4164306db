package main

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKernelParts(t *testing.T) {
	for _, c := range []struct {
		fields  string
		parts   []string
		version string
	}{
		{"Depends: kmod, initramfs-tools (>= 0.120+deb8u2) | linux-initramfs-tool\nVersion: 6.12.107-1\n", nil, "6.12.107-1"},
		{"Depends: dracut | x, linux-base-7.3.4+deb13-amd64 (= 1), linux-binary-7.3.4+deb13-amd64 (= 1), linux-modules-7.3.4+deb13-amd64\n" +
			"Version: 1:7.3.4-1~bpo13+1\n",
			[]string{"linux-base-7.3.4+deb13-amd64", "linux-binary-7.3.4+deb13-amd64", "linux-modules-7.3.4+deb13-amd64"}, "1:7.3.4-1~bpo13+1"},
		{"Version: 1\nDepends: linux-base (>= 4.12), linux-modules-amd64\n", nil, "1"},
	} {
		parts, version := kernelParts(c.fields)
		if !slices.Equal(parts, c.parts) || version != c.version {
			t.Errorf("%q: %q, %q", c.fields, parts, version)
		}
	}
}

// A kernel's files are found in one package, and in several.
func TestKernelContent(t *testing.T) {
	for _, packages := range [][]map[string]string{
		{{"./boot/vmlinuz-6.1.0": "image", "./lib/modules/6.1.0/kernel/drivers/net/dummy.ko.xz": "dummy",
			"./lib/modules/6.1.0/modules.builtin": "kernel/lib/there.ko\n", "./usr/share/doc/vmlinuz": "no"}},
		{{"./usr/share/doc/README": "no"}, {"./usr/lib/modules/6.1.0/modules.builtin": "kernel/lib/there.ko\n"},
			{"./usr/lib/modules/6.1.0/vmlinuz": "image"}, {"./usr/lib/modules/6.1.0/kernel/drivers/net/dummy.ko.xz": "dummy"}},
	} {
		content := kernelContent{arch: amd64, modules: moduleSet{}}
		for _, files := range packages {
			check(t, content.addFiles(tarOf(t, files)))
		}
		if string(content.image) != "image" || content.release != "6.1.0" {
			t.Errorf("the image is %q, of release %q", content.image, content.release)
		}
		if module := content.modules["dummy"]; string(module.content) != "dummy" || !module.compressed || !content.modules["there"].builtIn {
			t.Errorf("the modules are %v", content.modules)
		}
	}
}

func tarOf(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range files {
		check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.Close())
	return &b
}

// The parts of a split kernel must be beside the package that needs them.
func TestPackageFiles(t *testing.T) {
	folder := t.TempDir()
	whole := buildPackage(t, folder, "linux-image-6", "Depends: kmod")
	split := buildPackage(t, folder, "linux-image-7", "Depends: linux-modules-7 (= 1-1)")
	if files, err := packageFiles(whole, amd64); err != nil || !slices.Equal(files, []string{whole}) {
		t.Errorf("a whole kernel: %q, %v", files, err)
	}
	if _, err := packageFiles(split, amd64); err == nil || !strings.Contains(err.Error(), "needs linux-modules-7 beside it") {
		t.Errorf("a part is missing: %v", err)
	}
	modules := buildPackage(t, folder, "linux-modules-7", "Depends: kmod")
	if files, err := packageFiles(split, amd64); err != nil || !slices.Equal(files, []string{split, modules}) {
		t.Errorf("a split kernel: %q, %v", files, err)
	}
	garbage := filepath.Join(folder, "garbage.deb")
	check(t, os.WriteFile(garbage, []byte("garbage"), 0o644))
	for _, file := range []string{garbage, folder, filepath.Join(folder, "none.deb")} {
		if _, err := packageFiles(file, amd64); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func buildPackage(t *testing.T, folder, name, field string) string {
	t.Helper()
	tree := t.TempDir()
	control := "Package: " + name + "\nVersion: 1-1\nArchitecture: amd64\nMaintainer: nobody <nobody@example>\n" + field + "\nDescription: none\n"
	writeFiles(t, tree, map[string]string{"DEBIAN/control": control})
	file := filepath.Join(folder, name+"_1-1_amd64.deb")
	if text, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", tree, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return file
}

// Without space or network, the last line has the cause and what to do, and nothing is tried twice.
func TestKernelCannotBeHad(t *testing.T) {
	for _, c := range []struct{ name, script, cause string }{
		{"no network", "echo 'E: Failed to fetch http://m.example/x  Temporary failure resolving' >&2; echo 'E: Some index files failed to download.' >&2; exit 100",
			"Temporary failure resolving"},
		{"no space", "echo 'E: Write error - write (28: No space left on device)' >&2; exit 100", "No space left on device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			calls := filepath.Join(folder, "calls")
			script := "#!/bin/sh\necho called >>" + calls + "\n" + c.script + "\n"
			check(t, os.WriteFile(filepath.Join(folder, "apt-get"), []byte(script), 0o755))
			t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
			cache := newCache(t)
			_, err := cache.kernel(kernelChoice{suite: "trixie", arch: amd64, mirror: "http://m.example"}, &progress{out: os.Stderr})
			if err == nil {
				t.Fatal("there is a kernel")
			}
			for _, want := range []string{c.cause, "TESTBED_KERNEL_PACKAGE", "GOUDAT_CACHE"} {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q does not say %q on one line", err, want)
				}
			}
			if content, err := os.ReadFile(calls); string(content) != "called\n" {
				t.Errorf("apt-get was %q, %v", content, err)
			}
			wantEntries(t, cache, "lock")
		})
	}
}
