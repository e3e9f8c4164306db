package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func createEVD(t testing.TB, ia *udat.IA, qlen int, flags udat.EVDFlags) *udat.EVD {
	t.Helper()
	return untilEnd(t, must(udat.CreateEVD(ia, qlen, nil, flags)))
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
		evd, e := createEVD(t, ia, 8, udat.EVDSoftware), udattest.NewEndpoint(t, ia, nil)
		const most = ^uint64(0)
		post(t, evd, 1, 2, most, 0)
		if event := udattest.Wait(t, evd); event.Number != udat.EventSoftware || event.Cookie != 1 {
			t.Errorf("got %+v", event)
		}
		wantCookies(t, evd, 2, most, 0)
		for _, others := range []*udat.EVD{e.Recv, e.Connect, ia.AsyncEVD()} {
			want(t, others.PostSE(1), udat.ErrInvalidParameter, udat.InvalidArg1)
			udattest.NoEvent(t, others)
		}
	})
}

// A full queue refuses events, takes some again when there is room, and the
// library has not noticed: its overflow costs an asynchronous error.
func TestSoftwareEventQueueFull(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		room := uint64(qlen(t, evd))
		for round := range uint64(3) {
			for i := range room {
				post(t, evd, round<<32|i)
			}
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			wantCookies(t, evd, round<<32)
			post(t, evd, round<<32|room)
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			for i := range room {
				wantCookies(t, evd, round<<32|(i+1))
			}
			udattest.NoEvent(t, evd)
			for range 2 { // once until an event is taken
				if overflow := udattest.Expect(t, ia.AsyncEVD(), udat.EventAsyncErrorEVDOverflow); overflow.EVD() != evd {
					t.Errorf("the overflow names %v", overflow.EVD())
				}
			}
			udattest.NoEvent(t, ia.AsyncEVD())
		}
	})
}

// Software events come among completions, those that were posted before a completion was there
// first.
func TestSoftwareEventsAmongCompletions(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		evd := createEVD(t, ia, passive.Attr(t).MaxRecvDTOs+2, udat.EVDDTO|udat.EVDSoftware)
		want(t, passive.EP.Modify(udat.EPFieldRecvEVD, &udat.EPParam{RecvEVD: evd}))
		want(t, evd.Free(), udat.InvalidStateEVDInUse)
		udattest.ConnectPair(t, udattest.Listen(t, ia), active, passive)
		for range 2 {
			post(t, evd, 1)
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 10, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
			wantCompletion(t, active.Request, 2, udat.DTOSuccess) // when the receive has completed
			wantCookies(t, evd, 1)
			wantCompletion(t, evd, 10, udat.DTOSuccess)
			udattest.NoEvent(t, evd)
		}
		want(t, passive.EP.Free())
	})
}

// provokeAsyncError has the library report an overflow on the asynchronous EVD.
func provokeAsyncError(t *testing.T, ia *udat.IA) {
	t.Helper()
	evd := createEVD(t, ia, 1, udat.EVDSoftware)
	for range qlen(t, evd) {
		post(t, evd, 0)
	}
	want(t, evd.PostSE(0), udat.ErrQueueFull)
}
