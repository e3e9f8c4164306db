package main

import "testing"

func TestHeaderLayout(t *testing.T) {
	b := make([]byte, headerSize)
	h := header{fromServer, 0x01020304, 0x05060708}
	h.put(b)
	if want := "\xaa\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08"; string(b) != want {
		t.Errorf("the header is % x, want % x", b, want)
	}
	if got := parseHeader(b); got != h {
		t.Errorf("%v arrives as %v", h, got)
	}
}
