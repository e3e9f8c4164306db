package stream_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// ReadFrom and WriteTo carry everything, and leave the errors of others as they are.
func TestCopy(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		x, y := pair(t, a)
		sent := numbers(3<<20 + 1)
		go func() {
			n, err := x.ReadFrom(bytes.NewReader(sent))
			if err == nil && n == int64(len(sent)) {
				err = x.CloseWrite()
			}
			if err != nil {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}()
		var got bytes.Buffer
		n, err := io.Copy(&got, y)
		want(t, err)
		if n != int64(len(sent)) {
			t.Errorf("WriteTo returned %d", n)
		}
		same(t, got.Bytes(), sent)

		broken := errors.New("broken")
		reader, writer := io.Pipe()
		_ = writer.CloseWithError(broken)
		if _, err := y.ReadFrom(reader); err != broken {
			t.Errorf("ReadFrom returned %v", err)
		}
		_, err = y.Write(sent[:100])
		want(t, err)
		reader, writer = io.Pipe()
		_ = reader.CloseWithError(broken)
		if _, err := x.WriteTo(writer); err != broken {
			t.Errorf("WriteTo returned %v", err)
		}
		for _, few := range []int{0, 99} {
			if _, err := x.WriteTo(lazy(few)); err != io.ErrShortWrite && few < 99 {
				t.Errorf("WriteTo to a writer that takes %d bytes returned %v", few, err)
			}
		}
	})
}

// lazy takes fewer bytes than it is given, and says no reason.
type lazy int

func (l lazy) Write(p []byte) (int, error) { return min(int(l), len(p)-1), nil }

// A connection has the smaller sizes of both sides, whichever connects.
func TestSizes(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			var adapters []*stream.Adapter
			for _, config := range []stream.Config{{}, {Window: 16 << 10, Messages: 8}, {Window: 1 << 20, Messages: 16}, {Window: 64 << 10, Messages: 128}} {
				adapters = append(adapters, open(t, name, &config))
			}
			sent := numbers(300<<10 + 7)
			for _, from := range adapters {
				for _, to := range adapters {
					x, y := pairAcross(t, from, to)
					for _, c := range [][2]*stream.Conn{{x, y}, {y, x}} {
						go func() {
							_, _ = c[0].Write(sent)
							_ = c[0].CloseWrite()
						}()
						got, err := io.ReadAll(c[1])
						want(t, err)
						same(t, got, sent)
					}
					_, _ = x.Close(), y.Close()
				}
			}
		})
	}
	for _, bad := range []stream.Config{{Window: 1}, {Window: 2 << 30}, {Messages: 4}, {Messages: 48}, {Messages: 4096}, {Backlog: -1}, {ConnectTimeout: -1}} {
		if _, err := stream.Open("nowhere", &bad); err == nil || !strings.HasPrefix(err.Error(), "stream: ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestPieces writes and reads pieces of all lengths in both directions at once.
func TestPieces(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		x, y := pair(t, a)
		sent := numbers(1 << 20)
		results := make(chan error, 4)
		for _, c := range []*stream.Conn{x, y} {
			go func() {
				for rest, n := sent, 1; len(rest) > 0; n = n*3%7919 + 1 {
					n = min(n, len(rest))
					if _, err := c.Write(rest[:n]); err != nil {
						results <- err
						return
					}
					rest = rest[n:]
				}
				results <- c.CloseWrite()
			}()
			go func() {
				sum, buffer := sha256.New(), make([]byte, 5000)
				for n := 1; ; n = n*5%4999 + 1 {
					m, err := c.Read(buffer[:n])
					sum.Write(buffer[:m])
					if err == io.EOF {
						break
					} else if err != nil {
						results <- err
						return
					}
				}
				if got := [32]byte(sum.Sum(nil)); got != sha256.Sum256(sent) {
					results <- fmt.Errorf("other bytes have arrived")
					return
				}
				results <- nil
			}()
		}
		for range 4 {
			want(t, <-results)
		}
	})
}
