//go:build linux

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// The remote shell runs a shell line on another machine, as ssh does, but without keys: the client sends the line,
// and receives its output and then its exit code.

const (
	shellPort = 7021
	// shellVariable makes this program the client of the remote shell.
	shellVariable = "CLUSTER_TEST_SHELL"
)

// reply is a piece of the server's answer. The last one has the exit code.
type reply struct {
	Output []byte `json:",omitempty"`
	Code   *int   `json:",omitempty"`
}

// serveShell runs the lines of clients until ctx ends.
func serveShell(ctx context.Context, address netip.Addr) error {
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, shellPort).String())
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go serveLine(ctx, conn)
	}
}

// writer sends what is written to it as replies.
type writer struct{ *json.Encoder }

func (w writer) Write(b []byte) (int, error) { return len(b), w.Encode(reply{Output: b}) }

func serveLine(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return
	}
	// The program ends with its client.
	go func() {
		_, _ = in.ReadByte()
		cancel()
	}()
	out := writer{json.NewEncoder(conn)}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = out, out
	code := 0
	if err := cmd.Run(); err != nil {
		code = 1
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			fmt.Fprintln(out, err)
		}
	}
	_ = out.Encode(reply{Code: &code})
}

// runShell is the client. Its arguments are flags, a host, and the words of a line.
func runShell(args []string) int {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: shell HOST COMMAND")
		return 2
	}
	code, err := callShell(args[0], strings.Join(args[1:], " "), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func callShell(host, line string, out io.Writer) (int, error) {
	conn, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(shellPort)))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return 0, err
	}
	for replies := json.NewDecoder(conn); ; {
		var r reply
		if err := replies.Decode(&r); err != nil {
			return 0, err
		}
		if r.Code != nil {
			return *r.Code, nil
		}
		if _, err := out.Write(r.Output); err != nil {
			return 0, err
		}
	}
}
