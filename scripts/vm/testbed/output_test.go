package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestPrefixed(t *testing.T) {
	var out bytes.Buffer
	p := newPrefixed(&out, "[3] ")
	for _, piece := range []string{"one\ntw", "o", "\n\nthree", ""} {
		if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("%q: %d, %v", piece, n, err)
		}
	}
	p.close()
	p.close()
	if got, want := out.String(), "[3] one\n[3] two\n[3] \n[3] three\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTail(t *testing.T) {
	var all tail
	for range 5000 {
		all.Write([]byte(strings.Repeat("x", 60) + "\r\n"))
	}
	all.Write([]byte("the end\r\n"))
	lines := strings.Split(all.String(), "\n")
	if len(lines) != tailLines || lines[len(lines)-1] != "the end" || lines[0] != strings.Repeat("x", 60) {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if len(all.kept) > 2*tailBytes+100 {
		t.Errorf("%d bytes are kept", len(all.kept))
	}
	if empty := (&tail{}).String(); empty != "" {
		t.Errorf("an empty tail is %q", empty)
	}
}
