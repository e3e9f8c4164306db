package udat_test

import (
	"errors"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func createEVD(t testing.TB, ia *udat.IA, qlen int, flags udat.EVDFlags) *udat.EVD {
	t.Helper()
	evd := must(udat.CreateEVD(ia, qlen, flags))
	t.Cleanup(func() {
		if err := evd.Free(); !errors.Is(err, udat.ErrClosed) {
			want(t, err)
		}
	})
	return evd
}

func post(t testing.TB, evd *udat.EVD, cookies ...uint64) {
	t.Helper()
	for _, cookie := range cookies {
		check(evd.PostSE(cookie))
	}
}

// wantCookies takes software events, which must be there already.
func wantCookies(t testing.TB, evd *udat.EVD, cookies ...uint64) {
	t.Helper()
	for _, cookie := range cookies {
		event, err := evd.Dequeue()
		if err != nil {
			t.Fatalf("instead of the software event %d: %v", cookie, err)
		}
		if event.Number != udat.EventSoftware || event.Cookie != cookie || event.EP() != nil || event.Err() != nil {
			t.Fatalf("got %+v, want the software event %d", event, cookie)
		}
	}
}

func TestSoftwareEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		const most = ^uint64(0)
		post(t, evd, 1, 2, most, 0)
		if event := udattest.Wait(t, evd); event.Number != udat.EventSoftware || event.Cookie != 1 {
			t.Errorf("got %+v", event)
		}
		wantCookies(t, evd, 2, most, 0)
		wantNoEvent(t, evd)
	})
}

// A full queue refuses events, takes some again when there is room, and the
// library has not noticed: its overflow costs an asynchronous error.
func TestSoftwareEventQueueFull(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		param := must(evd.Query())
		for round := range uint64(3) {
			for i := range uint64(param.QLen) {
				want(t, evd.PostSE(round<<32|i))
			}
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			wantCookies(t, evd, round<<32)
			want(t, evd.PostSE(round<<32|uint64(param.QLen)))
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			for i := range uint64(param.QLen) {
				wantCookies(t, evd, round<<32|(i+1))
			}
			wantNoEvent(t, evd)
			for range 2 { // once until an event is taken
				if overflow := udattest.Expect(t, ia.AsyncEVD(), udat.EventAsyncErrorEVDOverflow); overflow.EVD() != evd {
					t.Errorf("the overflow names %v", overflow.EVD())
				}
			}
			wantNoEvent(t, ia.AsyncEVD())
		}
	})
}

func TestSoftwareEventArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		for _, evd := range []*udat.EVD{e.Recv, e.Connect, ia.AsyncEVD()} {
			want(t, evd.PostSE(1), udat.ErrInvalidParameter, udat.InvalidArg1)
			wantNoEvent(t, evd)
		}
	})
}

// Software events come among completions, those that were posted before a completion was there first.
func TestSoftwareEventsAmongCompletions(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		evd := createEVD(t, ia, passive.Attr(t).MaxRecvDTOs+2, udat.EVDDTO|udat.EVDSoftware)
		want(t, passive.EP.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: evd}))
		want(t, evd.Free(), udat.InvalidStateEVDInUse)
		udattest.ConnectPair(t, udattest.Listen(t, ia), active, passive)
		for range 2 {
			post(t, evd, 1)
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 10, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
			wantCompletion(t, active.Request, 2, udat.DTOSuccess) // when the receive has completed
			wantCookies(t, evd, 1)
			wantCompletion(t, evd, 10, udat.DTOSuccess)
			wantNoEvent(t, evd)
		}
		want(t, passive.EP.Free())
	})
}

func failure(event udat.Event) error { return event.Err() }

// provokeAsyncError has the library report an overflow on the asynchronous EVD.
func provokeAsyncError(t *testing.T, ia *udat.IA) {
	t.Helper()
	evd := createEVD(t, ia, 1, udat.EVDSoftware)
	for range qlen(t, evd) {
		post(t, evd, 0)
	}
	want(t, evd.PostSE(0), udat.ErrQueueFull)
}
