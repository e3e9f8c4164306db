package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// readyVariable names the descriptor on which a server announces that it listens.
const readyVariable = "PINGPONG_READY_FD"

// announceReady returns false for a server that was started by hand.
func announceReady() bool {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return false
	}
	os.NewFile(uintptr(fd), "ready").Close()
	return true
}

// runBoth runs a server and a client as two processes of this program.
func runBoth(ctx context.Context, s settings) error {
	mode := "abrupt"
	if s.graceful {
		mode = "graceful"
	}
	fmt.Printf("== %s, %s disconnect\n", s.provider, mode)
	address, err := ownAddress(s.provider)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("the run took longer than -timeout %v", s.timeout))
	defer cancel()

	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.sizes), " ", ","), "[]")
	common := []string{"-verbose=" + strconv.FormatBool(s.verbose), "-provider", s.provider, "-qual", fmt.Sprint(s.qual), "-timeout", s.timeout.String()}
	server, err := start(ctx, append(common, "-server"), true)
	if err != nil {
		return err
	}
	if err := server.awaitReady(); err != nil {
		return errors.Join(err, server.wait())
	}
	client, err := start(ctx, append(common, "-connect", address, "-sizes", sizes, "-count", fmt.Sprint(s.count), "-disconnect", mode), false)
	if err != nil {
		cancel()
		return errors.Join(err, server.wait())
	}
	err = client.wait()
	if err != nil {
		cancel() // a server without a client would wait forever
	}
	return errors.Join(err, server.wait())
}

func ownAddress(provider string) (string, error) {
	ia, err := udat.Open(provider)
	if err != nil {
		return "", err
	}
	attr, _, err := ia.Query()
	return attr.Address.String(), errors.Join(err, ia.Close(udat.CloseGraceful))
}

// process is a child whose lines are printed as they come.
type process struct {
	role   string
	cmd    *exec.Cmd
	ready  *os.File // ends when the child is ready, or has ended
	output sync.WaitGroup
}

func start(ctx context.Context, args []string, isServer bool) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{role: "client", cmd: exec.CommandContext(ctx, program, args...)}
	// Ctrl-C reaches the children directly; this one is for the time-out.
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	var childEnd *os.File
	if isServer {
		p.role = "server"
		if p.ready, childEnd, err = os.Pipe(); err != nil {
			return nil, err
		}
		p.cmd.ExtraFiles = []*os.File{childEnd}
		p.cmd.Env = append(os.Environ(), readyVariable+"=3")
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if childEnd != nil {
		childEnd.Close()
	}
	p.output.Add(2)
	go p.print(os.Stdout, stdout)
	go p.print(os.Stderr, stderr)
	return p, nil
}

var printing sync.Mutex

func (p *process) print(to io.Writer, from io.Reader) {
	defer p.output.Done()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		printing.Lock()
		fmt.Fprintln(to, lines.Text())
		printing.Unlock()
	}
}

func (p *process) awaitReady() error {
	defer p.ready.Close()
	_, err := io.ReadAll(p.ready)
	return err
}

func (p *process) wait() error {
	p.output.Wait()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s ended with %w", p.role, err)
	}
	return nil
}
