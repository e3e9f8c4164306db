//go:build linux

package failures

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// host is a server that strangers talk to. It accepts every other request that is not honest, and rejects the rest.
type host struct {
	*testing.T
	ia       *udat.IA
	address  netip.Addr
	listener *udattest.Listener
	spare    *udattest.Endpoint
	requests int // that came from strangers
}

const honest = "honest"

// forEachHost runs a storm of strangers on each adapter of a provider, and checks that the server then serves an honest
// client, and that the process has no more than before.
func forEachHost(t *testing.T, provider string, storm func(h *host)) {
	names := slices.DeleteFunc(udattest.Names(t), func(name string) bool { return name[:len(provider)] != provider })
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ia := udattest.Open(t, name)
			if udattest.IWARP(t, ia) {
				t.Log("iWARP connects only queue pairs that exist, which the strangers have none of")
				return
			}
			h := newHost(t, ia, udattest.Listen(t, ia))
			h.serveHonest()
			before := h.holdings()
			t.Run("strangers", func(t *testing.T) {
				h := newHost(t, ia, h.listener)
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() {
					defer close(done)
					h.serveStrangers(ctx)
				}()
				defer func() {
					stop()
					<-done
					t.Logf("%d requests came", h.requests)
				}()
				storm(h)
			})
			h.serveHonest()
			now := h.holdings()
			for deadline := time.Now().Add(udattest.Patience); now.isMoreThan(before) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				now = h.holdings() // the library drops peers that stay silent
			}
			if now.isMoreThan(before) {
				t.Errorf("the process has %v; before the strangers came %v", now, before)
			}
		})
	}
}

func newHost(t *testing.T, ia *udat.IA, listener *udattest.Listener) *host {
	return &host{T: t, ia: ia, address: udattest.Address(t, ia), listener: listener, spare: udattest.NewEndpoint(t, ia, nil)}
}

func (h *host) holdings() holdings {
	h.Helper()
	now, err := measure(new(control))
	if err != nil {
		h.Fatal(err)
	}
	return now
}

// serveStrangers answers requests until the context ends.
func (h *host) serveStrangers(ctx context.Context) {
	for event, err := range h.listener.Requests.Events(ctx) {
		if ctx.Err() != nil {
			return
		}
		h.requests++
		switch {
		case err != nil:
			h.Errorf("waiting for requests: %v", err)
		case h.requests%2 == 0:
			h.accept(event.CR())
		default:
			if err := event.CR().Reject(nil); err != nil {
				h.Logf("rejecting: %v", err)
			}
		}
	}
}

// accept accepts a stranger, and disconnects soon.
func (h *host) accept(cr *udat.CR) {
	const soon = 300 * time.Millisecond
	if err := cr.Accept(h.spare.EP, nil); err != nil {
		h.Logf("accepting: %v", err)
	} else {
		h.outcome(h.spare, soon)
	}
	if err := h.spare.Reset(); err != nil {
		h.Errorf("resetting after a stranger: %v", err)
	}
}

// outcome waits until an attempt has ended: it disconnects if a connection results, or if nothing comes soon enough.
func (h *host) outcome(e *udattest.Endpoint, soon time.Duration) udat.EventNumber {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	event, err := e.Connect.Wait(ctx)
	if err == nil && event.Number != udat.EventConnectionEstablished {
		return event.Number
	}
	if err := e.Disconnect(udat.CloseAbrupt); err != nil && !errors.Is(err, udat.ErrInvalidState) {
		h.Errorf("disconnecting: %v", err)
	}
	end, err2 := e.Connect.Wait(udattest.Context(h.T))
	if err2 != nil {
		h.Errorf("after %v, %v and a disconnect: %v", event.Number, err, err2)
	}
	if err != nil {
		return end.Number
	}
	return event.Number
}

// serveHonest checks that the server serves an honest client. Requests of strangers may still come.
func (h *host) serveHonest() {
	h.Helper()
	h.Run(honest, func(t *testing.T) { // which frees the endpoints
		h := *h
		h.T = t
		client, server := udattest.NewEndpoint(t, h.ia, nil), udattest.NewEndpoint(t, h.ia, nil)
		h.do(client.EP.Connect(h.address, h.listener.ConnQual, udattest.Patience, []byte(honest)))
		for {
			cr := udattest.Expect(t, h.listener.Requests, udat.EventConnectionRequest).CR()
			param, err := cr.Query()
			h.do(err)
			if strings.HasPrefix(string(param.PrivateData), honest) {
				h.do(server.PostRecv([]udat.Segment{server.Segment(t, 0, 64)}, 1, 0))
				h.do(cr.Accept(server.EP, nil))
				break
			}
			h.do(cr.Reject(nil))
		}
		for _, e := range []*udattest.Endpoint{client, server} {
			udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		}
		h.do(client.PostSend([]udat.Segment{client.Segment(t, 0, 64)}, 2, 0))
		udattest.Completion(t, server.Recv, 1)
		udattest.Completion(t, client.Request, 2)
		h.do(client.Disconnect(udat.CloseGraceful))
		for _, e := range []*udattest.Endpoint{client, server} {
			udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
		}
	})
}

func (h *host) do(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}
