package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
)

// patience bounds the wait for a twin's next line. It is long, for a busy emulated machine.
const patience = 3 * time.Minute

// process is one side of a twin.
type process struct {
	name    string
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // closed at the end of the output
}

// goProcessors is the environment of Go programs that run on one processor. With GOMAXPROCS=1, the default then, Go's
// runtime treats a thread in a long call into C as blocked, and starts another.
func goProcessors() string { return "GOMAXPROCS=" + strconv.Itoa(max(runtime.NumCPU(), 2)) }

// start runs a program on one processor. Otherwise the kernel would move the two sides of a twin around, and sometimes
// put both on one processor while another is idle.
func start(processor int, program string, args ...string) (*process, error) {
	command := exec.Command("taskset", append([]string{"-c", strconv.Itoa(processor % runtime.NumCPU()), program}, args...)...)
	p := &process{name: program + " " + args[0], command: command, lines: make(chan string, 16)}
	p.command.Stderr = os.Stderr
	p.command.Env = append(os.Environ(), goProcessors())
	stdin, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p, nil
}

// expect reads the next line, which must begin with the word, and returns the rest of the line.
func (p *process) expect(word string) (string, error) {
	select {
	case line, ok := <-p.lines:
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case !ok:
			return "", fmt.Errorf("%s ended early", p.name)
		case first != word:
			return "", fmt.Errorf("%s said %q instead of %q", p.name, line, word)
		}
		return rest, nil
	case <-time.After(patience):
		return "", fmt.Errorf("%s did not say %q within %v", p.name, word, patience)
	}
}

func (p *process) order(line string) error {
	if _, err := fmt.Fprintln(p.stdin, line); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// end waits for the process, which has been told to end.
func (p *process) end() error {
	kill := time.AfterFunc(patience, func() { p.command.Process.Kill() })
	defer kill.Stop()
	for range p.lines {
	}
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// kill ends the process at once. It does nothing if the process has ended.
func (p *process) kill() {
	if p != nil {
		p.command.Process.Kill()
		p.end()
	}
}

// twin is a server and its client, which are connected.
type twin struct{ server, client *process }

func startTwin(program, adapter string, qual int) (t twin, err error) {
	defer func() {
		if err != nil {
			t.kill()
		}
	}()
	number := strconv.Itoa(qual)
	if t.server, err = start(0, program, "server", adapter, number); err != nil {
		return t, err
	}
	address, err := t.server.expect("listening")
	if err != nil {
		return t, err
	}
	if t.client, err = start(1, program, "client", adapter, address, number); err != nil {
		return t, err
	}
	for _, p := range []*process{t.server, t.client} {
		if _, err = p.expect("connected"); err != nil {
			return t, err
		}
	}
	return t, nil
}

// measure returns the client's numbers. The processor time is that of both sides.
func (t twin) measure(m measurement) (figures, error) {
	if m.beside == "cut" {
		restore, err := t.cutOff()
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	if err := t.server.order(m.line()); err != nil {
		return nil, err
	}
	if _, err := t.server.expect("ready"); err != nil {
		return nil, err
	}
	if err := t.client.order(m.line()); err != nil {
		return nil, err
	}
	client, err := t.client.figures()
	if err != nil {
		return nil, err
	}
	server, err := t.server.figures()
	if err != nil {
		return nil, err
	}
	client["system"] += server["system"]
	client["processor"] = client["user"] + server["user"] + client["system"]
	return client, nil
}

func (p *process) figures() (figures, error) {
	text, err := p.expect("result")
	if err != nil {
		return nil, err
	}
	return readFigures(text)
}

// cutOff connects the client to another machine of the test bed, and cuts that off.
func (t twin) cutOff() (restore func(), err error) {
	ctx := context.Background()
	peers, err := control.Peers()
	if err != nil {
		return nil, err
	}
	if _, err := t.measure(measurement{order: "far", how: peers[farRank].String(), count: 1, window: 1, bytes: 8}); err != nil {
		return nil, err
	}
	return func() { control.Restore(ctx, farRank) }, control.Cut(ctx, farRank)
}

// end tells the client to end the connection, and waits for both.
func (t twin) end() error {
	err := errors.Join(t.client.order("end"), t.server.order("end"))
	return errors.Join(err, t.client.end(), t.server.end())
}

func (t twin) kill() {
	t.client.kill()
	t.server.kill()
}
