package main

import (
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// Programs with the same qualifier cannot run at the same time.
func TestGoWithGo(t *testing.T) {
	for _, flags := range []string{"", "-S 0", "-c 10 -B 20 -t 10", "-c 3 -B 4 -S 0 -b 12"} {
		pairEach(t, own(t), own(t), flags, flags)
	}
}

// With a shared queue, the C program waits at the end for an event that soft-RoCE devices do not report. Without one it
// ends, and the messages are the same.
var flagSets = []struct{ own, native string }{
	{"-S 1", "-S 0"},
	{"-c 5 -B 10 -t 4 -S 1", "-c 5 -B 10 -t 4 -S 0"},
	{"-c 2 -B 3 -b 1000 -S 0", "-c 2 -B 3 -b 1000 -S 0"},
}

func TestGoClientWithCServer(t *testing.T) {
	for _, flags := range flagSets {
		pairEach(t, native(t), own(t), flags.native, flags.own)
	}
}

func TestCClientWithGoServer(t *testing.T) {
	for _, flags := range flagSets {
		pairEach(t, own(t), native(t), flags.own, flags.native)
	}
}

const failed = "Test Complete. FAILED"

func own(t *testing.T) *pairing.Program {
	return pairing.Own(t, "waiting for a client at port", "SRQ Test Complete. PASSED")
}

func native(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtestsrq", "Accepting...", "SRQ Test Complete.")
}

func pairEach(t *testing.T, server, client *pairing.Program, serverFlags, clientFlags string) {
	if server == nil || client == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		t.Run(provider+"/"+serverFlags, func(t *testing.T) {
			s, c := pairing.Sides(t, server, client, provider, serverFlags, clientFlags)
			pairing.Run(t, s, c)
		})
	}
}

// The C program with a shared queue takes and sends all messages, too, up to the missing event.
func TestSharedQueueOfC(t *testing.T) {
	native := native(t)
	if native == nil {
		return
	}
	const line = "-v -B 5 -t 4"
	const exchanged = "disc event[0] complete"
	for _, provider := range udattest.Names(t) {
		t.Run(provider+"/C server", func(t *testing.T) {
			server, client := pairing.Sides(t, native, own(t), provider, line, line)
			s, c := pairing.Start(t, server, client)
			if !c.Succeeds(t, client.Passes) {
				s.Signal(os.Kill)
			}
			s.Await(t, exchanged)
			s.Signal(os.Kill)
			s.Wait()
		})
		t.Run(provider+"/C client", func(t *testing.T) {
			server, client := pairing.Sides(t, own(t), native, provider, line, line)
			s, c := pairing.Start(t, server, client)
			c.Await(t, exchanged)
			s.Succeeds(t, server.Passes)
			c.Signal(os.Kill)
			c.Wait()
		})
	}
}

// A client that starts before its server finds it. With socket CM it may also come at a bad moment: if the server
// begins to listen while the library retries by itself, the library sends a longer request, which the server misreads.
func TestClientFirst(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		if strings.Contains(provider, "scm") {
			continue
		}
		for _, line := range []string{"-v -B 3 -S 1", "-v -B 3 -S 0"} {
			t.Run(provider+"/"+line, func(t *testing.T) {
				server, client := pairing.Sides(t, own(t), own(t), provider, line, line)
				c := client.Start(t, client.Flags)
				c.Await(t, "nobody listens")
				s := server.Start(t, server.Flags)
				if !c.Succeeds(t, client.Passes) {
					s.Signal(os.Kill)
				}
				s.Succeeds(t, server.Passes)
			})
		}
	}
}

// A server reports the error if its client has other flags.
func TestFlagsDiffer(t *testing.T) {
	provider := udattest.Names(t)[0]
	for _, flags := range []struct{ server, client, says string }{
		{"-b 100", "-b 99", "give both sides the same -b"},
		{"-t 4", "-t 2", "a connection ended"},
	} {
		t.Run(flags.server+"/"+flags.client, func(t *testing.T) {
			server, client := pairing.Sides(t, own(t), own(t), provider, flags.server, flags.client)
			pairing.Differ(t, server, client, []string{flags.says, failed}, nil)
		})
	}
}

// A side fails if its peer dies, with a shared queue and without.
func TestPeerDies(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		for _, line := range []string{"-c 2 -t 1000000000", "-c 2 -t 1000000000 -S 0"} {
			t.Run(provider+"/"+line, func(t *testing.T) {
				server, client := pairing.Sides(t, own(t), own(t), provider, line, line)
				pairing.PeerDies(t, server, client, " of 1000000000 bursts", "DAT_CONNECTION_EVENT_", failed)
			})
		}
	}
}

// An interrupted side and its peer end cleanly.
func TestInterrupt(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			const line = "-c 2 -t 1000000000"
			server, client := pairing.Sides(t, own(t), own(t), provider, line, line)
			s, c := pairing.Start(t, server, client)
			c.Await(t, " of 1000000000 bursts")
			c.Signal(os.Interrupt)
			c.Fails(t, "dtestsrq: interrupted\n", failed)
			s.Fails(t, "a connection ended", failed)
		})
	}
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{"x", "-b 11", "-c 101", "-B 101", "-t 0", "-p 65536", "-S 2", "-u", "-q 0x11", "-l 1"} {
		if err := new(options).parse(strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
