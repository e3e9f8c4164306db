package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childVariable makes a process of this test binary a member of a job.
const childVariable = "PMI_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := meet(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// meet is what a member does: it tells the others who it is, and reads who they are.
func meet() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Join(ctx)
	if err != nil {
		return err
	}
	for round := range 3 {
		key := func(rank int) string { return fmt.Sprintf("round-%d-of-%d", round, rank) }
		if err := c.Put(ctx, key(c.Rank), fmt.Sprintf("hello;%d,%d", c.Rank, round)); err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		for rank := range c.Size {
			got, err := c.Get(ctx, key(rank))
			if want := fmt.Sprintf("hello;%d,%d", rank, round); err != nil || got != want {
				return fmt.Errorf("rank %d has put %q, %v, want %q", rank, got, err, want)
			}
		}
	}
	if _, err := c.Get(ctx, "nobody-has-put-this"); !errors.Is(err, ErrRefused) {
		return fmt.Errorf("a key that is not there: got %v", err)
	}
	if err := c.Finalize(ctx); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d has met them\n", c.Rank, c.Size)
	return c.Close()
}

// member joins a job in this process.
func member(t *testing.T, s *Server, rank int) *Client {
	t.Helper()
	file, environment, err := s.Line(rank, 77)
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	// The test holds a copy, as a process does.
	fd, err := duplicate(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fdVariable, strconv.Itoa(fd))
	c, err := Join(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Rank != rank || c.Size != s.size || c.Name() != "job" {
		t.Errorf("it is rank %d of %d of %q", c.Rank, c.Size, c.Name())
	}
	return c
}

func TestServerAndClients(t *testing.T) {
	aborted := make(chan int, 1)
	s := NewServer("job", 2, func(rank, code int) { aborted <- 100*rank + code })
	defer s.Close()
	a, b := member(t, s, 0), member(t, s, 1)
	ctx := limited(t)
	for _, err := range []error{a.Put(ctx, "a", "1"), b.Put(ctx, "b", "2;3")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []error{
		a.Put(ctx, "", "1"), a.Put(ctx, "c", ""), a.Put(ctx, "c", "1 2"), a.Put(ctx, "c=", "1"), a.Put(ctx, "c", "x\n"),
		a.Put(ctx, strings.Repeat("k", maxKey), "1"), a.Put(ctx, "c", strings.Repeat("v", maxValue)), a.Put(ctx, "b", "again"),
	} {
		if bad == nil || errors.Is(bad, ErrGone) {
			t.Errorf("a Put that is impossible returns %v", bad)
		}
	}
	through := make(chan error)
	go func() { through <- a.Barrier(ctx) }()
	select {
	case err := <-through:
		t.Fatalf("one of two is through the barrier: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := errors.Join(b.Barrier(ctx), <-through); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Get(ctx, "b"); v != "2;3" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	b.Abort(7)
	if got := <-aborted; got != 107 {
		t.Errorf("abort tells %d", got)
	}

	// When a rank has ended, barriers of the others fail, now and later.
	go func() { through <- a.Barrier(ctx) }()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-through; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "rank_1_has_ended") {
		t.Errorf("a barrier with a rank that has ended returns %v", err)
	}
	if err := a.Barrier(ctx); !errors.Is(err, ErrRefused) {
		t.Errorf("the next barrier returns %v", err)
	}
	s.Close()
	<-a.Gone()
	if err := a.Barrier(ctx); !errors.Is(err, ErrGone) {
		t.Errorf("without a launcher it is %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A rank that ends after Finalize does not make barriers fail.
func TestFinalize(t *testing.T) {
	s := NewServer("job", 2, nil)
	defer s.Close()
	a, b := member(t, s, 0), member(t, s, 1)
	ctx := limited(t)
	if err := errors.Join(b.Finalize(ctx), b.Close()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := a.Barrier(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the barrier returns %v", err)
	}
	if err := a.Barrier(ctx); !errors.Is(err, ErrGone) {
		t.Errorf("after a call that was given up, the line returns %v", err)
	}
}

// Over a port, the launcher reports rank and size.
func TestPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for r := bufio.NewReader(conn); ; {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			switch m.command {
			case "initack":
				fmt.Fprintf(conn, "cmd=initack rc=0\ncmd=set size=5\ncmd=set rank=%s\ncmd=set debug=0\n", m.value("pmiid"))
			case "init":
				fmt.Fprint(conn, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n")
			case "get_maxes":
				fmt.Fprint(conn, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n")
			default:
				fmt.Fprintf(conn, "cmd=my_kvsname rc=0 kvsname=kvs_1\n")
			}
		}
	}()
	t.Setenv(fdVariable, "")
	t.Setenv(portVariable, listener.Addr().String())
	t.Setenv(idVariable, "3")
	c, err := Join(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Rank != 3 || c.Size != 5 || c.Name() != "kvs_1" {
		t.Errorf("it is rank %d of %d of %q", c.Rank, c.Size, c.Name())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Joining something that is not a launcher, or one of another version, returns an error and does not hang.
func TestBadLaunchers(t *testing.T) {
	for name, test := range map[string]struct {
		says string
		want error
	}{
		"another protocol": {"HTTP/1.1 400 Bad Request\n", ErrProtocol},
		"another version":  {"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", ErrProtocol},
		"another answer":   {"cmd=barrier_out rc=0\n", ErrProtocol},
		"a refusal":        {"cmd=response_to_init pmi_version=1 rc=-1 msg=no thanks\n", ErrRefused},
		"no end of a line": {strings.Repeat("x", 2*maxLine), ErrProtocol},
		"an early end":     {"cmd=respon", ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewServer("job", 1, nil)
			file, environment, err := s.Line(0, 0)
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
			s.Close()
			for _, variable := range environment {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			ours, fd := socketPair(t)
			t.Setenv(fdVariable, strconv.Itoa(fd))
			go func() {
				_, _ = io.WriteString(ours, test.says)
				ours.Close()
			}()
			if _, err := Join(limited(t)); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Setenv(fdVariable, "")
	t.Setenv(portVariable, "")
	if _, err := Join(limited(t)); !errors.Is(err, ErrNoLauncher) || Launched() {
		t.Errorf("without a launcher: %v", err)
	}
	for _, fd := range []string{"x", "-1", "9999"} {
		t.Setenv(fdVariable, fd)
		if _, err := Join(limited(t)); !errors.Is(err, ErrEnvironment) {
			t.Errorf("%s=%s: %v", fdVariable, fd, err)
		}
	}
	for _, numbers := range [][2]string{{"", "1"}, {"0", ""}, {"2", "2"}, {"-1", "2"}, {"a", "2"}} {
		_, fd := socketPair(t)
		t.Setenv(fdVariable, strconv.Itoa(fd))
		t.Setenv(rankVariable, numbers[0])
		t.Setenv(sizeVariable, numbers[1])
		if _, err := Join(limited(t)); !errors.Is(err, ErrEnvironment) {
			t.Errorf("rank %q of %q: %v", numbers[0], numbers[1], err)
		}
	}
}

func TestMessages(t *testing.T) {
	m, err := parseMessage("cmd=get_result rc=0 msg=all is well  value=a;b,c")
	if err != nil || m.command != "get_result" || m.value("rc") != "0" || m.value("msg") != "all is well" || m.value("value") != "a;b,c" || m.value("x") != "" {
		t.Errorf("got %q, %v", m, err)
	}
	if got := string(newMessage("put", "key", "k", "value", "v").line()); got != "cmd=put key=k value=v\n" {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"", " ", "rc=0 cmd=x", "cmd=", "cmd", "hello"} {
		if _, err := parseMessage(bad); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// MPICH's launcher starts the members.
func TestHydra(t *testing.T) {
	hydra, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("no mpiexec.hydra, which Debian's package mpich has")
	}
	for name, flags := range map[string][]string{"a descriptor": nil, "a port": {"-pmi-port"}} {
		t.Run(name, func(t *testing.T) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			args := append(flags, "-launcher", "fork", "-n", "3", program)
			cmd := exec.CommandContext(limited(t), hydra, args...)
			cmd.Env = append(os.Environ(), childVariable+"=1")
			out, err := cmd.CombinedOutput()
			for rank := range 3 {
				if !strings.Contains(string(out), fmt.Sprintf("rank %d of 3 has met them\n", rank)) {
					t.Errorf("rank %d has not", rank)
				}
			}
			if err != nil || t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
