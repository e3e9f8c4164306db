package udat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The loop gets the events in order, leaves those that it does not ask for, and
// learns what ended it.
func TestEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		ctx, cancel := context.WithCancel(udattest.Context(t))
		defer cancel()
		post(t, evd, 0, 1, 2, 3)
		next := uint64(0)
		for _, until := range []uint64{3, 4} {
			for event, err := range evd.Events(ctx) {
				want(t, err)
				if event.Cookie != next {
					t.Errorf("got the cookie %d, want %d", event.Cookie, next)
				}
				if next++; next == until {
					break
				}
			}
		}
		cancel()
		loops := 0
		for _, err := range evd.Events(ctx) {
			want(t, err, context.Canceled, udat.ErrInterruptedCall)
			loops++
		}
		if loops != 1 {
			t.Errorf("the loop ran %d times", loops)
		}
	})
}

// wantOther demands an EventError that names all the texts, and comes with
// the event that it is about.
func wantOther(t *testing.T, event udat.Event, err error, wanted udat.EventNumber, texts ...string) {
	t.Helper()
	var e *udat.EventError
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v", err)
	}
	if e.Want != wanted || e.Event.Number != event.Number || event.Number == 0 {
		t.Errorf("the error is about %+v, the event is %+v", e, event)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in the error: %v", text, err)
		}
	}
}

func TestExpect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ctx := udattest.Context(t)
		l := udattest.Listen(t, ia)
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)

		// A failure that is not wanted is one to match; one that is wanted is none.
		want(t, request(t, e, l).Reject(nil))
		event, err := e.Connect.Expect(ctx, udat.EventConnectionEstablished)
		wantOther(t, event, err, udat.EventConnectionEstablished,
			"got DAT_CONNECTION_EVENT_PEER_REJECTED instead of DAT_CONNECTION_EVENT_ESTABLISHED")
		want(t, err, udat.EventConnectionPeerRejected)
		want(t, e.Reset())
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		// The event that comes instead is not lost: this one needs an answer.
		event, err = l.Requests.Expect(ctx, udat.EventSoftware)
		wantOther(t, event, err, udat.EventSoftware, "DAT_CONNECTION_REQUEST_EVENT for the qualifier", "DAT_SOFTWARE_EVENT")
		want(t, event.CR().Reject(nil))
		want(t, second(e.Connect.Expect(ctx, udat.EventConnectionPeerRejected)))
		want(t, e.Reset())

		udattest.ConnectPair(t, l, e, peer)
		want(t, peer.PostRecv(one(peer.Segment(t, 0, 8)), 7, 0))
		want(t, e.PostSend(one(e.Segment(t, 0, 8)), 8, 0))
		want(t, second(peer.Recv.Expect(ctx, udat.EventDTOCompletion)))
		event, err = e.Request.Expect(ctx, udat.EventConnectionDisconnected)
		wantOther(t, event, err, udat.EventConnectionDisconnected, "DAT_DTO_SEND", "cookie 8", "DAT_CONNECTION_EVENT_DISCONNECTED")
		// A completion that failed is not what a program waits for.
		want(t, peer.PostRecv(one(peer.Segment(t, 0, 8)), 9, 0))
		want(t, peer.EP.Disconnect(udat.CloseAbrupt))
		event, err = peer.Recv.Expect(ctx, udat.EventDTOCompletion)
		wantOther(t, event, err, udat.EventDTOCompletion, "DAT_DTO_RECEIVE", "cookie 9", "DAT_DTO_ERR_FLUSHED")
		want(t, err, udat.DTOErrFlushed)

		ended, cancel := context.WithCancelCause(ctx)
		cause := errors.New("enough")
		cancel(cause)
		_, err = e.Recv.Expect(ended, udat.EventDTOCompletion)
		want(t, err, udat.ErrInterruptedCall, context.Canceled, cause)
		if err == nil || !strings.Contains(err.Error(), "waiting for DAT_DTO_COMPLETION_EVENT") {
			t.Errorf("the error does not say what for: %v", err)
		}
		want(t, second((*udat.EVD)(nil).Expect(ctx, udat.EventDTOCompletion)), udat.ErrInvalidHandle)
	})
}
