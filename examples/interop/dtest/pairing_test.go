package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// transfers are sets of flags that both sides get. The sizes are small, as each
// side of the C program locks over 200 times the size in memory.
var transfers = []struct {
	name  string
	flags string
}{
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
func TestGoWithGo(t *testing.T) {
	self := ownProgram(t)
	pairEach(t, self, self)
}

// The C program with itself is the reference for the others.
func TestCWithC(t *testing.T) {
	if native := nativeProgram(t); native != nil {
		pairEach(t, native, native)
	}
}

func TestGoClientWithCServer(t *testing.T) {
	if native := nativeProgram(t); native != nil {
		pairEach(t, native, ownProgram(t))
	}
}

func TestCClientWithGoServer(t *testing.T) {
	if native := nativeProgram(t); native != nil {
		pairEach(t, ownProgram(t), native)
	}
}

const passed = "DAPL Test Complete. PASSED"

func ownProgram(t *testing.T) *pairing.Program {
	return pairing.Own(t, "waiting for a client at port", passed)
}

func nativeProgram(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtest", "Server is waiting for client connection", passed)
}

func sides(t *testing.T, server, client *pairing.Program, provider, line string) (s, c pairing.Side) {
	flags := append([]string{"-P", provider}, strings.Fields(line)...)
	return pairing.Side{Program: server, Flags: flags},
		pairing.Side{Program: client, Flags: append([]string{"-h", pairing.Address(t, provider)}, flags...)}
}

func pairEach(t *testing.T, server, client *pairing.Program) {
	for _, provider := range udattest.Names(t) {
		for _, transfer := range transfers {
			t.Run(provider+"/"+transfer.name, func(t *testing.T) {
				s, c := sides(t, server, client, provider, transfer.flags)
				serverText, clientText := pairing.Run(t, s, c)
				if strings.Contains(transfer.flags, "-t") && !t.Failed() {
					compareTables(t, tableOf(serverText), tableOf(clientText))
				}
			})
		}
	}
}

var tableLine = regexp.MustCompile(`(?m)^\d+: ((?:RDMA read|open|close|PZ \w+|LMR \w+|EVD \w+|EP \w+|CNO \w+|TOTAL):.*)$`)

var numbers = regexp.MustCompile(`\s*\d+(\.\d+)?`)

// tableOf returns the lines of the table without their numbers.
func tableOf(text string) []string {
	var lines []string
	for _, match := range tableLine.FindAllStringSubmatch(text, -1) {
		lines = append(lines, numbers.ReplaceAllString(match[1], " N"))
	}
	return lines
}

func compareTables(t *testing.T, server, client []string) {
	if len(server) != reads+11 {
		t.Errorf("the server's table has %d lines, want %d: %q", len(server), reads+11, server)
	}
	if s, c := strings.Join(server, "\n"), strings.Join(client, "\n"); s != c {
		t.Errorf("the tables differ. Server:\n%s\nClient:\n%s", s, c)
	}
}

// The client reports the error when the server transfers something else.
func TestSizesDiffer(t *testing.T) {
	self := ownProgram(t)
	ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
	defer cancel()
	server, client := sides(t, self, self, udattest.Names(t)[0], "-b 4096")
	client.Flags = append(client.Flags, "-b", "8192")
	s, c := pairing.Start(t, ctx, server, client)
	for _, side := range []*pairing.Process{c, s} {
		side.Fails(t, ctx, "give both the same -b")
	}
}

// A side fails if its peer dies, with any kind of wait.
func TestPeerDies(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		for _, flags := range []string{"-b4096 -B1000000", "-b4096 -B1000000 -p", "-b4096 -W -B1000000"} {
			t.Run(provider+"/"+flags, func(t *testing.T) {
				server, client := sides(t, self, self, provider, flags)
				pairing.PeerDies(t, server, client, "RDMA writes", "DAPL Test Complete. FAILED")
			})
		}
	}
}

// A server that is interrupted while it waits ends cleanly.
func TestInterrupt(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		pairing.Interrupt(t, pairing.Side{Program: ownProgram(t), Flags: []string{"-P", provider, "-b", "4096"}}, "dtest: interrupted\n")
	}
}
