package main

import (
	"testing"

	"github.com/goudat/goudat/udat"
)

func TestPrivateDataLayout(t *testing.T) {
	b := privateData(1)
	if len(b) != 48 || b[0] != 1 || b[47] != 48 {
		t.Errorf("the client's private data is % x", b)
	}
	if err := checkPrivateData(append(b, 0, 0, 0, 0, 0, 0, 0, 0), 1); err != nil {
		t.Error(err)
	}
	if checkPrivateData(b, 2) == nil || checkPrivateData(b[:47], 1) == nil || checkPrivateData(nil, 1) == nil {
		t.Error("wrong private data is accepted")
	}
}

func TestTripletLayout(t *testing.T) {
	want := udat.RMRTriplet{VirtualAddress: 0x0102030405060708, SegmentLength: 0x090a0b0c, RMRContext: 0x0d0e0f10}
	b := make([]byte, tripletSize)
	if err := putTriplet(b, want); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if b[i] != byte(i+1) {
			t.Fatalf("the message is % x, want the bytes from 1 to 16", b)
		}
	}
	got, err := parseTriplet(b)
	if err != nil || got != want {
		t.Errorf("%v arrives as %v, %v", want, got, err)
	}
}
