package pmi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// members returns a server and two members in this process.
func members(t *testing.T) (s *Server, a, b *Client) {
	t.Helper()
	s = NewServer("job", 2)
	t.Cleanup(s.Close)
	a, err := s.Join(limited(t), 0)
	b, err2 := s.Join(limited(t), 1)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return s, a, b
}

func TestPut(t *testing.T) {
	_, a, b := members(t)
	ctx := limited(t)
	if err := errors.Join(a.Put(ctx, "a", "1"), b.Put(ctx, "b", "2;3")); err != nil {
		t.Fatal(err)
	}
	for name, word := range map[string][2]string{
		"no key": {"", "1"}, "no value": {"c", ""}, "a space": {"c", "1 2"}, "an equal sign": {"c=", "1"}, "two lines": {"c", "x\n"},
		"a long key": {strings.Repeat("k", maxKey), "1"}, "a long value": {"c", strings.Repeat("v", maxValue)}, "a key again": {"b", "again"},
	} {
		if err := a.Put(ctx, word[0], word[1]); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if v, err := a.Get(ctx, "b"); v != "2;3" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

// When a rank has ended, barriers of the others fail, now and later; not if it has finalized before.
func TestEnds(t *testing.T) {
	s, a, b := members(t)
	ctx, through := limited(t), make(chan error)
	go func() { through <- a.Barrier(ctx) }()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{<-through, a.Barrier(ctx)} {
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "rank_1_has_ended") {
			t.Errorf("a barrier with a rank that has ended returns %v", err)
		}
	}
	s.Close()
	<-a.Gone()
	if err := a.Barrier(ctx); !errors.Is(err, ErrGone) {
		t.Errorf("without a launcher it is %v", err)
	}

	_, a, b = members(t)
	if err := errors.Join(b.Finalize(ctx), b.Close()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond) // nothing comes
	defer cancel()
	if err := a.Barrier(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the barrier returns %v", err)
	}
	if err := a.Barrier(ctx); !errors.Is(err, ErrGone) {
		t.Errorf("after a call that was given up, the line returns %v", err)
	}
}

// Joining something that is not a launcher, or one of another version, or with variables that are wrong, returns an error
// and does not hang.
func TestBadLaunchers(t *testing.T) {
	for name, test := range map[string]struct {
		says       string
		rank, size string
		fd         string // "" for a line
		want       error
	}{
		"another protocol": {says: "HTTP/1.1 400 Bad Request\n", rank: "0", size: "1", want: ErrProtocol},
		"another version":  {says: "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", rank: "0", size: "1", want: ErrProtocol},
		"another answer":   {says: "cmd=barrier_out rc=0\n", rank: "0", size: "1", want: ErrProtocol},
		"a refusal":        {says: "cmd=response_to_init pmi_version=1 rc=-1 msg=no thanks\n", rank: "0", size: "1", want: ErrRefused},
		"no end of a line": {says: strings.Repeat("x", 2*maxLine), rank: "0", size: "1", want: ErrProtocol},
		"an early end":     {says: "cmd=respon", rank: "0", size: "1", want: ErrGone},
		"no rank":          {size: "1", want: ErrEnvironment},
		"no size":          {rank: "0", want: ErrEnvironment},
		"rank 2 of 2":      {rank: "2", size: "2", want: ErrEnvironment},
		"rank -1":          {rank: "-1", size: "2", want: ErrEnvironment},
		"rank a":           {rank: "a", size: "2", want: ErrEnvironment},
		"descriptor x":     {fd: "x", rank: "0", size: "1", want: ErrEnvironment},
		"descriptor -1":    {fd: "-1", rank: "0", size: "1", want: ErrEnvironment},
		"descriptor 9999":  {fd: "9999", rank: "0", size: "1", want: ErrEnvironment},
		"no descriptor":    {fd: " ", want: ErrNoLauncher},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(rankVariable, test.rank)
			t.Setenv(sizeVariable, test.size)
			t.Setenv(fdVariable, strings.TrimSpace(test.fd))
			if test.fd == "" {
				fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				t.Setenv(fdVariable, strconv.Itoa(fds[1]))
				launcher := os.NewFile(uintptr(fds[0]), "launcher")
				go func() {
					defer launcher.Close()
					_, _ = io.WriteString(launcher, test.says)
					if test.want == ErrEnvironment {
						return // it says nothing
					}
					// Slurm requires this order of the words.
					if line, _ := bufio.NewReader(launcher).ReadString('\n'); line != "cmd=init pmi_version=1 pmi_subversion=1\n" {
						t.Errorf("it says %q", line)
					}
				}()
			}
			if _, err := Join(limited(t)); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	m, err := parseMessage("cmd=get_result rc=0 msg=all is well  value=a;b,c")
	if err != nil || m.command != "get_result" || m.value("rc") != "0" || m.value("msg") != "all is well" || m.value("value") != "a;b,c" || m.value("x") != "" {
		t.Errorf("got %q, %v", m, err)
	}
	for _, bad := range []string{"", " ", "rc=0 cmd=x", "cmd=", "cmd", "hello"} {
		if _, err := parseMessage(bad); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
