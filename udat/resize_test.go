package udat_test

import (
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

// canResize reports whether the device can resize queues of completions. Soft-iWARP cannot.
func canResize(t *testing.T, ia *udat.IA) bool {
	t.Helper()
	evd := createEVD(t, ia, 8, udat.EVDDTO)
	was := qlen(t, evd)
	err := evd.Resize(16)
	if err == nil || !udattest.IWARP(t, ia) {
		want(t, err)
		return true
	}
	want(t, err, udat.ErrModelNotSupported)
	wantDetail(t, err)
	if is := qlen(t, evd); is != was {
		t.Errorf("a queue that is not resized has room for %d, want %d", is, was)
	}
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
			done, given := make(chan error), make(chan *udat.EVD)
			forget(cno)
			go func() { given <- waitCNO(t, cno) }()
			udat.AwaitCNOWaiters(cno, 1)
			want(t, evd.Resize(is+1))
			post(t, evd, 1)
			if receive(t, given) != evd {
				t.Error("another event dispatcher is given")
			}
			wantCookies(t, evd, 1)
			go func() { done <- second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) }()
			udat.AwaitWaiter(evd)
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
			go func() { done <- second(evd.WaitBatch(ctx, make([]udat.Event, 10), 10)) }()
			udat.AwaitWaiter(evd)
			want(t, evd.Resize(2))
			err := receive(t, done)
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
			wantDetail(t, err)
		}
	})
}

// EVDs in use become longer and shorter, for every kind of stream.
func TestResizeInUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !canResize(t, ia) {
			return
		}
		a, b := newCrowd(t, ia, 8, 3), newCrowd(t, ia, 64, 3)
		listener := udattest.Listen(t, ia)
		exchange := func() {
			t.Helper()
			want(t, a.eps[0].PostRecv(a.segment(t), 1, 0))
			want(t, b.eps[0].PostSend(b.segment(t), 2, 0))
			wantCompletion(t, b.evd, 2, udat.DTOSuccess)
			wantCompletion(t, a.evd, 1, udat.DTOSuccess)
		}
		connect(t, listener, a, b, 0)
		exchange()
		was := qlen(t, a.evd)
		for i, n := range []int{was + 100, was, 4, 1, 64, 4} {
			for _, evd := range []*udat.EVD{a.evd, a.events, listener.Requests, ia.AsyncEVD()} {
				want(t, evd.Resize(n))
				if now := qlen(t, evd); now < n {
					t.Errorf("an event dispatcher for %d holds %d", n, now)
				}
			}
			exchange()
			if i < 2 {
				connect(t, listener, a, b, i+1)
			}
		}

		// Not below what is there, outstanding or not taken.
		for i := range uint64(3) {
			want(t, a.eps[0].PostRecv(a.segment(t), 10+i, 0))
		}
		want(t, b.eps[0].PostSend(b.segment(t), 1, 0))
		wantCompletion(t, b.evd, 1, udat.DTOSuccess)
		want(t, a.evd.Resize(2), udat.ErrInvalidState)
		want(t, a.evd.Resize(3))
		want(t, a.eps[1].PostRecv(a.segment(t), 20, 0), noRoom...)
		wantCompletion(t, a.evd, 10, udat.DTOSuccess)
		want(t, a.eps[1].PostRecv(a.segment(t), 20, 0))
		want(t, a.eps[1].PostRecv(a.segment(t), 21, 0), noRoom...)
		want(t, a.evd.Resize(4))
		want(t, a.eps[1].PostRecv(a.segment(t), 21, 0))
		want(t, a.eps[1].PostRecv(a.segment(t), 22, 0), noRoom...)

		for _, ep := range b.eps {
			want(t, ep.Disconnect(udat.CloseAbrupt))
			awaitState(t, ep, udat.EPStateDisconnected)
		}
		await(t, "the ends of the connections", func() bool { return udat.Queued(b.events) == 3 })
		want(t, b.events.Resize(2), udat.ErrInvalidState)
		want(t, b.events.Resize(3))
		for range 3 {
			udattest.Expect(t, b.events, udat.EventConnectionDisconnected)
		}
		wantNoOverflow(t, ia)
	})
}

// A queue that was made longer in use has room for all operations of its endpoint.
func TestResizeGivesRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !canResize(t, ia) {
			return
		}
		const each = 16
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRecvDTOs, attr.MaxRequestDTOs = each, each
		for _, apart := range []bool{false, true} {
			a, b := newEmptyCrowd(t, ia, 8), newCrowd(t, ia, 64, 1)
			if apart {
				a.request = createEVD(t, ia, 8, udat.EVDDTO)
			}
			ep := a.join(t, &attr)
			connect(t, udattest.Listen(t, ia), a, b, 0)
			room := qlen(t, a.evd)
			for i := range room {
				want(t, ep.PostRecv(a.segment(t), uint64(i), 0))
			}
			want(t, a.evd.Resize(2*each))
			want(t, a.requests().Resize(2*each))
			for i := room; i < each; i++ {
				want(t, ep.PostRecv(a.segment(t), uint64(i), 0))
			}
			remote, err := b.memory.RMRTriplet(0, 8)
			want(t, err)
			for i := range uint64(each) {
				want(t, ep.PostRDMAWrite(a.segment(t), i, remote, 0))
			}
			for i := range uint64(each) {
				wantCompletion(t, a.requests(), i, udat.DTOSuccess)
			}
			wantNoOverflow(t, ia)
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
		want(t, listener.Requests.Resize(most.MaxEVDQLen))
		want(t, ia.AsyncEVD().Resize(most.MaxEVDQLen))
	})
}

// The first endpoint that comes to an event dispatcher has room there for all its operations,
// however it comes, also if Resize changes the length at that moment.
func TestResizeOfFirstEndpoint(t *testing.T) {
	const receives = 64
	attr := &udat.EPAttr{MaxRecvDTOs: receives}
	ways := map[string]func(t *testing.T, ia *udat.IA) (*udattest.Endpoint, *udat.EVD){
		"Modify": func(t *testing.T, ia *udat.IA) (*udattest.Endpoint, *udat.EVD) {
			evd := createEVD(t, ia, 8, udat.EVDDTO)
			e := udattest.NewEndpoint(t, ia, attr)
			want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: evd}))
			return e, evd
		},
		"CreateEP beside Resize": func(t *testing.T, ia *udat.IA) (*udattest.Endpoint, *udat.EVD) {
			e := udattest.NewEndpoint(t, ia, attr)
			evd := createEVD(t, ia, 8, udat.EVDDTO)
			var err error
			together(
				func() { e.EP, err = udat.CreateEP(ia, e.PZ, evd, e.Request, e.Connect, attr) },
				func() { want(t, evd.Resize(8)) },
			)
			want(t, err)
			t.Cleanup(func() { want(t, e.EP.Free()) })
			return e, evd
		},
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !canResize(t, ia) {
			return
		}
		for name, come := range ways {
			t.Run(name, func(t *testing.T) {
				e, evd := come(t, ia)
				want(t, evd.Resize(100))
				for i := range uint64(receives) {
					want(t, e.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
				}
				want(t, e.PostRecv(one(e.Segment(t, 0, 8)), receives, 0), udat.ErrInsufficientResources, udat.ResourceMemory)
				want(t, evd.Resize(receives/2), udat.ErrInvalidState)
				want(t, evd.Resize(receives))
			})
		}
	})
}
