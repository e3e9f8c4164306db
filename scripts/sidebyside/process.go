package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// patience bounds the wait for a program's next line. It is long, for a busy emulated machine.
const patience = 3 * time.Minute

// process is a program that takes orders by lines, and answers by lines.
type process struct {
	name    string
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // closed at the end of the output
}

// start runs a program on one processor. Otherwise the kernel would move the two sides of a twin around, and sometimes
// put both on one processor while another is idle.
func start(processor int, program string, args ...string) (*process, error) {
	command := exec.Command("taskset", append([]string{"-c", strconv.Itoa(processor % runtime.NumCPU()), program}, args...)...)
	p := &process{name: program + " " + args[0], command: command, lines: make(chan string, 16)}
	p.command.Stderr = os.Stderr
	// With GOMAXPROCS=1, the default on one processor, Go's runtime treats a thread in a long call into C as blocked, and
	// starts another.
	p.command.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(max(runtime.NumCPU(), 2)))
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

// expect reads the next line, which must begin with the word, and returns the rest of the line. Lines before it that say
// "alive" are signs of life.
func (p *process) expect(word string) (string, error) {
	for {
		select {
		case line, ok := <-p.lines:
			first, rest, _ := strings.Cut(line, " ")
			switch {
			case !ok:
				return "", fmt.Errorf("%s ended early", p.name)
			case first == word:
				return rest, nil
			case first != "alive":
				return "", fmt.Errorf("%s said %q instead of %q", p.name, line, word)
			}
		case <-time.After(patience):
			return "", fmt.Errorf("%s did not say %q within %v", p.name, word, patience)
		}
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

// pair is a server and its client, which are connected.
type pair struct{ server, client *process }

// startPair starts "server ADAPTER REST..." and "client ADAPTER ADDRESS REST...".
func startPair(program, adapter string, rest ...string) (p pair, err error) {
	defer func() {
		if err != nil {
			p.kill()
		}
	}()
	if p.server, err = start(0, program, append([]string{"server", adapter}, rest...)...); err != nil {
		return p, err
	}
	address, err := p.server.expect("listening")
	if err != nil {
		return p, err
	}
	p.client, err = start(1, program, append([]string{"client", adapter, address}, rest...)...)
	return p, err
}

func (p pair) kill() {
	p.client.kill()
	p.server.kill()
}
