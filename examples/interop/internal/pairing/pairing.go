// Package pairing is for tests: it runs two programs that talk to each other. Each can be the test's own or the native
// stack's C program.
package pairing

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

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

// Start starts both sides, the client when the server is ready.
func Start(t testing.TB, server, client Side) (s, c *Process) {
	t.Helper()
	return server.Serve(t, server.Flags), client.Start(t, client.Flags)
}

// Run runs both sides and checks that they succeed and say so. It returns their output.
func Run(t testing.TB, server, client Side) (serverText, clientText string) {
	t.Helper()
	s, c := Start(t, server, client)
	if !c.Succeeds(t, client.Passes) {
		s.Signal(os.Kill) // it would wait for a client forever
	}
	s.Succeeds(t, server.Passes)
	return s.Text(), c.Text()
}

// PeerDies starts both sides, kills the client when the server runs, as its output says, and checks that the server then
// fails and says so.
func PeerDies(t testing.TB, server, client Side, runs string, reasons ...string) {
	t.Helper()
	s, c := Start(t, server, client)
	s.Await(t, runs)
	c.Signal(os.Kill)
	c.Wait()
	s.Fails(t, reasons...)
}

// Interrupt starts a server, interrupts it while it waits for a client, and checks that it says so.
func Interrupt(t testing.TB, server Side, reasons ...string) {
	t.Helper()
	s := server.Serve(t, server.Flags)
	s.Signal(os.Interrupt)
	s.Fails(t, reasons...)
}

// Differ checks that the sides that it names fail and say why, as the two were given flags that do not go together.
func Differ(t testing.TB, server, client Side, serverSays, clientSays []string) {
	t.Helper()
	s, c := Start(t, server, client)
	c.Fails(t, clientSays...)
	s.Fails(t, serverSays...)
}

// Address returns an adapter's address, for clients.
func Address(t testing.TB, provider string) string {
	t.Helper()
	return udattest.Address(t, udattest.Open(t, provider)).String()
}
