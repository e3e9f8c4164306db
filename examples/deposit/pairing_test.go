package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that a test starts behave as deposit.
const childVariable = "DEPOSIT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of several processes on a busy machine
	udattest.Main(m)
}

// bound is the most that one pairing may take.
const bound = 4 * time.Minute

func TestPairs(t *testing.T) {
	providers := udattest.Names(t)
	native, own := buildNative(t), ownProgram(t)
	for _, provider := range providers {
		for _, sides := range []struct{ name, server, client string }{
			{"C server, Go client", native, own},
			{"Go server, C client", own, native},
		} {
			// Less than one RDMA write, and more writes than may be outstanding.
			for _, size := range []int{1, (window+2)*piece + 1} {
				t.Run(fmt.Sprintf("%s/%s/%d bytes", provider, sides.name, size), func(t *testing.T) {
					pair(t, provider, sides.server, sides.client, udattest.ConnQual(), size)
				})
			}
		}
	}
}

// A qualifier of any size means the same in both languages: a port, a process id, a rank in the high bits.
func TestWideQualifiers(t *testing.T) {
	providers := udattest.Names(t)
	native, own := buildNative(t), ownProgram(t)
	for _, provider := range providers {
		for _, qual := range []udat.ConnQual{65000, 65535, 70000, 65536 + udat.ConnQual(os.Getpid()), 1<<35 + 8} {
			for _, sides := range []struct{ name, server, client string }{
				{"C server, Go client", native, own},
				{"Go server, C client", own, native},
			} {
				t.Run(fmt.Sprintf("%s/%s/%d", provider, sides.name, qual), func(t *testing.T) {
					if needsPrivilege(provider, qual) && os.Geteuid() != 0 {
						t.Skip("the TCP port is below 1024")
					}
					pair(t, provider, sides.server, sides.client, qual, 1)
				})
			}
		}
	}
}

// needsPrivilege reports whether the provider maps the qualifier to a privileged TCP port.
func needsPrivilege(provider string, qual udat.ConnQual) bool {
	return strings.Contains(provider, "scm") && uint16(qual+1000) < 1024
}

// pair runs both sides, and checks that they succeed and have the same sum.
func pair(t *testing.T, provider, server, client string, qualifier udat.ConnQual, size int) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	qual := fmt.Sprint(qualifier)
	s := start(t, ctx, server, "-q", qual, provider)
	if !s.await("waiting for a client") {
		t.Fatalf("the server does not start: %v\n%s", s.cmd.Wait(), s.text)
	}
	c := start(t, ctx, client, "-q", qual, "-n", fmt.Sprint(size), "-c", address(t, provider), provider)
	clientErr := c.wait()
	if clientErr != nil {
		cancel() // a server without a client would wait forever
	}
	serverErr := s.wait()
	if clientErr != nil || serverErr != nil {
		t.Fatalf("the client ended with %v and said\n%s\nthe server with %v and\n%s", clientErr, c.text, serverErr, s.text)
	}
	memory := make([]byte, size)
	fill(memory)
	result := fmt.Sprintf("got %d bytes, sum 0x%08x", size, sum(memory))
	for _, side := range []*process{s, c} {
		if !strings.Contains(side.text, result) {
			t.Errorf("%q is missing in\n%s", result, side.text)
		}
	}
}

func TestBothSides(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		if err := runBoth(udattest.Context(t), provider, settings{qual: udattest.ConnQual(), bytes: 3*piece + 5}); err != nil {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// A client without a server fails, and says so.
func TestNoServer(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		s := settings{qual: udattest.ConnQual(), bytes: 1, host: address(t, provider), adapters: []string{provider}}
		err := run(udattest.Context(t), s)
		const text = "nobody listens there: start the server first " +
			"(udat: got DAT_CONNECTION_EVENT_NON_PEER_REJECTED instead of DAT_CONNECTION_EVENT_ESTABLISHED)"
		if err == nil || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

// A side fails if its peer dies.
func TestPeerDies(t *testing.T) {
	own := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		qual := udattest.ConnQual()
		s := start(t, ctx, own, "-q", fmt.Sprint(qual), provider)
		if !s.await("waiting for a client") {
			t.Fatalf("the server does not start: %v\n%s", s.cmd.Wait(), s.text)
		}
		err := withNode(provider, func(n *node) error {
			if err := n.allocate(1, 0); err != nil {
				return err
			}
			_, err := n.connect(ctx, address(t, provider), qual)
			return err // closing the adapter ends the connection
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.wait(); err == nil || ctx.Err() != nil || !strings.Contains(s.text, "DAT_DTO_RECEIVE: DAT_DTO_ERR_FLUSHED") {
			t.Errorf("got %v and\n%s", err, s.text)
		}
	}
}

// A server that is interrupted while it waits ends cleanly.
func TestInterrupt(t *testing.T) {
	provider := udattest.Names(t)[0]
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	s := start(t, ctx, ownProgram(t), "-q", fmt.Sprint(udattest.ConnQual()), provider)
	if !s.await("waiting for a client") {
		t.Fatalf("the server does not start: %v\n%s", s.cmd.Wait(), s.text)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.wait(); err == nil || ctx.Err() != nil || !strings.HasSuffix(s.text, "deposit: interrupted\n") {
		t.Errorf("got %v and\n%s", err, s.text)
	}
}

func TestFlags(t *testing.T) {
	own := ownProgram(t)
	for _, test := range []struct{ args, want string }{
		{"", "the name of an adapter is missing"},
		{"a b", `unexpected argument "b"`},
		{"-q 0 a", "-q must be at least 1"},
		{"-n 0 a", "-n must be 1 to 67108864"},
		{"-n 67108865 a", "-n must be 1 to 67108864"},
		{"-both -c h a", "-both and -c exclude each other"},
	} {
		p := start(t, t.Context(), own, strings.Fields(test.args)...)
		if err := p.wait(); err == nil || p.text != "deposit: "+test.want+"\n" {
			t.Errorf("%s: got %v and %q, want %q", test.args, err, p.text, test.want)
		}
	}
}

// buildNative compiles the C program as cgo would.
func buildNative(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "deposit")
	const compile = `exec ${CC:-cc} $CGO_CFLAGS -Wall -Wextra -Werror -o "$1" c/deposit.c $(pkg-config --cflags --libs goudat)`
	if out, err := exec.Command("sh", "-c", compile, "sh", program).CombinedOutput(); err != nil {
		t.Fatalf("the C program does not build: %v\n%s", err, out)
	}
	return program
}

func ownProgram(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func address(t *testing.T, provider string) string {
	return udattest.Address(t, udattest.Open(t, provider)).String()
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	text  string // its output
}

func start(t *testing.T, ctx context.Context, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	p.cmd.Stdout, p.cmd.Stderr = write, write
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	p.lines = bufio.NewScanner(read)
	return p
}

// await reads lines until one has the text. It returns false if the process ends before.
func (p *process) await(text string) bool {
	for p.lines.Scan() {
		p.text += p.lines.Text() + "\n"
		if strings.Contains(p.lines.Text(), text) {
			return true
		}
	}
	return false
}

// wait reads the rest of the output and waits for the end.
func (p *process) wait() error {
	for p.lines.Scan() {
		p.text += p.lines.Text() + "\n"
	}
	return p.cmd.Wait()
}
