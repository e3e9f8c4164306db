package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// clients run one after the other with the same server. The last one ends it. The C program says no Stats of fewer iterations,
// which take less than a millisecond.
var clients = []struct{ name, flags, says string }{
	{"send and receive", "-T T -i 50 client SR 4096 2 server SR 4096 2", "----- Stats ---- : 1 threads, 1 EPs"},
	{"all operations on many endpoints", "-T T -i 50 -t 2 -w 3 -V client RW 4096 1 server RW 2048 4 client SR 1024 4 server SR 4096 2 " +
		"client SR 1024 3 -f server SR 2048 1 -f server RR 256 2 client RR 5000", "----- Stats ---- : 2 threads, 3 EPs"},
	{"polling", "-T T -i 50 -V -P client SR 8 -f server SR 8 -f client RW 100", "----- Stats ---- : 1 threads, 1 EPs"},
	{"reserved service points", "-T T -i 50 -w 2 -r server SR client SR", "----- Stats ---- : 1 threads, 2 EPs"},
	{"timed writes", "-T P -i 40 -p 8 RW 4096 2", "raw: RW, 40, 4096, 2, 8,"},
	{"timed reads, polling", "-T P -i 40 -m p RR 1000", "raw: RR, 40, 1000, 1, 40,"},
	{"quit", "-T Q", "Quit_Cmd.server_name: "},
}

// complaint matches an error in the C program's output. The program does not always end with an error.
var complaint = regexp.MustCompile(`(?i)error|warning|fail|mismatch|swallow`)

func TestGoWithGo(t *testing.T) { serveClients(t, own(t), own(t)) }

func TestGoClientWithCServer(t *testing.T) { serveClients(t, native(t), own(t)) }

func TestCClientWithGoServer(t *testing.T) { serveClients(t, own(t), native(t)) }

const serverReady = "Dapltest: Service Point Ready"

func own(t *testing.T) *pairing.Program {
	return pairing.Own(t, serverReady, "")
}

func native(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dapltest", serverReady, "")
}

// startServer starts a server, which is killed at the end of the test.
func startServer(t *testing.T, program *pairing.Program, provider string) *pairing.Process {
	t.Helper()
	return program.Serve(t, []string{"-T", "S", "-D", provider})
}

// startClient starts a client of the server on this machine.
func startClient(t *testing.T, program *pairing.Program, provider, flags string) *pairing.Process {
	t.Helper()
	words := strings.Fields(flags)
	return program.Start(t, slices.Concat(words[:2], []string{"-D", provider, "-s", pairing.Address(t, provider)}, words[2:]))
}

// withReads returns the flags with reads into as many segments as the provider's
// device can read into: into one over iWARP.
func withReads(t *testing.T, provider, flags string) string {
	t.Helper()
	if overIWARP(t, provider) {
		return strings.NewReplacer("RR 256 2", "RR 512", "RR 100 2", "RR 200").Replace(flags)
	}
	return flags
}

func overIWARP(t *testing.T, provider string) bool {
	t.Helper()
	return udattest.IWARP(t, udattest.Open(t, provider))
}

func serveClients(t *testing.T, server, client *pairing.Program) {
	if server == nil || client == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			s := startServer(t, server, provider)
			for _, c := range clients {
				t.Run(c.name, func(t *testing.T) {
					process := startClient(t, client, provider, withReads(t, provider, c.flags))
					checkEnd(t, process, c.says)
				})
			}
			if t.Failed() {
				s.Signal(os.Kill)
			}
			checkEnd(t, s, "DT_cs_Server ("+provider+"):  Exiting.")
		})
	}
}

// checkEnd waits until a process ends, which must succeed.
func checkEnd(t *testing.T, process *pairing.Process, says string) {
	t.Helper()
	process.Succeeds(t, says)
	if wrong := complaint.FindString(process.Text()); wrong != "" {
		t.Errorf("there is %q in\n%s", wrong, process.Text())
	}
}

// The C program leaves gaps between segments whose size is no multiple of 256 bytes, in the middle of what its peer
// reads. So the data is wrong, and this program reports it.
func TestWrongDataIsFound(t *testing.T) {
	native := native(t)
	if native == nil {
		return
	}
	provider := udattest.Names(t)[0]
	s := startServer(t, native, provider)
	c := startClient(t, own(t), provider, "-T T -i 3 -V client RR 100 2")
	says := "the data is wrong: client RR 100 2: byte 100 at endpoint 0 is 0x0, want 0x1"
	if overIWARP(t, provider) {
		says = "there are 2 segments, an RDMA read of siw0 takes at most 1"
	}
	c.Fails(t, says)
	s.Signal(os.Kill)
	s.Wait()
}

// A server whose client dies reports it, serves the next one, and fails at the end.
func TestClientDies(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			s := startServer(t, own(t), provider)
			c := startClient(t, own(t), provider, "-T T -d -i 1000000000 -t 2 -w 2 client SR server SR")
			c.Await(t, "begin")
			c.Signal(os.Kill)
			c.Wait()
			checkEnd(t, startClient(t, own(t), provider, withReads(t, provider, "-T T -i 3 -V client RR 100 2 server RW 50 3")), "Stats")
			checkEnd(t, startClient(t, own(t), provider, "-T Q"), "Quit_Cmd")
			s.Fails(t, "1 tests or clients failed")
		})
	}
}

// A client fails when its server dies, or when it is interrupted.
func TestServerDies(t *testing.T) {
	provider := udattest.Names(t)[0]
	for what, end := range map[string]func(s, c *pairing.Process){
		"the connection has ended": func(s, c *pairing.Process) { s.Signal(os.Kill) },
		"dapltest: interrupted":    func(s, c *pairing.Process) { c.Signal(os.Interrupt); s.Signal(os.Interrupt) },
	} {
		t.Run(what, func(t *testing.T) {
			s := startServer(t, own(t), provider)
			c := startClient(t, own(t), provider, "-T T -d -i 1000000000 client SR server SR")
			c.Await(t, "begin")
			end(s, c)
			c.Fails(t, what)
			s.Wait()
		})
	}
}

// A client that starts before its server finds it. With socket CM it may come at a bad moment: see dtestsrq.
func TestClientFirst(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		if strings.Contains(provider, "scm") {
			continue
		}
		c := startClient(t, own(t), provider, "-T T -d -i 1 client SR server SR")
		c.Await(t, "nobody listens")
		s := startServer(t, own(t), provider)
		checkEnd(t, c, "Stats")
		checkEnd(t, startClient(t, own(t), provider, "-T Q"), "Quit_Cmd")
		checkEnd(t, s, "Exiting.")
	}
}

// A server takes simultaneous clients one after the other, and runs measurements one after the other.
func TestClientsAtATime(t *testing.T) {
	provider := udattest.Names(t)[0]
	s := startServer(t, own(t), provider)
	var running []*pairing.Process
	for _, flags := range []string{"-T P -i 200 RW", "-T T -i 20 client SR server SR", "-T P -i 200 RR", "-T T -i 20 -w 2 server SR client SR"} {
		running = append(running, startClient(t, own(t), provider, flags))
	}
	for _, c := range running {
		checkEnd(t, c, "Client Exiting")
	}
	checkEnd(t, startClient(t, own(t), provider, "-T Q"), "Quit_Cmd")
	checkEnd(t, s, "Exiting.")
}
