package udat_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// shared is a shared receive queue with endpoints that use it.
type shared struct {
	*udattest.Endpoint // whose zone, EVDs and memory the others use too
	srq                *udat.SRQ
	eps                []*udat.EP
}

func newShared(t *testing.T, ia *udat.IA, receives, endpoints int) *shared {
	t.Helper()
	s := &shared{Endpoint: udattest.NewEndpoint(t, ia, nil)}
	s.srq = untilEnd(t, must(udat.CreateSRQ(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 2})))
	for range endpoints {
		s.eps = append(s.eps, untilEnd(t, must(udat.CreateEPWithSRQ(ia, s.PZ, s.Recv, s.Request, s.Connect, s.srq, nil))))
	}
	return s
}

// client connects an endpoint of its own with one of the queue's.
func (s *shared) client(t *testing.T, listener *udattest.Listener, ep *udat.EP) *udattest.Endpoint {
	t.Helper()
	e := udattest.NewEndpoint(t, s.IA, nil)
	server := *s.Endpoint
	server.EP = ep
	udattest.ConnectPair(t, listener, e, &server)
	return e
}

// Receives of a shared queue take room on each receive EVD of its endpoints.
func TestSRQWithoutRoom(t *testing.T) {
	forEachIAWithSRQ(t, func(t *testing.T, ia *udat.IA) {
		shorter := createEVD(t, ia, 1, udat.EVDDTO)
		short := createEVD(t, ia, qlen(t, shorter)+1, udat.EVDDTO)
		s := newShared(t, ia, qlen(t, short)+1, 0)
		ep := must(udat.CreateEPWithSRQ(ia, s.PZ, short, s.Request, s.Connect, s.srq, nil))
		for i := range qlen(t, short) {
			want(t, s.srq.PostRecv(one(s.Segment(t, 0, 8)), uint64(i)))
		}
		want(t, s.srq.PostRecv(one(s.Segment(t, 0, 8)), 99), noRoom...)
		_, err := udat.CreateEPWithSRQ(ia, s.PZ, shorter, s.Request, s.Connect, s.srq, nil)
		want(t, err, noRoom...)
		wantDetail(t, err)
		want(t, ep.Free())
	})
}

// A message comes to a receive of the queue, for the endpoint that it was sent to.
func TestSRQ(t *testing.T) {
	forEachIAWithSRQ(t, func(t *testing.T, ia *udat.IA) {
		const receives, clients = 8, 3
		s := newShared(t, ia, receives, clients)
		listener := udattest.Listen(t, ia)
		var senders []*udattest.Endpoint
		for _, ep := range s.eps {
			senders = append(senders, s.client(t, listener, ep))
		}
		receive := func(i uint64) error { return s.srq.PostRecv(one(s.Segment(t, int(i)*64, 64)), i) }
		for i := range uint64(receives) {
			want(t, receive(i))
		}
		want(t, receive(0), udat.ErrInsufficientResources)
		if param := must(s.srq.Query()); param.Outstanding != receives || param.IA != ia || param.PZ != s.PZ || param.Attr.MaxRecvDTOs != receives {
			t.Errorf("the queue says %+v", param)
		}
		for round := range 5 {
			for i, sender := range senders {
				message := byte(round<<4 | i)
				sender.Memory.Bytes()[0] = message
				want(t, sender.PostSend(one(sender.Segment(t, 0, 8)), 1, 0))
				wantCompletion(t, sender.Request, 1, udat.DTOSuccess)
				event := udattest.Expect(t, s.Recv, udat.EventDTOCompletion)
				if event.Err() != nil || event.Operation != udat.DTOReceive || event.Length != 8 || event.EP() != s.eps[i] {
					t.Fatalf("a receive completed as %+v for %p, want %p", event, event.EP(), s.eps[i])
				}
				if got := s.Memory.Bytes()[event.Cookie*64]; got != message {
					t.Errorf("got the message %#x, want %#x", got, message)
				}
				want(t, receive(event.Cookie))
			}
		}
		// Freeing some endpoints leaves the receives to the others.
		want(t, s.eps[0].Free())
		want(t, s.eps[1].Free())
		want(t, senders[2].PostSend(one(senders[2].Segment(t, 0, 8)), 1, 0))
		if event := udattest.Expect(t, s.Recv, udat.EventDTOCompletion); event.Err() != nil || event.EP() != s.eps[2] {
			t.Errorf("a receive completed as %+v for %v", event, event.EP())
		}
		want(t, s.eps[2].Free())
		want(t, s.srq.Free())
		want(t, receive(0), udat.ErrClosed)
	})
}

func TestSRQRefuses(t *testing.T) {
	forEachIAWithSRQ(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 4, 1)
		most, _, err := ia.Query()
		want(t, err)
		for _, attr := range []udat.SRQAttr{
			{MaxRecvIOV: 1}, {MaxRecvDTOs: 1}, {MaxRecvDTOs: most.MaxRecvPerSRQ + 1, MaxRecvIOV: 1}, {MaxRecvDTOs: 1, MaxRecvIOV: most.MaxIOVSegmentsPerDTO + 1},
			{MaxRecvDTOs: 1, MaxRecvIOV: 1, LowWatermark: -1}, {MaxRecvDTOs: 1, MaxRecvIOV: 1, LowWatermark: 2},
		} {
			want(t, second(udat.CreateSRQ(ia, s.PZ, attr)), udat.ErrInvalidParameter, udat.InvalidArg3)
		}
		endpoint := func(recv, request, connect *udat.EVD, srq *udat.SRQ) error {
			return second(udat.CreateEPWithSRQ(ia, s.PZ, recv, request, connect, srq, nil))
		}
		want(t, endpoint(s.Recv, s.Request, s.Connect, nil), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		want(t, endpoint(nil, s.Request, s.Connect, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
		want(t, endpoint(s.Recv, nil, s.Connect, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDRequest)
		want(t, endpoint(s.Recv, s.Request, nil, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)

		want(t, s.eps[0].PostRecv(one(s.Segment(t, 0, 8)), 1, 0), udat.ErrInvalidState, udat.InvalidStateSRQInUse)
		if param := must(s.eps[0].Query()); param.SRQ != s.srq {
			t.Errorf("the endpoint says that its queue is %v", param.SRQ)
		}
		other := udattest.NewEndpoint(t, ia, nil)
		want(t, s.srq.PostRecv(slices.Repeat(one(s.Segment(t, 0, 8)), 3), 1), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, s.srq.PostRecv(one(other.Segment(t, 0, 8)), 1), udat.ErrProtectionViolation)
		for _, length := range []int{-1, 0, most.MaxRecvPerSRQ + 1} {
			want(t, s.srq.Resize(length), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		for _, watermark := range []int{-1, 5, math.MinInt} {
			want(t, s.srq.SetLowWatermark(watermark), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
	})
}

// post posts receives with cookies from first on until the queue is full, and returns the next
// cookie.
func (s *shared) post(t *testing.T, first uint64) uint64 {
	t.Helper()
	for ; ; first++ {
		err := s.srq.PostRecv(one(s.Segment(t, 0, 64)), first)
		if errors.Is(err, udat.ErrInsufficientResources) {
			return first
		}
		want(t, err)
	}
}

func (s *shared) receive(t *testing.T, sender *udattest.Endpoint, receives int) {
	t.Helper()
	for range receives {
		want(t, sender.PostSend(one(sender.Segment(t, 0, 8)), 1, 0))
		want(t, udattest.Expect(t, sender.Request, udat.EventDTOCompletion).Err())
		want(t, udattest.Expect(t, s.Recv, udat.EventDTOCompletion).Err())
	}
}

func TestSRQResize(t *testing.T) {
	forEachIAWithSRQ(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 8, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		if err := s.srq.Resize(16); err != nil {
			want(t, err, udat.ErrModelNotSupported)
			wantDetail(t, err)
			t.Log("not tested: the device cannot resize shared receive queues")
			return
		}
		s.post(t, 0)
		want(t, s.srq.Resize(8), udat.ErrInvalidState)
		s.receive(t, sender, 8)
		want(t, s.srq.Resize(8))
		if param := must(s.srq.Query()); param.Outstanding != 8 || param.Attr.MaxRecvDTOs != 8 {
			t.Errorf("a queue of length 8 has the parameters %+v", param)
		}
		s.receive(t, sender, 8)
	})
}

func TestSRQLowWatermark(t *testing.T) {
	forEachIAWithSRQ(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 8, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		wantLow := func(srq *udat.SRQ) {
			t.Helper()
			event := udattest.Expect(t, ia.AsyncEVD(), udat.EventSRQLowWatermark)
			if event.SRQ() != srq || event.Err() != nil || event.EP() != nil {
				t.Errorf("got %+v of %v, want that the queue %v is low", event, event.SRQ(), srq)
			}
		}
		s.post(t, 0)
		want(t, s.srq.SetLowWatermark(4))
		s.receive(t, sender, 4)
		udattest.NoEvent(t, ia.AsyncEVD())
		s.receive(t, sender, 1)
		wantLow(s.srq)
		if param := must(s.srq.Query()); param.Attr.LowWatermark != 4 || param.Attr.MaxRecvDTOs != 8 {
			t.Errorf("the queue says %+v", param)
		}

		low := must(udat.CreateSRQ(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: 1}))
		wantLow(low)
		want(t, low.Free())
	})
}
