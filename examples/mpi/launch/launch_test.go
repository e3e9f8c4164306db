package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Ranks are processes of this test binary. The variable says what they do.
const taskVariable = "LAUNCH_TEST_TASK"

var tasks = map[string]func(m *Member) error{
	"meet": meet, "exit": exitWithRank, "survive": survive, "linger": linger, "silent": func(*Member) error { return nil },
}

func TestMain(m *testing.M) {
	if !IsRank() {
		os.Exit(m.Run())
	}
	member, err := Join()
	if err == nil {
		err = tasks[os.Getenv(taskVariable)](member)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lines keeps what ranks write, and calls a function with each line.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	each func(line string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each != nil {
		l.each(string(b))
	}
	return l.text.Write(b)
}

func taskJob(ranks int, task string, out io.Writer) Job {
	return Job{Ranks: ranks, Env: []string{taskVariable + "=" + task}, Stdout: out, Stderr: out}
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// next waits for a notice.
func next(m *Member, wanted func(Notice) bool) (Notice, error) {
	for {
		n, err := m.Next()
		if err != nil || wanted(n) {
			return n, err
		}
	}
}

// All hear where the others listen, are asked to dial, and leave together.
func TestMeeting(t *testing.T) {
	out := &lines{}
	if err := taskJob(3, "meet", out).Run(limited(t)); err != nil {
		t.Fatalf("%v\n%s", err, out.text.String())
	}
	for rank := range 3 {
		if line := fmt.Sprintf("rank %d: met\n", rank); strings.Count(out.text.String(), line) != 1 {
			t.Errorf("no %q in %q", line, out.text.String())
		}
	}
}

func meet(m *Member) error {
	place := func(rank int) Place {
		return Place{netip.AddrFrom4([4]byte{10, 0, 0, byte(rank)}), uint64(1000 + rank)}
	}
	if err := m.Announce(place(m.Rank)); err != nil {
		return err
	}
	n, err := next(m, func(n Notice) bool { return n.World != nil })
	if err != nil {
		return err
	}
	for rank, p := range n.World {
		if p != place(rank) {
			return fmt.Errorf("rank %d is said to be at %v", rank, p)
		}
	}
	if err := m.AskToDial((m.Rank + 1) % m.Size); err != nil {
		return err
	}
	n, err = next(m, func(n Notice) bool { return n.Dial != nil })
	if err != nil || *n.Dial != (m.Rank+m.Size-1)%m.Size {
		return fmt.Errorf("asked to dial: %v, %v", n, err)
	}
	if err := m.Leave(); err != nil {
		return err
	}
	if _, err := next(m, func(n Notice) bool { return n.Left }); err != nil {
		return err
	}
	fmt.Print("met") // without an end of the line
	return m.Close()
}

// The error is that of the worst exit code.
func TestWorstExitCode(t *testing.T) {
	err := taskJob(3, "exit", nil).Run(limited(t))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Rank != 2 || exit.Code != 42 {
		t.Errorf("got %v", err)
	}
}

func exitWithRank(m *Member) error {
	os.Exit(21 * m.Rank)
	return nil
}

// When a rank is killed the others hear who it was.
func TestDeath(t *testing.T) {
	var processes [3]*os.Process
	out := &lines{}
	joined := 0
	out.each = func(line string) {
		if strings.HasSuffix(line, "joined\n") {
			if joined++; joined == len(processes) {
				_ = processes[1].Kill()
			}
		}
	}
	job := taskJob(len(processes), "survive", out)
	job.Started = func(rank int, p *os.Process) {
		out.mu.Lock()
		defer out.mu.Unlock()
		processes[rank] = p
	}
	err := job.Run(limited(t))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Rank != 1 || exit.Code != 128+int(syscall.SIGKILL) {
		t.Errorf("got %v\n%s", err, out.text.String())
	}
	for _, line := range []string{"rank 0: heard of 1\n", "rank 2: heard of 1\n"} {
		if !strings.Contains(out.text.String(), line) {
			t.Errorf("no %q in %q", line, out.text.String())
		}
	}
}

func survive(m *Member) error {
	fmt.Println("joined")
	n, err := next(m, func(n Notice) bool { return n.Died != nil })
	if err == nil {
		fmt.Println("heard of", *n.Died)
	}
	return err
}

// A rank that ends without a word counts as dead, too.
func TestEndWithoutLeaving(t *testing.T) {
	board := newSwitchboard(2)
	defer board.close()
	for rank := range 2 {
		socket, err := board.socket(rank)
		if err != nil {
			t.Fatal(err)
		}
		if rank == 0 {
			socket.Close() // before the other is there
			continue
		}
		line, err := net.FileConn(socket)
		socket.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		if err := line.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		m := &Member{line: line, notices: json.NewDecoder(line)}
		if n, err := m.Next(); err != nil || n.Died == nil || *n.Died != 0 {
			t.Errorf("got %+v, %v", n, err)
		}
	}
}

// Ranks that run on after another has failed are ended after some time.
func TestGrace(t *testing.T) {
	job := taskJob(2, "linger", nil)
	job.Grace = time.Millisecond
	job.Started = func(rank int, p *os.Process) {
		if rank == 1 {
			_ = p.Kill()
		}
	}
	var exit *ExitError
	if err := job.Run(limited(t)); !errors.As(err, &exit) || exit.Rank != 1 {
		t.Errorf("got %v", err)
	}
}

func linger(*Member) error {
	time.Sleep(time.Hour)
	return nil
}

// When the context ends, so do all ranks.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(limited(t))
	enough := errors.New("enough")
	job := taskJob(2, "linger", nil)
	job.Started = func(rank int, _ *os.Process) {
		if rank == 1 {
			cancel(enough)
		}
	}
	if err := job.Run(ctx); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestBadJobs(t *testing.T) {
	for _, ranks := range []int{0, -1, MaxRanks + 1} {
		if err := taskJob(ranks, "silent", nil).Run(limited(t)); err == nil {
			t.Errorf("%d ranks are started", ranks)
		}
	}
	job := taskJob(2, "silent", nil)
	job.Program = "/nonexistent"
	if err := job.Run(limited(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := Join(); !errors.Is(err, ErrNotLaunched) {
		t.Errorf("joining outside a job: %v", err)
	}
}

func TestPrefixer(t *testing.T) {
	var out bytes.Buffer
	p := &prefixer{to: &out, rank: 3, mu: &sync.Mutex{}}
	for _, part := range []string{"a", "b\n\nc\nd", "", "e"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	p.finish()
	if got, want := out.String(), "rank 3: ab\nrank 3: \nrank 3: c\nrank 3: de\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	if _, err := p.Write(bytes.Repeat([]byte("x"), longestLine+1)); err != nil || out.Len() <= longestLine {
		t.Errorf("a line without an end is kept: %d bytes written, %v", out.Len(), err)
	}
}
