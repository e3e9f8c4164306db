package main

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

// field is a number of 32 bits at a place in a message of the C program.
type field struct {
	offset int
	value  uint32
}

func checkLayout(t *testing.T, message any, size int, fields []field, names map[int]string) []byte {
	t.Helper()
	b := make([]byte, controlSize)
	n, err := binary.Encode(b, order, message)
	if err != nil || n != size {
		t.Errorf("%T: %d bytes, error %v, want %d bytes", message, n, err, size)
	}
	for _, f := range fields {
		if got := order.Uint32(b[f.offset:]); got != f.value {
			t.Errorf("%T: %d at %d, want %d", message, got, f.offset, f.value)
		}
	}
	for offset, want := range names {
		if got := string(b[offset:][:len(want)+1]); got != want+"\x00" {
			t.Errorf("%T: %q at %d, want %q", message, got, offset, want)
		}
	}
	return b
}

func TestTransactionLayout(t *testing.T) {
	var c command
	err := c.parse(strings.Fields("-T T -s one -D two -n 77 -d -i 5 -t 6 -w 7 -rVP client RW 8 2 client SR 100 -f server SR -f"))
	if err != nil {
		t.Fatal(err)
	}
	b := checkLayout(t, c.message(), 2568, []field{
		{0, 6}, {4, hostIsLittle}, {264, 5}, {268, 6}, {272, 7}, {280, 1}, {284, 1}, {288, 1}, {292, 1}, {296, 77}, {300, 0}, {560, 0}, {564, 6},
		{568, 0}, {572, 1}, {576, 2}, {580, 8}, {584, 0},
		{588, 0}, {592, 2}, {596, 1}, {600, 100}, {604, 1},
		{608, 1}, {612, 2}, {616, 1}, {620, 4096}, {624, 1},
	}, map[int]string{8: "one", 304: "two"})
	got, err := parseTransaction(b)
	if diff := cmp.Diff(c.transaction, got, cmp.AllowUnexported(transaction{}, operation{})); err != nil || diff != "" {
		t.Errorf("the server gets error %v (-want +got):\n%s", err, diff)
	}
}

func TestPerformanceLayout(t *testing.T) {
	var c command
	err := c.parse(strings.Fields("-T P -s one -D two -n 77 -d -i 5 -p 9 -m p RW 8 2"))
	if err != nil {
		t.Fatal(err)
	}
	b := checkLayout(t, c.message(), 564, []field{
		{0, 6}, {4, hostIsLittle}, {520, 0}, {524, 1}, {528, 1}, {532, 5}, {536, 9}, {540, 1}, {544, 8}, {548, 2}, {552, 0}, {556, 77}, {560, 0},
	}, map[int]string{8: "one", 264: "two"})
	got, err := parsePerformance(b)
	if diff := cmp.Diff(c.performance, got, cmp.AllowUnexported(performance{}, operation{})); err != nil || diff != "" {
		t.Errorf("the server gets error %v (-want +got):\n%s", err, diff)
	}
}

func TestOtherLayouts(t *testing.T) {
	var c command
	err := c.parse(strings.Fields("-T Q -s one -D two -n 77 -d"))
	if err != nil {
		t.Fatal(err)
	}
	checkLayout(t, c.message(), 528, []field{{512, 1}, {516, 0}, {520, 77}}, map[int]string{0: "one", 256: "two"})
	checkLayout(t, hello{6, 1, testQuit, 12}, 16, []field{{0, 6}, {4, 1}, {8, 4}, {12, 12}}, nil)
	checkLayout(t, answer{6, 1, 62001}, 12, []field{{0, 6}, {4, 1}, {8, 62001}}, nil)
}

func TestPlace(t *testing.T) {
	b := make([]byte, placeSize)
	p := place{0x01020304, 0x05060708090a0b0c}
	p.put(b, binary.LittleEndian)
	if want := "\x04\x03\x02\x01\x0c\x0b\x0a\x09\x08\x07\x06\x05"; string(b) != want {
		t.Errorf("a place is % x, want % x", b, want)
	}
	if got := parsePlace(b, binary.LittleEndian); got != p {
		t.Errorf("%v arrives as %v", p, got)
	}
}

// A server refuses invalid commands.
func TestWrongCommands(t *testing.T) {
	good := operationMessage{Kind: sendReceive, Segments: 1, Size: 8}
	answered := good
	answered.ByServer = 1
	for name, change := range map[string]func(*transactionMessage){
		"no operations":       func(m *transactionMessage) { m.Count = 0 },
		"too many operations": func(m *transactionMessage) { m.Count = maxOperations + 1 },
		"no iterations":       func(m *transactionMessage) { m.Iterations = 0 },
		"no threads":          func(m *transactionMessage) { m.Threads = 0 },
		"too many endpoints":  func(m *transactionMessage) { m.Endpoints = 1 << 31 },
		"no such operation":   func(m *transactionMessage) { m.Operations[0].Kind = 3 },
		"too large":           func(m *transactionMessage) { m.Operations[0].Size, m.Operations[0].Segments = 1<<31, 1<<31 },
		"no segments":         func(m *transactionMessage) { m.Operations[0].Segments = 0 },
		"nothing to sync":     func(m *transactionMessage) { m.Validate = 1 },
	} {
		m := transactionMessage{Iterations: 1, Threads: 1, Endpoints: 1, Count: 2}
		m.Operations[0], m.Operations[1] = good, answered
		b := make([]byte, controlSize)
		if _, err := binary.Encode(b, order, m); err != nil {
			t.Fatal(err)
		}
		if _, err := parseTransaction(b); err != nil {
			t.Fatalf("a good one: %v", err)
		}
		change(&m)
		if _, err := binary.Encode(b, order, m); err != nil {
			t.Fatal(err)
		}
		if got, err := parseTransaction(b); err == nil {
			t.Errorf("%s: taken as %v", name, got)
		}
	}
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{
		"x", "-T", "-T X", "-D p", "-T S x", "-T S -s one", "-T S -n 0", "-T S -R HT",
		"-T T", "-T T client SR server SR", "-T T -s one", "-T T -s one client SR", "-T T -s one server SR",
		"-T T -s one SR", "-T T -s one client", "-T T -s one client SW", "-T T -s one client SR 8 2 1 server SR", "-T T -s one client SR x server SR",
		"-T T -s one client SR -f server SR", "-T T -s one client SR server SR -f", "-T T -s one server SR -f client SR -f",
		"-T T -s one client RW -f client SR server SR", "-T T -s one -i 0 client SR server SR", "-T T -s one -Q client SR server SR",
		"-T T -s one client SR 0 server SR", "-T T -s one client SR 1000000000 2 server SR",
		"-T T -s one -V" + strings.Repeat(" client SR server SR", maxOperations/2),
		"-T P -s one", "-T P RW", "-T P -s one SR", "-T P -s one -m x RW", "-T P -s one -p 0 RW", "-T P -s one RW 8 1 1",
		"-T Q", "-T L limit_x", "-T L -w 0", "-T F", "-T F -f x", "-T F -f pz case3", "-T F -f pz x", "-T F -f pz case",
	} {
		if err := new(command).parse(strings.Fields(line)); err == nil || errors.Is(err, getopt.ErrHelp) {
			t.Errorf("%q returns %v", line, err)
		}
	}
}
