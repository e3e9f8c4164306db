package udat_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Both sides connect in one call each, which returns what the other side said, or why there is no
// connection. A context that ends ends the attempt.
func TestConnectAndWait(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ctx, address := udattest.Context(t), udattest.Address(t, ia)
		l, active, passive := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)

		_, err := active.EP.ConnectAndWait(ctx, address, udattest.ConnQual(), nil)
		want(t, err, udat.EventConnectionNonPeerRejected)
		if !strings.Contains(err.Error(), "nobody listens") {
			t.Errorf("the error does not say why: %v", err)
		}
		want(t, active.Reset())

		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = active.EP.ConnectAndWait(ended, address, l.ConnQual, nil)
		want(t, err, context.Canceled)
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		want(t, active.Reset())

		accepted := make(chan error, 1)
		go func() {
			for { // the request of the attempt that has ended may have come
				event, err := l.Requests.Expect(ctx, udat.EventConnectionRequest)
				if err != nil {
					accepted <- err
					return
				}
				if param := must(event.CR().Query()); !bytes.HasPrefix(param.PrivateData, []byte("hello")) {
					_ = event.CR().Reject(nil)
					continue
				}
				accepted <- event.CR().AcceptAndWait(ctx, passive.EP, []byte("welcome"))
				return
			}
		}()
		answer, err := active.EP.ConnectAndWait(ctx, address, l.ConnQual, []byte("hello"))
		want(t, err)
		want(t, <-accepted)
		if !bytes.HasPrefix(answer, []byte("welcome")) {
			t.Errorf("the peer answered %q", answer)
		}
		wantState(t, active.EP, udat.EPStateConnected)
		wantState(t, passive.EP, udat.EPStateConnected)
	})
}
