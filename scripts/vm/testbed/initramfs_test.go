//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCPIOBytes(t *testing.T) {
	var b bytes.Buffer
	c := cpioWriter{w: &b}
	c.add("ab", 0o755, []byte("hello"))
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	zeros := func(n int) string { return strings.Repeat("00000000", n) }
	want := "070701" + "00000001" + "000081ED" + zeros(2) + "00000001" + zeros(1) + "00000005" + zeros(4) + "00000003" +
		zeros(1) + "ab\x00\x00\x00\x00" + "hello\x00\x00\x00" +
		"070701" + zeros(4) + "00000001" + zeros(6) + "0000000B" + zeros(1) + "TRAILER!!!\x00\x00\x00\x00"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestInitramfsContent(t *testing.T) {
	kernel := fstest.MapFS{
		"vmlinux":       {Data: []byte("too large to be in it")},
		"modules.root":  {Data: []byte("/modules/a.ko\n")},
		"modules/a.ko":  {Data: []byte("module")},
		"modules/bb.ko": {Data: nil},
	}
	var b bytes.Buffer
	if err := writeInitramfs(&b, []byte("init program"), kernel); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("too large")) {
		t.Error("the kernel's image is in its own archive")
	}
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("needs cpio to read the archive")
	}
	listing, err := filter(b.Bytes(), "cpio", "--list", "--quiet")
	if want := "dev\nmodules\ninit\nmodules/a.ko\nmodules/bb.ko\nmodules.root\n"; err != nil || string(listing) != want {
		t.Errorf("cpio lists %q, %v, want %q", listing, err, want)
	}
}

type failingWriter struct{ after int }

func (f *failingWriter) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestCPIOReportsErrors(t *testing.T) {
	for _, after := range []int{0, 115, 130, 240} {
		c := cpioWriter{w: &failingWriter{after}}
		c.add("file", 0o644, []byte("0123456789"))
		if err := c.close(); err == nil {
			t.Errorf("a writer that fails after %d bytes goes unnoticed", after)
		}
	}
}
