package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A server runs programs for its client: only those in this package's list, and only for a client that knows the key.
// Each connection carries one request, a line of JSON. The answer to "describe" is one line. The answer to "run" is a
// line for each line of the program, and one for its end. Whatever else the client sends is the program's input. The
// program is killed when the connection ends.

const (
	keyVariable = "GOUDAT_REPORT_KEY"
	// With this variable in its environment, this program runs a program on the other host, and acts like it.
	peerVariable = "GOUDAT_REPORT_PEER"
)

type request struct {
	Key       string
	Verb      string   // describe, run or end
	Program   string   `json:",omitempty"`
	Arguments []string `json:",omitempty"`
}

// answer is a line of a program, or its end.
type answer struct {
	Line  string `json:",omitempty"`
	Ended bool   `json:",omitempty"`
	Code  int    `json:",omitempty"`
	Error string `json:",omitempty"`
	Host  *host  `json:",omitempty"`
}

// patience bounds what takes only a moment if the network works.
const patience = 20 * time.Second

// serve answers a client until it says that it is done.
func serve(ctx context.Context, s settings, here *host, out io.Writer) error {
	if s.key == "" {
		var random [8]byte
		rand.Read(random[:])
		s.key = hex.EncodeToString(random[:])
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort("", strconv.Itoa(int(s.port))))
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	context.AfterFunc(ctx, func() { listener.Close() })
	fmt.Fprintf(out, "report: waiting for the other host: run there\n\n    scripts/report --connect %s --key %s\n\n", here.Address, s.key)
	a := agent{settings: s, here: here, out: out, end: end}
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(context.Cause(ctx), errDone):
			fmt.Fprintln(out, "report: the other host is done: it has the report")
			return nil
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			return err
		}
		go a.answer(ctx, conn)
	}
}

var errDone = errors.New("done")

type agent struct {
	settings
	here *host
	out  io.Writer
	end  context.CancelCauseFunc
}

func (a agent) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(patience))
	input := bufio.NewReaderSize(io.LimitReader(conn, 1<<20), 64<<10)
	line, err := input.ReadSlice('\n')
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	reply := json.NewEncoder(conn)
	switch {
	case subtle.ConstantTimeCompare([]byte(r.Key), []byte(a.key)) != 1:
		fmt.Fprintln(a.out, "report: refused a client that has another key")
		reply.Encode(answer{Error: "that is not the key that the server has printed"})
	case r.Verb == "describe":
		fmt.Fprintln(a.out, "report: a client has come")
		reply.Encode(answer{Host: a.here})
	case r.Verb == "end":
		a.end(errDone)
	case r.Verb == "run":
		fmt.Fprintf(a.out, "report: running %s %s\n", r.Program, strings.Join(r.Arguments, " "))
		if err := a.run(ctx, r, input, reply); err != nil {
			reply.Encode(answer{Ended: true, Code: 1, Error: err.Error()})
		}
	default:
		reply.Encode(answer{Error: "there is no request " + r.Verb})
	}
}

// run runs a program for as long as the connection lasts.
func (a agent) run(ctx context.Context, r request, input io.Reader, reply *json.Encoder) error {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	cmd, err := a.tools.command(a.here.environment, r.Program, r.Arguments...)
	if err != nil {
		return err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p, err := start(ctx, cmd)
	if err != nil {
		return err
	}
	go func() {
		io.Copy(stdin, input)
		cancel()
	}()
	for number := 0; ; number++ {
		line, ok := p.line(ctx, number)
		if !ok || reply.Encode(answer{Line: line}) != nil {
			break
		}
	}
	end := answer{Ended: true}
	if err := p.wait(ctx); err != nil {
		end.Code, end.Error = 1, err.Error()
	}
	return reply.Encode(end)
}

func dial(address, key string, r request) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	r.Key = key
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (s settings) peerAddress() string {
	return net.JoinHostPort(s.connect, strconv.Itoa(int(s.port)))
}

// askPeer returns the server's description of its host. It waits for a server that is just starting.
func askPeer(ctx context.Context, s settings) (*host, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := dial(s.peerAddress(), s.key, request{Verb: "describe"})
		if err != nil {
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("no server answers at %s: start \"scripts/report --server\" there, and let TCP connections to that port through (%w)", s.peerAddress(), err)
			case <-time.After(time.Second):
			}
			continue
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		var a answer
		switch err := json.NewDecoder(conn).Decode(&a); {
		case err != nil:
			return nil, fmt.Errorf("the server at %s does not answer: %w", s.peerAddress(), err)
		case a.Error != "":
			return nil, fmt.Errorf("the server at %s: %s", s.peerAddress(), a.Error)
		case a.Host == nil:
			return nil, fmt.Errorf("what listens at %s is another program", s.peerAddress())
		}
		return a.Host, nil
	}
}

// dismissPeer tells the server that it is no longer needed.
func dismissPeer(s settings) {
	if conn, err := dial(s.peerAddress(), s.key, request{Verb: "end"}); err == nil {
		conn.Close()
	}
}

// remoteCommand makes the command that runs a program on the other host: this program, with the input and output of the
// other one.
func (s settings) remoteCommand(name string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{name}, args...)...)
	cmd.Env = s.remoteEnvironment(os.Environ())
	return cmd, nil
}

func (s settings) remoteEnvironment(environment []string) []string {
	return append(environment[:len(environment):len(environment)], keyVariable+"="+s.key, peerVariable+"="+s.peerAddress())
}

// runRemote runs a program on the other host, and returns its exit code.
func runRemote(args []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "the other host:", err)
		return 1
	}
	if len(args) == 0 {
		return fail(errors.New("no program"))
	}
	conn, err := dial(os.Getenv(peerVariable), os.Getenv(keyVariable), request{Verb: "run", Program: args[0], Arguments: args[1:]})
	if err != nil {
		return fail(err)
	}
	go io.Copy(conn, os.Stdin)
	for answers := json.NewDecoder(conn); ; {
		var a answer
		switch err := answers.Decode(&a); {
		case err != nil:
			return fail(err)
		case a.Error != "":
			return fail(errors.New(a.Error))
		case a.Ended:
			return a.Code
		}
		fmt.Println(a.Line)
	}
}
