package udat_test

import (
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func qlen(t *testing.T, evd *udat.EVD) int {
	t.Helper()
	param, err := evd.Query()
	want(t, err)
	return param.QLen
}

// A queue grows with its events, its waiters and its CNO.
func TestResize(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDDTO | udat.EVDSoftware} {
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
			done, given := make(chan error), make(chan *udat.EVD)
			go func() { done <- second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) }()
			go func() { given <- waitCNO(t, cno) }()
			udat.AwaitWaiter(evd)
			udat.AwaitCNOWaiters(cno, 1)
			want(t, evd.Resize(is+1))
			post(t, evd, 1)
			if receive(t, given) != evd {
				t.Error("another event dispatcher is given")
			}
			post(t, evd, 2)
			want(t, receive(t, done))
			for _, n := range []int{1, is, qlen(t, evd)} {
				now := qlen(t, evd)
				if want(t, evd.Resize(n)); qlen(t, evd) != now {
					t.Errorf("a queue for %d was resized to %d although it held %d", now, qlen(t, evd), n)
				}
			}
		}
	})
}

// A resized EVD works for what comes after.
func TestResizeBeforeUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 4, udat.EVDDTO)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		change := func() error {
			return passive.EP.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: evd})
		}
		want(t, change(), udat.ErrInsufficientResources)
		want(t, evd.Resize(passive.Attr(t).MaxRecvDTOs))
		want(t, change())
		udattest.ConnectPair(t, udattest.Listen(t, ia), active, passive)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		want(t, failure(udattest.Wait(t, evd)))

		now := qlen(t, evd)
		want(t, evd.Resize(now))
		err := evd.Resize(now + 1)
		want(t, err, udat.ErrInvalidState, udat.InvalidStateEVDInUse)
		for _, words := range []string{"no provider can resize", "endpoint (made at"} {
			if err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("the error does not explain itself: %v", err)
			}
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
		want(t, listener.Requests.Resize(most.MaxEVDQLen), udat.ErrInvalidState, udat.InvalidStateEVDInUse)
		want(t, ia.AsyncEVD().Resize(most.MaxEVDQLen), udat.ErrInvalidState, udat.InvalidStateEVDInUse)
	})
}
