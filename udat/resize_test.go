package udat_test

import (
	"errors"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func qlen(t *testing.T, evd *udat.EVD) int {
	t.Helper()
	return must(evd.Query()).QLen
}

// canResize reports whether the device can resize queues of completions.
func canResize(t *testing.T, ia *udat.IA) bool {
	t.Helper()
	evd := createEVD(t, ia, 8, udat.EVDDTO)
	was := qlen(t, evd)
	err := evd.Resize(16)
	if !errors.Is(err, udat.ErrModelNotSupported) {
		want(t, err)
		return true
	}
	wantDetail(t, err)
	if is := qlen(t, evd); is != was {
		t.Errorf("a queue that is not resized has room for %d, want %d", is, was)
	}
	t.Log("not tested: the device cannot resize queues of completions")
	return false
}

// A queue grows with its events, its waiters and its CNO.
func TestResize(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		kinds := []udat.EVDFlags{udat.EVDSoftware}
		if canResize(t, ia) {
			kinds = append(kinds, udat.EVDDTO|udat.EVDSoftware)
		}
		for _, flags := range kinds {
			evd := createEVD(t, ia, 8, flags)
			cno := createCNO(t, ia, nil, evd)
			was := qlen(t, evd)
			for i := range uint64(was) {
				post(t, evd, i)
			}
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			want(t, evd.Resize(4*was))
			is := qlen(t, evd)
			if is < 4*was {
				t.Errorf("the queue has room for %d, want %d", is, 4*was)
			}
			for i := was; i < is; i++ {
				post(t, evd, uint64(i))
			}
			want(t, evd.PostSE(0), udat.ErrQueueFull)
			for i := range uint64(is) {
				wantCookies(t, evd, i)
			}

			ctx := udattest.Context(t)
			forget(cno)
			done := asleep(t, ia, waysToWait(ctx, evd)["WaitBatch"])
			want(t, evd.Resize(is+2))
			post(t, evd, 1, 2)
			want(t, receive(t, done))
			post(t, evd, 3, 4, 5)
			want(t, evd.Resize(2), udat.ErrInvalidState)
			want(t, evd.Resize(3))
			if now := qlen(t, evd); now < 3 || now > 4 {
				t.Errorf("a queue for 3 has room for %d", now)
			}
			wantCookies(t, evd, 3, 4, 5)
			// A wait for more events than there can be any more ends.
			want(t, evd.Resize(16))
			done = asleep(t, ia, func() error { return second(evd.WaitBatch(ctx, make([]udat.Event, 10), 10)) })
			want(t, evd.Resize(2))
			err := receive(t, done)
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
			wantDetail(t, err)
		}
	})
}

func TestResizeArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		most, _, err := ia.Query()
		want(t, err)
		listener := udattest.Listen(t, ia)
		for _, evd := range []*udat.EVD{createEVD(t, ia, 8, udat.EVDSoftware), listener.Requests, ia.AsyncEVD()} {
			for _, n := range []int{0, -1, most.MaxEVDQLen + 1} {
				want(t, evd.Resize(n), udat.ErrInvalidParameter, udat.InvalidArg2)
			}
		}
		long := min(most.MaxEVDQLen, 1<<16) // some devices have longer ones than there is memory for
		want(t, listener.Requests.Resize(long))
		want(t, ia.AsyncEVD().Resize(long))
	})
}
