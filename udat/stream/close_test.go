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

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func TestCloseWrite(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, adapter *stream.Adapter) {
		a, b := pair(t, adapter)
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
	forEachAdapter(t, func(t *testing.T, adapter *stream.Adapter) {
		a, b := pair(t, adapter)
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
	forEachAdapter(t, func(t *testing.T, adapter *stream.Adapter) {
		a, b := pair(t, adapter)
		sent := bytes.Repeat([]byte("0123456789abcdef"), 10<<10)
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
	forEachAdapter(t, func(t *testing.T, adapter *stream.Adapter) {
		a, _ := pair(t, adapter)
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
	forEachAdapter(t, func(t *testing.T, adapter *stream.Adapter) {
		a, b := pair(t, adapter)
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

// With a linger time of 0, Close ends the connection at once, and the peer can tell.
func TestSetLinger(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		x, y := pair(t, a)
		want(t, x.SetLinger(0))
		want(t, x.Close())
		if _, err := y.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer's read returned %v", err)
		}
		if err := x.SetLinger(1); !errors.Is(err, net.ErrClosed) {
			t.Errorf("SetLinger after Close returned %v", err)
		}
		x, y = pair(t, a)
		want(t, x.SetLinger(0))
		want(t, x.SetLinger(-1))
		want(t, x.Close())
		if _, err := y.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer's read returned %v", err)
		}
	})
}

// Close of an adapter closes what is on it, once.
func TestCloseAdapter(t *testing.T) {
	for _, name := range udattest.Names(t) {
		a, err := stream.Open(name, nil)
		want(t, err)
		b := open(t, name, nil)
		x, y := pairAcross(t, b, a)
		l := listen(t, a)
		_, err = y.Write([]byte{1})
		want(t, err)
		want(t, a.Close())
		for what, err := range map[string]error{"Adapter.Close": a.Close(), "Listener.Close": l.Close(), "Conn.Close": y.Close()} {
			if opError, ok := err.(*net.OpError); !ok || opError.Err != net.ErrClosed {
				t.Errorf("the second %s returned %v", what, err)
			}
		}
		if _, err := dial(t, a, l.Addr().String()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Dial returned %v", err)
		}
		if got, err := io.ReadAll(x); err != nil || len(got) != 1 {
			t.Errorf("%d bytes have arrived, and the error is %v", len(got), err)
		}
	}
}
