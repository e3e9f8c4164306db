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

	"github.com/goudat/goudat/examples/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// A child that dials this address with this adapter sends a byte and then waits to be killed.
const (
	addressVariable = "STREAM_TEST_ADDRESS"
	adapterVariable = "STREAM_TEST_ADAPTER"
)

// TestChild is the child of TestProcessKilled.
func TestChild(t *testing.T) {
	address := os.Getenv(addressVariable)
	if address == "" {
		return
	}
	n, err := stream.Open(os.Getenv(adapterVariable))
	want(t, err)
	c, err := n.Dial(address)
	want(t, err)
	_, err = c.Write([]byte{1})
	want(t, err)
	select {}
}

// When the peer's process is killed, the calls that wait return an error, which is not io.EOF.
func TestProcessKilled(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l := listen(t, n)
		child := exec.CommandContext(udattest.Context(t), os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), addressVariable+"="+l.Addr().String(), adapterVariable+"="+path.Base(t.Name()))
		child.Stderr = os.Stderr
		want(t, child.Start())
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
