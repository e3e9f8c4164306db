package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// transfers are sets of flags that both sides get. The sizes are small, as each side of the C program locks over 200 times
// the size in memory.
var transfers = []struct{ name, flags string }{
	{"waiting", "-b4096 -B100 -t"},
	{"polling", "-b4096 -B100 -tp"},
	{"CNO", "-b4096 -B100 -c"},
	{"unidirectional", "-b1000 -B50 -S7 -u"},
	{"no reads, waiting", "-b4096 -B100 -w"},
	{"no reads, polling", "-b4096 -B105 -wp"},
	{"no reads, unidirectional", "-b4096 -B100 -wu"},
	{"writes in turn", "-WtB100"},
	{"writes in turn, data checked", "-D -B 50 -b 5000"},
	{"writes in turn, doubled sizes", "-WaB5 -b 3000"},
	{"writes in turn, sizes by increment", "-WB10 -b 3000 -i 1000"},
}

// Programs with the same port and qualifier cannot run at the same time.
func TestGoWithGo(t *testing.T) { pairEach(t, own(t), own(t)) }

// The C program with itself is the reference for the others.
func TestCWithC(t *testing.T) { pairEach(t, native(t), native(t)) }

func TestGoClientWithCServer(t *testing.T) { pairEach(t, native(t), own(t)) }

func TestCClientWithGoServer(t *testing.T) { pairEach(t, own(t), native(t)) }

const passed = "DAPL Test Complete. PASSED"

func own(t *testing.T) *pairing.Program {
	return pairing.Own(t, "waiting for a client at port", passed)
}

func native(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtest", "Server is waiting for client connection", passed)
}

func pairEach(t *testing.T, server, client *pairing.Program) {
	if server == nil || client == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		for _, transfer := range transfers {
			t.Run(provider+"/"+transfer.name, func(t *testing.T) {
				s, c := pairing.Sides(t, server, client, provider, transfer.flags, transfer.flags)
				pairing.Run(t, s, c)
			})
		}
	}
}

// Both sides report the error when they have different sizes.
func TestSizesDiffer(t *testing.T) {
	server, client := pairing.Sides(t, own(t), own(t), udattest.Names(t)[0], "-b 4096", "-b 8192")
	reason := []string{"give both the same -b"}
	pairing.Differ(t, server, client, reason, reason)
}

// A side fails if its peer dies, with any kind of wait.
func TestPeerDies(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		for _, flags := range []string{"-b4096 -B1000000", "-b4096 -B1000000 -p", "-b4096 -W -B1000000"} {
			t.Run(provider+"/"+flags, func(t *testing.T) {
				server, client := pairing.Sides(t, own(t), own(t), provider, flags, flags)
				pairing.PeerDies(t, server, client, "RDMA writes", "DAPL Test Complete. FAILED")
			})
		}
	}
}

// A server that is interrupted while it waits ends cleanly.
func TestInterrupt(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		pairing.Interrupt(t, pairing.Side{Program: own(t), Flags: []string{"-P", provider, "-b", "4096"}}, "dtest: interrupted\n")
	}
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{"x", "-b 0", "-B 0", "-S 0", "-i 0 -W", "-W -i 8192 -b 4096", "-d -1", "-a", "-i 4"} {
		if err := new(options).parse(strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestPingPongSizes(t *testing.T) {
	for _, c := range []struct {
		flags string
		want  []int
	}{
		{"-W", []int{1}},
		{"-W -b77", []int{77}},
		{"-Wab1", []int{1}},
		{"-Wab8", []int{1, 2, 3, 4, 5, 7, 8}},
		{"-Wab9", []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16}},
		{"-Wi10 -b25", []int{9, 10, 11, 19, 20, 21}},
		{"-Wi10 -b20", []int{9, 10, 11, 19, 20}},
	} {
		var o options
		if err := o.parse(strings.Fields(c.flags)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, o.pingPongSizes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.flags, diff)
		}
	}
}
