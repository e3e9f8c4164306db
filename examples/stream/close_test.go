package stream_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// testPair is pair for a test, with a deadline on everything.
func testPair(t testing.TB, n *stream.Network) (a, b *stream.Conn) {
	t.Helper()
	x, y, err := pair(n, listen(t, n))
	want(t, err)
	a, b = x.(*stream.Conn), y.(*stream.Conn)
	for _, c := range []*stream.Conn{a, b} {
		want(t, c.SetDeadline(time.Now().Add(udattest.Patience)))
		t.Cleanup(func() { _ = c.Close() })
	}
	return a, b
}

func TestCloseWrite(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		a, b := testPair(t, n)
		_, err := a.Write([]byte("question"))
		want(t, err)
		want(t, a.CloseWrite())
		got, err := io.ReadAll(b)
		want(t, err)
		if string(got) != "question" {
			t.Errorf("%q has arrived", got)
		}
		if _, err := a.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a write after CloseWrite returned %v", err)
		}
		answer := bytes.Repeat([]byte("answer"), 1<<18)
		go func() {
			_, _ = b.Write(answer)
			_ = b.Close()
		}()
		got, err = io.ReadAll(a)
		want(t, err)
		if !bytes.Equal(got, answer) {
			t.Errorf("%d bytes have arrived, not those of the answer", len(got))
		}
	})
}

// As with TCP, CloseWrite ends the stream also when the deadline of writes has passed, and can be called again.
func TestCloseWriteAfterDeadline(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		a, b := testPair(t, n)
		want(t, a.SetWriteDeadline(time.Now()))
		if _, err := a.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the write returned %v", err)
		}
		for range 2 {
			if err := a.CloseWrite(); err != nil {
				t.Error(err)
			}
		}
		if got, err := io.ReadAll(b); err != nil || len(got) > 0 {
			t.Errorf("%d bytes have arrived, and the error is %v", len(got), err)
		}
		want(t, a.Close())
		if err := a.CloseWrite(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("CloseWrite after Close returned %v", err)
		}
	})
}

// What was written before Close arrives, even if the peer begins to read long after.
func TestCloseDelivers(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		a, b := testPair(t, n)
		sent := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
		_, err := a.Write(sent)
		want(t, err)
		want(t, a.Close())
		for err == nil { // until the connection has ended
			_, err = b.Write(sent)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write to a peer that has closed returned %v", err)
		}
		got, err := io.ReadAll(b)
		want(t, err)
		if !bytes.Equal(got, sent) {
			t.Errorf("%d bytes of %d have arrived", len(got), len(sent))
		}
	})
}

// Close ends the calls that wait, on this side with net.ErrClosed.
func TestCloseBesideCalls(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		a, _ := testPair(t, n)
		results := make(chan error, 2)
		begun := make(chan struct{})
		go func() {
			_, err := a.Read(make([]byte, 1))
			results <- err
		}()
		go func() {
			_, err := a.Write(make([]byte, 100<<10))
			if err == nil {
				close(begun)
				_, err = a.Write(make([]byte, 1<<20)) // more than there is room for, since the peer does not read
			}
			results <- err
		}()
		<-begun
		want(t, a.Close())
		for range 2 {
			var netErr net.Error
			if err := <-results; !errors.Is(err, net.ErrClosed) || !errors.As(err, &netErr) || netErr.Timeout() {
				t.Errorf("a call that waited returned %v", err)
			}
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the second Close returned %v", err)
		}
	})
}

// A deadline that is moved counts for the call that waits already.
func TestDeadlineMoved(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		a, b := testPair(t, n)
		result := make(chan error, 1)
		read := func() {
			_, err := a.Read(make([]byte, 1))
			result <- err
		}
		go read()
		want(t, a.SetReadDeadline(time.Now().Add(time.Millisecond)))
		var netErr net.Error
		if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &netErr) || !netErr.Timeout() {
			t.Errorf("the read returned %v", err)
		}
		want(t, a.SetReadDeadline(time.Now().Add(udattest.Patience)))
		go read()
		want(t, a.SetReadDeadline(time.Time{}))
		_, err := b.Write([]byte{1})
		want(t, err)
		want(t, <-result)
	})
}

func TestAddr(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l := listen(t, n)
		a, b, err := pair(n, l)
		want(t, err)
		defer func() { _, _ = a.Close(), b.Close() }()
		if a.RemoteAddr() != l.Addr() || b.LocalAddr() != l.Addr() {
			t.Errorf("%v connects to %v, %v to %v", a.LocalAddr(), a.RemoteAddr(), b.RemoteAddr(), b.LocalAddr())
		}
		for _, address := range []net.Addr{l.Addr(), a.LocalAddr(), b.RemoteAddr()} {
			if _, err := net.ResolveTCPAddr("tcp", address.String()); err != nil {
				t.Error(err)
			}
		}
	})
}
