//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestKernelLine(t *testing.T) {
	for record, want := range map[string]string{
		"6,339,5140900,-;rdma_rxe: loaded\n":                    "[    5.140900] rdma_rxe: loaded",
		"4,1,12,-;text; with a semicolon\n SUBSYSTEM=pci\n\x00": "[    0.000012] text; with a semicolon",
		"no prefix\n": "no prefix",
	} {
		if got := kernelLine(record); got != want {
			t.Errorf("%q: got %q, want %q", record, got, want)
		}
	}
}

func TestRDMALinkMessage(t *testing.T) {
	want := "\x30\x00\x00\x00\x03\x14\x05\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x09\x00\x02\x00rxe0\x00\x00\x00\x00" + "\x08\x00\x41\x00rxe\x00" + "\x0b\x00\x33\x00dummy0\x00\x00"
	if got := string(rdmaNewLinkMessage("rxe0", "rxe", "dummy0")); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestNetemMessage(t *testing.T) {
	want := "\x4c\x00\x00\x00\x24\x00\x05\x05\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00" + "\x0a\x00\x01\x00netem\x00\x00\x00" +
		"\x1c\x00\x02\x00" + "\x00\x00\x00\x00\xe8\x03\x00\x00" + strings.Repeat("\x00", 16)
	if got := string(netemMessage(3, 1000)); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestAcknowledged(t *testing.T) {
	answer := func(code string) []byte {
		return []byte("\x24\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" + code)
	}
	if err := acknowledged(answer("\x00\x00\x00\x00")); err != nil {
		t.Errorf("success: %v", err)
	}
	if err := acknowledged(answer("\xef\xff\xff\xff")); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("refusal: %v", err)
	}
	if err := acknowledged([]byte("short")); err == nil {
		t.Error("a short answer was accepted")
	}
}

func TestCheckAddresses(t *testing.T) {
	const (
		lo      = "00000000000000000000000000000001 01 80 10 80       lo\n"
		address = "fe800000000000000000000000000001 02 40 20 80   dummy0\n"
		started = "fe800000000000000000000000000001 02 40 20 c0   dummy0\n"
		none    = "00000000000000000000000000000000"
		prefix  = "fe800000000000000000000000000000 40 " + none + " 00 " + none + " 00000100 00000001 00000000 00000001   dummy0\n"
		local   = "fe800000000000000000000000000001 80 " + none + " 00 " + none + " 00000000 00000001 00000000 80200001   dummy0\n"
		other   = "fe800000000000000000000000000001 80 " + none + " 00 " + none + " 00000000 00000001 00000000 80200001     eth0\n"
	)
	for _, test := range []struct{ addresses, routes, want string }{
		{lo + address, prefix + local, ""},
		{address + lo, local + prefix, ""},
		{lo, prefix + local, "no IPv6 address yet"},
		{lo + started, prefix + local, "still tentative"},
		{lo + address + started, prefix + local, "still tentative"},
		{lo + address, prefix, "no local route"},
		{lo + address, prefix + other, "no local route"},
	} {
		err := checkAddresses("dummy0", test.addresses, test.routes)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("addresses\n%sroutes\n%s: got %v, want %q", test.addresses, test.routes, err, test.want)
		}
	}
}

func TestPoll(t *testing.T) {
	calls := 0
	err := poll(time.Minute, func() error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if err := poll(time.Millisecond, func() error { return errors.New("never") }); err == nil ||
		!strings.Contains(err.Error(), "never") {
		t.Errorf("got %v", err)
	}
}
