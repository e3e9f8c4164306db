package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) != "" {
		os.Exit(runRemote(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// output is what a server has said.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// bound is for what takes only a moment, even on a busy machine.
const bound = time.Minute

// serveFake starts a server that runs the script instead of pingpong.
func serveFake(t *testing.T, script string) (s settings, out *output, ended chan error) {
	t.Helper()
	s = settings{tools: toolbox{built: t.TempDir()}, connect: "127.0.0.1", port: freePort(t), key: "secret", limit: bound, server: true}
	if err := os.WriteFile(filepath.Join(s.tools.built, "pingpong"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	t.Cleanup(cancel)
	out, ended = &output{}, make(chan error, 1)
	here := &host{Device: "dev0", Address: "10.0.0.1", environment: append(os.Environ(), "HERE=there")}
	go func() { ended <- serve(ctx, s, here, out) }()
	got, err := askPeer(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Device != here.Device || got.Address != here.Address || got.environment != nil {
		t.Fatalf("the server describes %+v", got)
	}
	return s, out, ended
}

func freePort(t *testing.T) uint {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return uint(listener.Addr().(*net.TCPAddr).Port)
}

// A program on the other host receives its arguments, environment and input, and returns its output and how it ended.
func TestRemoteProgram(t *testing.T) {
	s, _, ended := serveFake(t, `echo "listening $1 $HERE"; read line; echo "got $line" >&2; [ "$line" = well ]`)
	for _, word := range []string{"well", "ill"} {
		cmd, err := s.remoteCommand("pingpong", "a b")
		if err != nil {
			t.Fatal(err)
		}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		p, err := start(ctx, cmd)
		if err != nil {
			t.Fatal(err)
		}
		if !p.await(ctx, "listening a b there") {
			t.Fatalf("it says %q", p.said())
		}
		stdin.Write([]byte(word + "\n"))
		err = p.wait(ctx)
		if (err == nil) != (word == "well") || !strings.Contains(p.said(), "got "+word) {
			t.Errorf("with %s it ended with %v and said %q", word, err, p.said())
		}
	}
	dismissPeer(s)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(bound):
		t.Error("the server does not end")
	}
}

// The server runs nothing for strangers, and nothing but its list.
func TestServerRefuses(t *testing.T) {
	s, out, _ := serveFake(t, "echo no")
	stranger := s
	stranger.key = "guess"
	if _, err := askPeer(context.Background(), stranger); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("a stranger got %v", err)
	}
	dismissPeer(stranger)
	for _, r := range []struct {
		key, program, says string
	}{{"guess", "pingpong", "key"}, {s.key, "sh", "no program"}, {s.key, "../pingpong", "no program"}, {s.key, "ctwin", "not installed"}} {
		conn, err := dial(s.peerAddress(), r.key, request{Verb: "run", Program: r.program})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(bound))
		var a answer
		if err := json.NewDecoder(conn).Decode(&a); err != nil || !strings.Contains(a.Error, r.says) {
			t.Errorf("%+v: got %+v, %v", r, a, err)
		}
		conn.Close()
	}
	if strings.Contains(out.String(), s.key) == false || strings.Contains(out.String(), "guess") {
		t.Errorf("the server says %s", out)
	}
}

// A program ends when its client does.
func TestClientVanishes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s, _, _ := serveFake(t, `echo $$ >`+file+`; echo ready; sleep 600`)
	conn, err := dial(s.peerAddress(), s.key, request{Verb: "run", Program: "pingpong"})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(bound))
	var a answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil || a.Line != "ready" {
		t.Fatalf("got %+v, %v", a, err)
	}
	conn.Close()
	pid := strings.TrimSpace(read(file))
	if number, err := strconv.Atoi(pid); err != nil || number < 2 {
		t.Fatalf("the program's number is %q", pid)
	}
	for deadline := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the program goes on")
		}
	}
}

// A program that hangs is killed together with its children, and the step goes on.
func TestHangingProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	p, err := start(ctx, exec.Command("sh", "-c", "echo begun; sleep 600; echo over"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.wait(ctx); !errors.Is(err, errTime) || p.said() != "begun" {
		t.Errorf("got %v and %q", err, p.said())
	}
}
