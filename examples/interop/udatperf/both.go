package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyVariable names the descriptor on which a server that runBoth has started
// writes its address when it listens.
const readyVariable = "UDATPERF_READY_FD"

// announce reports that the server listens: to runBoth if that started it, or else with a line.
func announce(to io.Writer, s settings, address string) {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		fmt.Fprintf(to, "udatperf: %s listens at %s, qualifier %d\n", s.adapter, address, s.qual)
		return
	}
	ready := os.NewFile(uintptr(fd), "ready")
	fmt.Fprint(ready, address)
	ready.Close()
}

// errNoServer means that the server's process ended before it listened.
var errNoServer = errors.New("the server did not start")

// runBoth measures against a server that is another process of this program.
func runBoth(ctx context.Context, s settings, p *progress, report func(result) error) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := exec.CommandContext(ctx, program, "-provider", s.adapter, "-qual", fmt.Sprint(s.qual), "-timeout", s.timeout.String(), "-server")
	// Ctrl-C reaches the server directly; this is for all other ends.
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 10 * time.Second
	var complaint bytes.Buffer
	server.Stderr = &complaint
	ready, childEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	server.ExtraFiles = []*os.File{childEnd}
	server.Env = append(os.Environ(), readyVariable+"=3")
	err = server.Start()
	childEnd.Close()
	if err != nil {
		return err
	}

	err = measureAt(ctx, s, ready, p, report)
	if err != nil {
		cancel() // a server without a client would wait forever
	}
	ended := server.Wait()
	said := strings.TrimPrefix(strings.TrimSpace(complaint.String()), "udatperf: ")
	switch {
	case err == nil && ended != nil:
		return fmt.Errorf("the server ended with %w: %s", ended, said)
	case errors.Is(err, errNoServer) && said != "":
		return fmt.Errorf("the server: %s", said)
	case err != nil && said != "" && said != errInterrupted.Error():
		return fmt.Errorf("%w (the server: %s)", err, said)
	}
	return err
}

// measureAt measures against the server whose address arrives on ready.
func measureAt(ctx context.Context, s settings, ready io.Reader, p *progress, report func(result) error) error {
	text, err := io.ReadAll(ready)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return errNoServer
	}
	return measureAll(ctx, s, string(text), p, report)
}
