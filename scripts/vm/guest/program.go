package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// The exit codes of a shell for a program that does not start.
const (
	exitCannotExecute = 126
	exitNotFound      = 127
	exitSignalBase    = 128
)

// output is one output stream of the program, and its frames.
type output struct {
	from *os.File
	kind wire.Kind
}

// stdio is the program's end and init's end of its standard files.
type stdio struct {
	program []*os.File
	outputs []output
	keys    *os.File // for keyboard input; nil without a terminal
}

// runProgram starts the program, relays its output until the last byte and returns its exit code.
func runProgram(conn *wire.Conn, job wire.Job, asked *requests) (int, error) {
	if job.Path == "" {
		return 0, nil
	}
	if err := os.Chdir(job.Dir); err != nil {
		return 0, fmt.Errorf("the working folder cannot be entered in the machine; if it is below /run or /dev, share it with --share: %w", err)
	}
	messages, err := openKernelMessages()
	if err != nil {
		return 0, err
	}
	files, err := openStdio(job.Terminal)
	if err != nil {
		return 0, err
	}
	pid, err := startProgram(job, files)
	for _, f := range files.program {
		f.Close()
	}
	if err != nil {
		return explainStart(conn, job, err)
	}
	if err := conn.Send(wire.KindStarted, nil); err != nil {
		return 0, err
	}
	go obey(conn, pid, files.keys, asked)

	var relays sync.WaitGroup
	for _, o := range files.outputs {
		relays.Add(1)
		go func() {
			defer relays.Done()
			relay(conn, o)
		}()
	}
	status, err := reap(pid)
	if err != nil {
		return 0, err
	}
	// A process that the program left behind would hold the pipes and the shares. The machine ends with the program.
	if err := killRest(); err != nil {
		return 0, err
	}
	relays.Wait()

	code := exitCode(status)
	if status.Signaled() {
		// Callers that see only the code, such as "go test", do not print it.
		conn.Send(wire.KindStderr, fmt.Appendf(nil, "testbed: %s was ended by signal %d (%v)\n",
			filepath.Base(job.Path), status.Signal(), status.Signal()))
	}
	if code != 0 {
		if text := messages.read(); text != "" {
			conn.Send(wire.KindKernel, []byte(text))
		}
	}
	return code, nil
}

func openStdio(terminal *wire.Size) (stdio, error) {
	if terminal != nil {
		master, slave, err := openTerminal(*terminal)
		if err != nil {
			return stdio{}, err
		}
		return stdio{
			program: []*os.File{slave, slave, slave},
			outputs: []output{{master, wire.KindStdout}},
			keys:    master,
		}, nil
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return stdio{}, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return stdio{}, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return stdio{}, err
	}
	return stdio{
		program: []*os.File{null, outWrite, errWrite},
		outputs: []output{{outRead, wire.KindStdout}, {errRead, wire.KindStderr}},
	}, nil
}

// startProgram does not use package os/exec: init has to wait for every process, not just for this one.
func startProgram(job wire.Job, files stdio) (pid int, err error) {
	var fds []uintptr
	for _, f := range files.program {
		fds = append(fds, f.Fd())
	}
	return syscall.ForkExec(job.Path, job.Args, &syscall.ProcAttr{
		Env:   job.Env,
		Files: fds,
		// A session of its own makes a process group that signals can be sent to.
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: job.Terminal != nil},
	})
}

// explainStart prints what a shell would print.
func explainStart(conn *wire.Conn, job wire.Job, err error) (int, error) {
	code := exitCannotExecute
	if errors.Is(err, syscall.ENOENT) {
		code = exitNotFound
	}
	return code, conn.Send(wire.KindStderr, fmt.Appendf(nil, "testbed: cannot run %s: %v\n", job.Path, err))
}

// obey handles the host's requests while the program runs. Signals go to the whole process group, as from a terminal:
// the children of a shell script and the helper processes of a test receive them, too.
func obey(conn *wire.Conn, pid int, keys *os.File, asked *requests) {
	for {
		kind, payload, err := conn.Receive()
		if err != nil {
			return
		}
		switch kind {
		case wire.KindSignal:
			if len(payload) == 1 {
				syscall.Kill(-pid, syscall.Signal(payload[0]))
			}
		case wire.KindInput:
			if keys != nil {
				keys.Write(payload)
			}
		case wire.KindInputEnd:
			if keys != nil {
				keys.Write([]byte{endOfInput})
			}
		case wire.KindResize:
			var size wire.Size
			if keys != nil && wire.Decode(payload, &size) == nil {
				resizeTerminal(keys, size)
			}
		case wire.KindReply:
			var reply control.Reply
			if wire.Decode(payload, &reply) == nil {
				asked.answer(reply)
			}
		}
	}
}

// relay ends at the end of the stream. A terminal reports that as EIO.
func relay(conn *wire.Conn, o output) {
	defer o.from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := o.from.Read(buffer)
		if n > 0 {
			if conn.Send(o.kind, buffer[:n]) != nil {
				// Nobody reads any more, but a program that blocks here would never end.
				io.Copy(io.Discard, o.from)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// reap collects ended processes, as init must, until the program has ended.
func reap(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("wait for the program: %w", err)
		case ended == pid:
			return status, nil
		}
	}
}

// killRest ends all processes but init.
func killRest() error {
	if err := syscall.Kill(-1, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("kill what the program left behind: %w", err)
	}
	return poll(func() error {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			switch {
			case err == syscall.ECHILD:
				return nil
			case err != nil && err != syscall.EINTR:
				return err
			case pid == 0:
				return errors.New("a process that the program left behind cannot be killed: is it stuck in the kernel?")
			}
		}
	})
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return exitSignalBase + int(status.Signal())
	}
	return status.ExitStatus()
}
