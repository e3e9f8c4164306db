package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that a test starts behave as dtest.
const childVariable = "DTEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Main(m)
}

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
	return pairing.Own(t, childVariable, "waiting for a client at port", passed)
}

func nativeProgram(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtest", "Server is waiting for client connection", passed)
}

func pairEach(t *testing.T, server, client *pairing.Program) {
	for _, provider := range udattest.Names(t) {
		for _, transfer := range transfers {
			t.Run(provider+"/"+transfer.name, func(t *testing.T) {
				flags := append([]string{"-P", provider}, strings.Fields(transfer.flags)...)
				s, c := pairing.Run(t, pairing.Side{Program: server, Flags: flags},
					pairing.Side{Program: client, Flags: append([]string{"-h", pairing.Address(t, provider)}, flags...)})
				if strings.Contains(transfer.flags, "-t") && !t.Failed() {
					compareTables(t, tableOf(s), tableOf(c))
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
	provider := udattest.Names(t)[0]
	ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
	defer cancel()
	s := self.Start(t, ctx, []string{"-P", provider, "-b", "4096"})
	if !s.Await(self.Listens) {
		t.Fatalf("the server does not start: %v\n%s", s.Wait(), s.Text())
	}
	c := self.Start(t, ctx, []string{"-h", pairing.Address(t, provider), "-b", "8192"})
	for _, side := range []*pairing.Process{c, s} {
		if err := side.Wait(); err == nil || ctx.Err() != nil || !strings.Contains(side.Text(), "give both the same -b") {
			t.Errorf("got %v and\n%s", err, side.Text())
		}
	}
}

// A side fails if its peer dies, with any kind of wait.
func TestPeerDies(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		for _, flags := range []string{"-b4096 -B1000000", "-b4096 -B1000000 -p", "-b4096 -W -B1000000"} {
			t.Run(provider+"/"+flags, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
				defer cancel()
				args := append([]string{"-P", provider}, strings.Fields(flags)...)
				s := self.Start(t, ctx, args)
				if !s.Await(self.Listens) {
					t.Fatalf("the server does not start: %v\n%s", s.Wait(), s.Text())
				}
				c := self.Start(t, ctx, append([]string{"-h", pairing.Address(t, provider)}, args...))
				if !s.Await("RDMA writes") {
					t.Errorf("the server does not begin: %v\n%s", s.Wait(), s.Text())
				}
				c.Signal(os.Kill)
				c.Wait()
				if err := s.Wait(); err == nil || ctx.Err() != nil || !strings.Contains(s.Text(), "DAPL Test Complete. FAILED") {
					t.Errorf("got %v and\n%s", err, s.Text())
				}
			})
		}
	}
}

// A server that is interrupted while it waits ends cleanly.
func TestInterrupt(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
		defer cancel()
		s := self.Start(t, ctx, []string{"-P", provider, "-b", "4096"})
		if !s.Await(self.Listens) {
			t.Fatalf("the server does not start: %v\n%s", s.Wait(), s.Text())
		}
		s.Signal(os.Interrupt)
		if err := s.Wait(); err == nil || ctx.Err() != nil || !strings.Contains(s.Text(), "dtest: interrupted\n") {
			t.Errorf("got %v and\n%s", err, s.Text())
		}
	}
}
