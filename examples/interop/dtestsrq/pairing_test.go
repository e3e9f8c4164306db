package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// Programs with the same qualifier cannot run at the same time.
func TestGoWithGo(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		for _, flags := range []string{"", "-S 0", "-c 10 -B 20 -t 10", "-c 3 -B 4 -S 0 -b 12"} {
			t.Run(provider+"/"+flags, func(t *testing.T) { pair(t, self, self, provider, flags, flags) })
		}
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
	native := nativeProgram(t)
	if native == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		for _, flags := range flagSets {
			t.Run(provider+"/"+flags.own, func(t *testing.T) {
				pair(t, native, ownProgram(t), provider, flags.native, flags.own)
			})
		}
	}
}

func TestCClientWithGoServer(t *testing.T) {
	native := nativeProgram(t)
	if native == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		for _, flags := range flagSets {
			t.Run(provider+"/"+flags.own, func(t *testing.T) {
				pair(t, ownProgram(t), native, provider, flags.own, flags.native)
			})
		}
	}
}

const failed = "Test Complete. FAILED"

func ownProgram(t *testing.T) *pairing.Program {
	return pairing.Own(t, "waiting for a client at port", "SRQ Test Complete. PASSED")
}

func nativeProgram(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtestsrq", "Accepting...", "SRQ Test Complete.")
}

func sides(t *testing.T, server, client *pairing.Program, provider, serverLine, clientLine string) (s, c pairing.Side) {
	return pairing.Side{Program: server, Flags: append([]string{"-P", provider}, strings.Fields(serverLine)...)},
		pairing.Side{Program: client, Flags: append([]string{"-P", provider, "-h", pairing.Address(t, provider)}, strings.Fields(clientLine)...)}
}

func pair(t *testing.T, server, client *pairing.Program, provider, serverLine, clientLine string) {
	s, c := sides(t, server, client, provider, serverLine, clientLine)
	pairing.Run(t, s, c)
}

// The C program with a shared queue takes and sends all messages, too, up to the missing event.
func TestSharedQueueOfC(t *testing.T) {
	native := nativeProgram(t)
	if native == nil {
		return
	}
	const line = "-v -B 5 -t 4"
	const exchanged = "disc event[0] complete"
	for _, provider := range udattest.Names(t) {
		t.Run(provider+"/C server", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
			defer cancel()
			server, client := sides(t, native, ownProgram(t), provider, line, line)
			s, c := pairing.Start(t, ctx, server, client)
			if err := c.Wait(); err != nil || !strings.Contains(c.Text(), client.Passes) {
				t.Errorf("the client ended with %v and said\n%s", err, c.Text())
				cancel()
			}
			if !s.Await(exchanged) {
				t.Errorf("the server does not print %q:\n%s", exchanged, s.Text())
			}
			s.Signal(os.Kill)
			s.Wait()
		})
		t.Run(provider+"/C client", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
			defer cancel()
			server, client := sides(t, ownProgram(t), native, provider, line, line)
			s, c := pairing.Start(t, ctx, server, client)
			if !c.Await(exchanged) {
				t.Errorf("the client does not print %q:\n%s", exchanged, c.Text())
				cancel()
			}
			if err := s.Wait(); err != nil || !strings.Contains(s.Text(), server.Passes) {
				t.Errorf("the server ended with %v and said\n%s", err, s.Text())
			}
			c.Signal(os.Kill)
			c.Wait()
		})
	}
}

// A client that starts before its server finds it. With socket CM it may also come at a bad moment: if the server
// begins to listen while the library retries by itself, the library sends a longer request, which the server misreads.
func TestClientFirst(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		if strings.Contains(provider, "scm") {
			continue
		}
		for _, line := range []string{"-v -B 3 -S 1", "-v -B 3 -S 0"} {
			t.Run(provider+"/"+line, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
				defer cancel()
				server, client := sides(t, self, self, provider, line, line)
				c := client.Start(t, ctx, client.Flags)
				if !c.Await("nobody listens") {
					t.Fatalf("the client does not try: %v\n%s", c.Wait(), c.Text())
				}
				s := server.Start(t, ctx, server.Flags)
				clientErr := c.Wait()
				if clientErr != nil {
					cancel()
				}
				if err := s.Wait(); clientErr != nil || err != nil {
					t.Errorf("the client ended with %v and said\n%s\nand the server with %v\n%s", clientErr, c.Text(), err, s.Text())
				}
			})
		}
	}
}

// A server reports the error if its client has other flags.
func TestFlagsDiffer(t *testing.T) {
	self := ownProgram(t)
	provider := udattest.Names(t)[0]
	for _, flags := range []struct{ server, client, says string }{
		{"-b 100", "-b 99", "give both sides the same -b"},
		{"-t 4", "-t 2", "a connection ended"},
	} {
		t.Run(flags.server+"/"+flags.client, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
			defer cancel()
			server, client := sides(t, self, self, provider, flags.server, flags.client)
			s, c := pairing.Start(t, ctx, server, client)
			c.Wait()
			s.Fails(t, ctx, flags.says, failed)
		})
	}
}

// A side fails if its peer dies, with a shared queue and without.
func TestPeerDies(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		for _, line := range []string{"-c 2 -t 1000000000", "-c 2 -t 1000000000 -S 0"} {
			t.Run(provider+"/"+line, func(t *testing.T) {
				server, client := sides(t, self, self, provider, line, line)
				pairing.PeerDies(t, server, client, " of 1000000000 bursts", "DAT_CONNECTION_EVENT_", failed)
			})
		}
	}
}

// An interrupted side and its peer end cleanly.
func TestInterrupt(t *testing.T) {
	self := ownProgram(t)
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), pairing.Bound)
			defer cancel()
			const line = "-c 2 -t 1000000000"
			server, client := sides(t, self, self, provider, line, line)
			s, c := pairing.Start(t, ctx, server, client)
			if !c.Await(" of 1000000000 bursts") {
				t.Errorf("the client does not begin: %v\n%s", c.Wait(), c.Text())
			}
			c.Signal(os.Interrupt)
			c.Fails(t, ctx, "dtestsrq: interrupted\n", failed)
			s.Fails(t, ctx, "a connection ended", failed)
		})
	}
}
