package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compareCommands(t *testing.T, what string, got, want command) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{}, transaction{}, operation{}, performance{}, limit{}, fft{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestServerFlags(t *testing.T) {
	for line, change := range map[string]func(*command){
		"":                       func(c *command) {},
		"-T S":                   func(c *command) {},
		"-TS -dd -D cma:eth0":    func(c *command) { c.trace, c.adapter = 2, "cma:eth0" },
		"-T S -n 7 -R BE":        func(c *command) { c.port = 7 },
		"-T Q -s one -D p":       func(c *command) { c.test, c.host, c.adapter = testQuit, "one", "p" },
		"-T L -w 3 -m7 -D p":     func(c *command) { c.test, c.limit.width, c.limit.most, c.adapter = testLimit, 3, 7, "p" },
		"-T L limit_ep limit_ia": func(c *command) { c.test, c.limit.names = testLimit, []string{"limit_ep", "limit_ia"} },
		"-T F -f pz case2":       func(c *command) { c.test, c.fft.feature, c.fft.cases = testFFT, "pz", []int{2} },
	} {
		want, err := parseCommand(nil)
		if err != nil {
			t.Fatal(err)
		}
		change(&want)
		got, err := parseCommand(strings.Fields(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		compareCommands(t, line, got, want)
	}
}

func TestTransactionFlags(t *testing.T) {
	clientSR, serverSR := operation{kind: sendReceive, size: 4096, segments: 1}, operation{byServer: true, kind: sendReceive, size: 4096, segments: 1}
	for line, change := range map[string]func(*transaction){
		"client SR server SR": func(t *transaction) { t.operations = []operation{clientSR, serverSR} },
		"-V client RW 8": func(t *transaction) {
			t.validate, t.operations = true, append([]operation{{kind: rdmaWrite, size: 8, segments: 1}}, syncs...)
		},
		"-i 5 -t2 -w 3 -rP client SR server SR": func(t *transaction) {
			t.iterations, t.threads, t.endpoints, t.reserved, t.poll, t.operations = 5, 2, 3, true, true, []operation{clientSR, serverSR}
		},
		"client SR 100 -f server SR 4096 2 -f": func(t *transaction) {
			t.operations = []operation{
				{kind: sendReceive, size: 100, segments: 1, late: true},
				{byServer: true, kind: sendReceive, size: 4096, segments: 2, late: true},
			}
		},
	} {
		got, err := parseCommand(append([]string{"-T", "T", "-s", "one"}, strings.Fields(line)...))
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		want := got
		want.transaction = defaultTransaction
		change(&want.transaction)
		compareCommands(t, line, got, want)
	}
}

func TestScript(t *testing.T) {
	name := filepath.Join(t.TempDir(), "script")
	const script = "# a transaction\n-T T -s one # the server\n -i 3\nclient SR\nserver SR 16\n"
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := parseCommand(strings.Fields("-T T -s one -i 3 client SR server SR 16"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-f", name}, {"-f" + name}} {
		got, err := parseCommand(args)
		if err != nil {
			t.Error(err)
		}
		compareCommands(t, args[0], got, want)
	}
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{
		"x", "-T", "-T X", "-D p", "-T S x", "-T S -s one", "-T S -n 0", "-T S -R HT", "-f", "-f /does/not/exist", "-f a b",
		"-T T", "-T T client SR server SR", "-T T -s one", "-T T -s one client SR", "-T T -s one server SR", "-T T -s -i 3 client SR server SR",
		"-T T -s one SR", "-T T -s one client", "-T T -s one client SW", "-T T -s one client SR 8 2 1 server SR", "-T T -s one client SR x server SR",
		"-T T -s one client SR -f server SR", "-T T -s one client SR server SR -f", "-T T -s one server SR -f client SR -f",
		"-T T -s one client RW -f client SR server SR", "-T T -s one -i 0 client SR server SR", "-T T -s one -Q client SR server SR",
		"-T T -s one client SR 0 server SR", "-T T -s one client SR 1000000000 2 server SR",
		"-T T -s one -V" + strings.Repeat(" client SR server SR", maxOperations/2),
		"-T P -s one", "-T P RW", "-T P -s one SR", "-T P -s one -m x RW", "-T P -s one -p 0 RW", "-T P -s one RW 8 1 1",
		"-T Q", "-T L limit_x", "-T L -w 0", "-T F", "-T F -f x", "-T F -f pz case3", "-T F -f pz x", "-T F -f pz case",
	} {
		if _, err := parseCommand(strings.Fields(line)); err == nil || errors.Is(err, errHelp) {
			t.Errorf("%q returns %v", line, err)
		}
	}
	if _, err := parseCommand([]string{"-h"}); !errors.Is(err, errHelp) {
		t.Errorf("-h returns %v", err)
	}
}
