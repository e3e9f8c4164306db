// Package pairing is for tests: it runs two programs that talk to each other. Each can be the test's own or the native
// stack's C program.
package pairing

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
)

// Bound is the longest time that a pair may take, in case it hangs. On a busy machine with an emulated device, a pair
// takes many times as long as usual.
const Bound = 4 * time.Minute

// Program is a program that can be either side of a pair.
type Program struct {
	Path    string
	Args    []string // before those of a run
	Env     []string // in addition to the environment
	Listens string   // the server's output when clients may connect, or soon may
	Passes  string   // the output at the end of a successful run
}

// childVariable makes the test binary run the program instead of tests.
const childVariable = "PAIRING_CHILD"

// Main is TestMain of a program.
func Main(m *testing.M, program func()) {
	if os.Getenv(childVariable) != "" {
		program()
		return
	}
	udattest.Main(m)
}

// Own returns the test binary as a program. With PAIRING_ROOT, it is the file "program" of that folder, which sees no other
// files than those in the folder.
func Own(t testing.TB, listens, passes string) *Program {
	t.Helper()
	p := &Program{Env: []string{childVariable + "=1"}, Listens: listens, Passes: passes}
	if root := os.Getenv("PAIRING_ROOT"); root != "" {
		p.Path, p.Args = "chroot", []string{root, "/program"}
		return p
	}
	var err error
	if p.Path, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Native finds a C program: in the build of scripts/native if the tests run on that, else in the system. It returns nil
// if there is none.
//
// The test must read its output line by line. The C library writes lines at once for terminals only; stdbuf changes
// that.
func Native(t testing.TB, name, listens, passes string) *Program {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Logf("there is no C program to pair with: %v; scripts/native builds it", err)
		return nil
	}
	return &Program{Path: "stdbuf", Args: []string{"-oL", path}, Listens: listens, Passes: passes}
}

func find(name string) (path string, err error) {
	folder, err := exec.Command("pkg-config", "--variable=prefix", "goudat").Output()
	if err != nil {
		return "", err
	}
	path = filepath.Join(strings.TrimSpace(string(folder)), "bin", name)
	_, err = os.Stat(path)
	return path, err
}

// Side is a program with its flags.
type Side struct {
	*Program
	Flags []string
}

// Sides returns both sides of a pair on an adapter of this machine, with those of their flags that dtest, dtestx and dtestsrq
// have in common, and others.
func Sides(t testing.TB, server, client *Program, provider, serverFlags, clientFlags string) (s, c Side) {
	t.Helper()
	return Side{server, append([]string{"-P", provider}, strings.Fields(serverFlags)...)},
		Side{client, append([]string{"-h", Address(t, provider), "-P", provider}, strings.Fields(clientFlags)...)}
}

// Start starts both sides, the client when the server is ready. Processes that still run when ctx ends are killed.
func Start(t testing.TB, ctx context.Context, server, client Side) (s, c *Process) {
	t.Helper()
	s = server.Start(t, ctx, server.Flags)
	if !s.Await(server.Listens) {
		t.Fatalf("the server does not start: %v\n%s", s.Wait(), s.Text())
	}
	return s, client.Start(t, ctx, client.Flags)
}

// Run runs both sides and checks that they succeed and say so. It returns their output.
func Run(t testing.TB, server, client Side) (serverText, clientText string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	defer cancel()
	s, c := Start(t, ctx, server, client)
	clientErr := c.Wait()
	clientText = c.Text()
	if clientErr != nil || !strings.Contains(clientText, client.Passes) {
		cancel() // a server without a client would wait forever
	}
	serverErr := s.Wait()
	serverText = s.Text()
	for _, side := range []struct {
		role, text, passes string
		err                error
	}{{"server", serverText, server.Passes, serverErr}, {"client", clientText, client.Passes, clientErr}} {
		if side.err != nil || !strings.Contains(side.text, side.passes) {
			t.Errorf("the %s ended with %v and said\n%s", side.role, side.err, side.text)
		}
	}
	return serverText, clientText
}

// PeerDies starts both sides, kills the client when the server runs, as its output says, and checks that the server then
// fails and says so.
func PeerDies(t testing.TB, server, client Side, runs string, reasons ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	defer cancel()
	s, c := Start(t, ctx, server, client)
	if !s.Await(runs) {
		t.Errorf("the server does not begin: %v\n%s", s.Wait(), s.Text())
	}
	c.Signal(os.Kill)
	c.Wait()
	s.Fails(t, ctx, reasons...)
}

// Interrupt starts a server, interrupts it while it waits for a client, and checks that it says so.
func Interrupt(t testing.TB, server Side, reasons ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	defer cancel()
	s := server.Start(t, ctx, server.Flags)
	if !s.Await(server.Listens) {
		t.Fatalf("the server does not start: %v\n%s", s.Wait(), s.Text())
	}
	s.Signal(os.Interrupt)
	s.Fails(t, ctx, reasons...)
}

// Differ checks that the sides that it names fail and say why, as the two were given flags that do not go together.
func Differ(t testing.TB, server, client Side, serverSays, clientSays []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Bound)
	defer cancel()
	s, c := Start(t, ctx, server, client)
	c.Fails(t, ctx, clientSays...)
	s.Fails(t, ctx, serverSays...)
}

// Address returns an adapter's address, for clients.
func Address(t testing.TB, provider string) string {
	t.Helper()
	return udattest.Address(t, udattest.Open(t, provider)).String()
}
