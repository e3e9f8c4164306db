package stream_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"syscall"
	"testing"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// A child dials this address with this adapter, and either sends a byte and waits to be killed, or sends a lot, closes
// the connection, and exits.
const (
	addressVariable = "STREAM_TEST_ADDRESS"
	adapterVariable = "STREAM_TEST_ADAPTER"
	exitsVariable   = "STREAM_TEST_EXITS"
)

var sentByChild = numbers(100<<10 + 1)

// TestChild is the child of the tests below.
func TestChild(t *testing.T) {
	address := os.Getenv(addressVariable)
	if address == "" {
		return
	}
	c, err := dial(t, open(t, os.Getenv(adapterVariable), nil), address)
	want(t, err)
	if os.Getenv(exitsVariable) != "" {
		_, err = c.Write(sentByChild)
		want(t, err)
		want(t, c.Close())
		os.Exit(0)
	}
	_, err = c.Write([]byte{1})
	want(t, err)
	select {}
}

func startChild(t *testing.T, l net.Listener, environment ...string) *exec.Cmd {
	t.Helper()
	child := exec.CommandContext(udattest.Context(t), os.Args[0], "-test.run=^TestChild$")
	child.Env = append(append(os.Environ(), addressVariable+"="+l.Addr().String(), adapterVariable+"="+path.Base(t.Name())), environment...)
	child.Stdout, child.Stderr = os.Stderr, os.Stderr
	want(t, child.Start())
	return child
}

// What was written before Close arrives, even if the process ends then.
func TestExitAfterClose(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		for range 5 {
			child := startChild(t, l, exitsVariable+"=1")
			c := accept(t, l)
			want(t, child.Wait())
			got, err := io.ReadAll(c)
			want(t, err)
			same(t, got, sentByChild)
			_ = c.Close()
		}
	})
}

// When the peer's process is killed, the calls that wait return an error, which is not io.EOF.
func TestProcessKilled(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		child := startChild(t, l)
		c, err := l.Accept()
		want(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		want(t, err)
		results := make(chan error, 2)
		go func() {
			_, err := c.Read(make([]byte, 1))
			results <- err
		}()
		go func() {
			_, err := c.Write(make([]byte, 10<<20))
			results <- err
		}()
		want(t, child.Process.Kill())
		_ = child.Wait()
		for range 2 {
			var netErr net.Error
			if err := <-results; !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &netErr) {
				t.Errorf("the call returned %v", err)
			}
		}
		want(t, c.Close())
	})
}
