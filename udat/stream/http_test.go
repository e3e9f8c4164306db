package stream_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// random returns bytes that differ for each seed.
func random(seed byte, length int) []byte {
	b := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// serveHTTP answers each body with its sum and the body itself.
func serveHTTP(l net.Listener) *http.Server {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Sum", fmt.Sprintf("%x", sha256.Sum256(body)))
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(l) }()
	return server
}

// postBodies posts bodies, most of which are larger than the ring, on several connections at once.
func postBodies(t *testing.T, a *stream.Adapter, server string) {
	client := &http.Client{Transport: &http.Transport{DialContext: a.Dial, MaxConnsPerHost: 4}, Timeout: udattest.Patience}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for i := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			body := random(byte(i), i<<17+i)
			response, err := client.Post("http://"+server, "application/octet-stream", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			got := make([]byte, len(body)) // io.ReadAll makes so much garbage that the race detector needs most of the time
			n, err := io.ReadFull(response.Body, got)
			_ = response.Body.Close()
			if err != nil || !bytes.Equal(got, body) || response.Header.Get("Sum") != fmt.Sprintf("%x", sha256.Sum256(body)) {
				t.Errorf("of %d bytes %d came back, not the same, with the error %v", len(body), n, err)
			}
		}()
	}
	group.Wait()
}

func TestHTTP(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		server := serveHTTP(l)
		postBodies(t, a, l.Addr().String())
		want(t, server.Shutdown(udattest.Context(t)))
	})
}

// HTTP/2 over TLS.
func TestHTTPS(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
		_ = server.Listener.Close()
		server.Listener, server.EnableHTTP2 = listen(t, a), true
		server.StartTLS()
		defer server.Close()
		client := server.Client()
		transport := client.Transport.(*http.Transport)
		transport.DialContext, transport.TLSClientConfig.ServerName = a.Dial, "example.com"
		sent := numbers(1 << 20)
		response, err := client.Post(server.URL, "application/octet-stream", bytes.NewReader(sent))
		want(t, err)
		got, err := io.ReadAll(response.Body)
		want(t, err)
		_ = response.Body.Close()
		same(t, got, sent)
		if response.ProtoMajor != 2 {
			t.Errorf("the protocol is %s", response.Proto)
		}
	})
}
