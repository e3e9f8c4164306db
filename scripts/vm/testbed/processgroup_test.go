//go:build linux && amd64

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestProcessGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	g := &processGroup{leader: cmd.Process.Pid}
	if err := g.signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	// Only the leader: the other process is killed after its end.
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	g.awaitEnd()
	if err := g.signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal after the end: %v", err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the leader ended with %v", err)
	}
	waitGroupGone(t, g.leader)
}
