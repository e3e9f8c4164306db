package main

import (
	"bufio"
	"fmt"
	"io"
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
	udattest.Patience = 2 * time.Minute // for whole runs of two processes on a busy machine
	udattest.Main(m)
}

// Each side can be in C or in Go. A qualifier of any size means the same in both: a port, a process id, a rank in the high bits.
func TestPairs(t *testing.T) {
	native := filepath.Join(t.TempDir(), "deposit")
	const compile = `exec ${CC:-cc} $CGO_CFLAGS -Wall -Wextra -Werror -o "$1" c/deposit.c $(pkg-config --cflags --libs goudat)`
	if out, err := exec.Command("sh", "-c", compile, "sh", native).CombinedOutput(); err != nil {
		t.Fatalf("the C program does not build: %v\n%s", err, out)
	}
	const many = (window+2)*piece + 1 // more writes than may be outstanding
	for _, provider := range udattest.Names(t) {
		for name, sides := range map[string][2]string{"C server, Go client": {native, os.Args[0]}, "Go server, C client": {os.Args[0], native}} {
			for qual, size := range map[udat.ConnQual]int{udattest.ConnQual(): many, 65000: 1, 65535: 1, 70000: 1, 65536 + udat.ConnQual(os.Getpid()): 1, 1<<35 + 8: 1} {
				t.Run(fmt.Sprintf("%s/%s/qualifier %d, %d bytes", provider, name, qual, size), func(t *testing.T) {
					if strings.Contains(provider, "scm") && uint16(qual+1000) < 1024 && os.Geteuid() != 0 {
						t.Skip("the TCP port is below 1024")
					}
					served := serve(t, sides[0], "-q", fmt.Sprint(qual), provider)
					client := command(t, sides[1], "-q", fmt.Sprint(qual), "-n", fmt.Sprint(size), "-c", address(t, provider), provider)
					text, err := client.CombinedOutput()
					if err != nil {
						t.Fatalf("the client: %v\n%s", err, text)
					}
					memory := make([]byte, size)
					fill(memory)
					want := fmt.Sprintf("got %d bytes, sum 0x%08x", size, sum(memory))
					if server, err := served(); err != nil || !strings.Contains(server, want) || !strings.Contains(string(text), want) {
						t.Errorf("%q is missing, or %v, the server said:\n%s\nthe client:\n%s", want, err, server, text)
					}
				})
			}
		}
	}
}

// A program that fails says why.
func TestFailures(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		const nobody = "nobody listens there: start the server first (udat: got DAT_CONNECTION_EVENT_NON_PEER_REJECTED"
		qual := udattest.ConnQual()
		for args, want := range map[string]string{
			"-c " + address(t, provider) + " -q " + fmt.Sprint(qual) + " " + provider: "deposit: " + nobody, "none": "dat_ia_open",
			"": "usage:", "a b": "usage:", "-q 0 a": "usage:", "-n 0 a": "usage:", "-n 67108865 a": "usage:",
		} {
			if text, err := command(t, os.Args[0], strings.Fields(args)...).CombinedOutput(); err == nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: got %v and %s, want %s", args, err, text, want)
			}
		}

		// A client that dies.
		served := serve(t, os.Args[0], "-q", fmt.Sprint(qual), provider)
		n := openNode(provider)
		n.allocate(1, 0)
		n.connectTo(address(t, provider), qual)
		check(n.ia.Close(udat.CloseAbrupt))
		if text, err := served(); err == nil || !strings.Contains(text, "DAT_DTO_ERR_FLUSHED") {
			t.Errorf("after the end of its client, the server ends with %v and says\n%s", err, text)
		}
	}
}

func command(t *testing.T, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(udattest.Context(t), program, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	return cmd
}

// serve starts a server, and returns when it listens. The function waits for its end, and returns what it has said.
func serve(t *testing.T, program string, args ...string) func() (string, error) {
	t.Helper()
	cmd := command(t, program, args...)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	output := bufio.NewReader(read)
	line, _ := output.ReadString('\n')
	end := func() (string, error) {
		rest, _ := io.ReadAll(output)
		return line + string(rest), cmd.Wait()
	}
	if !strings.Contains(line, "waiting for a client") {
		text, err := end()
		t.Fatalf("the server does not start: %v\n%s", err, text)
	}
	return end
}

func address(t *testing.T, provider string) string {
	return udattest.Address(t, udattest.Open(t, provider)).String()
}
