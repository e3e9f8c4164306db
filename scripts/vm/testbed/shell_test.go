//go:build linux && amd64

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestShellOnTerminal(t *testing.T) {
	needMachine(t)
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("needs the command script, which makes a terminal")
	}
	b := newBed(t)
	b.cmd = exec.Command(script, "--quiet", "--return", "--command",
		"stty rows 31 columns 97; '"+launcher(t)+"' --shell; echo code $?; stty -a", "/dev/null")
	b.cmd.Env = append(os.Environ(), "TERM=dumb")
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	// This is typed ahead. It waits in the terminal until the shell reads.
	b.cmd.Stdin = strings.NewReader("stty size; tty; rdma link show rxe0/1; exit 7\n")
	b.start()
	b.wait()
	out := b.stdout.String()
	for _, part := range []string{"31 97", "/dev/pts/0", "state ACTIVE", "code 7", " icanon", " echo "} {
		if !strings.Contains(out, part) {
			t.Errorf("the terminal shows %q (script says %q), want it to contain %q", out, b.stderr.String(), part)
		}
	}
}
