package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
)

// victim is the rank that is killed.
const victim = 2

// A rank is killed while the others are in all kinds of operations, with it, with each other, and with any rank. Each
// of these operations soon fails with an error that names the rank that died, and later operations fail with it, too.
func TestDeath(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		const ranks = 5
		var dying *os.Process
		out := &output{}
		ready := 0
		out.line = func(line string) {
			if strings.HasSuffix(line, ": ready\n") {
				if ready++; ready == ranks {
					_ = dying.Kill()
				}
			}
		}
		job := taskJob(adapter, ranks, "death", out)
		job.Started = func(rank int, p *os.Process) {
			out.mu.Lock()
			defer out.mu.Unlock()
			if rank == victim {
				dying = p
			}
		}
		err := runJob(t, job)
		var exit *launch.ExitError
		if !errors.As(err, &exit) || exit.Rank != victim || exit.Code != 128+int(syscall.SIGKILL) || strings.Count(out.text.String(), ": heard of it\n") != ranks-1 {
			t.Errorf("the job ended with %v\n%s", err, out.text.String())
		}
	})
}

// deathTask waits in operations of each kind, some for the victim and some for messages that never come.
func deathTask(w *World) error {
	// Rank 4 makes no connection to the victim, only to ranks 0 and 3, which must have theirs to it, too: a rank that fails
	// tells those alone that it is connected to.
	for other := range 5 {
		if w.Rank() != 4 && other != 4 || w.Rank()%4+other%4 == 0 || w.Rank()+other == 7 {
			must(Sendrecv(w.Comm, []int{1}, other, 0, []int{0}, other, 0))
		}
	}
	if w.Rank() == victim {
		fmt.Println("ready")
		select {} // until it is killed
	}
	long := make([]float64, 1<<20)
	pending := map[string]func() error{
		"Recv from anyone":       func() error { _, err := Recv(w.Comm, []int{0}, AnySource, 2); return err },
		"Probe":                  func() error { _, err := Probe(w.Comm, AnySource, 6); return err },
		"Recv from it":           func() error { _, err := Recv(w.Comm, []int{0}, victim, 1); return err },
		"Recv from another":      func() error { _, err := Recv(w.Comm, []int{0}, (w.Rank()+1)%w.Size(), 3); return err },
		"a long Send to it":      func() error { return Send(w.Comm, long, victim, 4) },
		"a long Send to another": func() error { return Send(w.Comm, long, (w.Rank()+4)%w.Size(), 5) },
		"Barrier":                func() error { return Barrier(w.Comm) },
	}
	results := make(chan result, len(pending))
	waiting := 0
	for name, operation := range pending {
		if w.Rank() < 4 || name == "Recv from anyone" || name == "Probe" {
			waiting++
			go func() { results <- result{name, operation()} }()
		}
	}
	fmt.Println("ready")
	bound := time.After(patience / 2) // on an idle machine it takes milliseconds
	for range waiting {
		select {
		case r := <-results:
			if err := namesRank(r.err, victim); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		case <-bound:
			return errors.New("operations still wait")
		}
	}
	for name, err := range map[string]error{"a Send after all that": Send(w.Comm, []int{1}, 0, 0), "Close": w.Close()} {
		if err := namesRank(err, victim); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if status, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(status), "VmPin:\t       0 kB") {
		return fmt.Errorf("memory stays pinned, or %w:\n%s", err, status)
	}
	fmt.Println("heard of it")
	os.Exit(0)
	return nil
}

// result is what an operation returns.
type result struct {
	name string
	err  error
}

func namesRank(err error, rank int) error {
	var e *RankError
	if !errors.As(err, &e) || e.Rank != rank || !errors.Is(err, ErrDied) {
		return fmt.Errorf("got %w", err)
	}
	return nil
}

// A rank that fails, closes its world while others are in a collective operation, or whose time ends, ends the job, with
// errors that name it, and in the last case say what was awaited.
func TestEnds(t *testing.T) {
	for _, task := range []string{"early end", "early close", "late"} {
		t.Run(task, func(t *testing.T) {
			onAdapters(t, func(t *testing.T, adapter string) {
				out := &output{}
				err := runJob(t, taskJob(adapter, 3, task, out, boundVariable+"=3s")) // fails, as some ranks do
				if n := strings.Count(out.text.String(), ": blames it\n"); n != 2 {
					t.Errorf("%d ranks blame the one that ends, want 2: %v\n%s", n, err, out.text.String())
				}
			})
		})
	}
}

// endsBy has ranks wait for a victim, which then does something.
func endsBy(w *World, do func() error) error {
	err := Barrier(w.Comm)
	if w.Rank() == victim {
		return errors.Join(err, do())
	}
	if err == nil && w.Rank() == 1 {
		_, err = Recv(w.Comm, []int{0}, victim, 0)
	} else if err == nil {
		err = Bcast(w.Comm, []int{0}, victim)
	}
	check(namesRank(err, victim))
	fmt.Println("it: blames it")
	os.Exit(0)
	return nil
}

func earlyEnd(w *World) error { return endsBy(w, func() error { return errors.New("enough") }) }

func earlyClose(w *World) error {
	return endsBy(w, func() error {
		check(namesRank(w.Close(), victim))
		os.Exit(0)
		return nil
	})
}

func lateTask(w *World) error {
	return endsBy(w, func() error {
		incoming, outgoing := Irecv(w.Comm, []int{0}, AnySource, 0), Isend(w.Comm, make([]byte, 2*eagerLimit), 0, 0)
		w.mu.Lock()
		w.expire(context.DeadlineExceeded) // as the end of the context does
		w.mu.Unlock()
		_, received := incoming.Wait()
		_, sent := outgoing.Wait()
		for name, err := range map[string]error{"Recv": received, "Send": sent, "Close": w.Close()} {
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "this rank awaits any rank (send); rank 0 (receive)") {
				fmt.Printf("not this error: blames it\n%s: %v\n", name, err)
			}
		}
		if err := w.Close(); !errors.Is(err, ErrClosed) {
			fmt.Printf("not this error: blames it\nthe second Close: %v\n", err)
		}
		os.Exit(0)
		return nil
	})
}

// A rank that is slow to learn that all are closing does not take another for dead that knows it.
func TestSlowClose(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		made, _ := worlds(t, adapter, 2)
		slow, fast := made[0], made[1]
		slowEnds, fastEnds := make(chan error, 1), make(chan error, 1)
		for rank, w := range made {
			w.mu.Lock()
			peer := w.peers[1-rank]
			if err := w.await(func() bool { return peer.link == connected }); err != nil {
				t.Fatal(err)
			}
		}
		fast.peers[0].link = accepting // as if it closed before it knew of the connection
		fast.mu.Unlock()
		slow.closed = true
		go func() { slowEnds <- errors.Join(slow.depart(), slow.free()) }() // needs the lock after it has met the other
		go func() { fastEnds <- fast.Close() }()
		for bound := time.Now().Add(time.Second); time.Now().Before(bound) && len(fastEnds) == 0 && slow.err == nil; {
			slow.look(true, true)
		}
		if slow.err != nil {
			t.Errorf("while the other closes: %v", slow.err)
		}
		slow.mu.Unlock()
		for _, ends := range []chan error{slowEnds, fastEnds} {
			select {
			case err := <-ends:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("a rank does not end")
			}
		}
	})
}

// When the launcher ends, what every rank waits for fails with ErrLauncherGone, and so do later operations. A rank that
// knows of it tells the others, which may be on other machines and not know yet.
func TestLauncherGone(t *testing.T) {
	for name, told := range map[string]bool{"all know": false, "one knows": true} {
		t.Run(name, func(t *testing.T) {
			onAdapters(t, func(t *testing.T, adapter string) {
				made, server := worlds(t, adapter, 3)
				results := make(chan result, 10)
				for rank, w := range made {
					request := Irecv(w.Comm, []int{0}, (rank+1)%len(made), 0)
					go func() {
						_, err := request.Wait()
						results <- result{"a receive", err}
						results <- result{"a later send", Send(w.Comm, []int{1}, 0, 1)}
						results <- result{"Close", w.Close()}
					}()
				}
				if w := made[0]; told {
					w.mu.Lock()
					_ = w.await(func() bool { return w.peers[1].link == connected && w.peers[2].link == connected })
					w.fail(ErrLauncherGone) // as hear does
					w.mu.Unlock()
				} else {
					server.Close()
				}
				bound := time.After(patience)
				for range 3 * len(made) {
					select {
					case r := <-results:
						if !errors.Is(r.err, ErrLauncherGone) {
							t.Errorf("%s returns %v", r.name, r.err)
						}
					case <-bound:
						t.Fatal("ranks still wait")
					}
				}
			})
		})
	}
}

// A connection that completes nothing for long is lost. The machine of the peer, or its link, may have failed, which no
// event tells.
func TestSilence(t *testing.T) {
	for name, test := range map[string]struct {
		link     linkState
		posted   bool // something that the peer should answer
		answers  bool
		survives int // how many checks find nothing wrong
	}{
		"a silent peer":            {connected, true, false, silence - 1},
		"a peer that answers":      {connected, true, true, 100},
		"nothing to answer":        {connected, false, false, 100},
		"a connection that begins": {dialing, false, false, checks - 1},
		"no connection":            {idle, false, false, 100},
	} {
		w := newWorld(0, 2, Options{})
		p := w.peers[1]
		p.link = test.link
		if test.posted {
			p.posted = 100
		}
		checked := 0
		for ; checked < 100 && p.check() == nil; checked++ { // the endpoint has no room for anything else
			if test.answers {
				p.delivered++
				p.posted++
			}
		}
		if checked != test.survives {
			t.Errorf("%s: lost at check %d, want %d", name, checked+1, test.survives+1)
		}
	}
}
