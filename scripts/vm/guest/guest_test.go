package main

import (
	"strings"
	"testing"
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
		{lo + started, prefix + local, "tentative"},
		{lo + address + started, prefix + local, "tentative"},
		{lo + address, prefix, "no local route"},
		{lo + address, prefix + other, "no local route"},
	} {
		err := checkAddresses("dummy0", test.addresses, test.routes)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("addresses\n%sroutes\n%s: got %v, want %q", test.addresses, test.routes, err, test.want)
		}
	}
}
