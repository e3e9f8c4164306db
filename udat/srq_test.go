package udat_test

import (
	"encoding/binary"
	"errors"
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
	var err error
	s.srq, err = udat.CreateSRQ(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 2})
	want(t, err)
	t.Cleanup(func() {
		if err := s.srq.Free(); !errors.Is(err, udat.ErrClosed) {
			want(t, err)
		}
	})
	for range endpoints {
		ep, err := udat.CreateEPWithSRQ(ia, s.PZ, s.Recv, s.Request, s.Connect, s.srq, nil)
		want(t, err)
		s.eps = append(s.eps, ep)
		t.Cleanup(func() {
			if err := ep.Free(); !errors.Is(err, udat.ErrClosed) {
				want(t, err)
			}
		})
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

func TestSRQ(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const receives, clients, rounds = 8, 3, 5
		s := newShared(t, ia, receives, clients)
		listener := udattest.Listen(t, ia)
		var senders []*udattest.Endpoint
		for _, ep := range s.eps {
			senders = append(senders, s.client(t, listener, ep))
		}
		segment := func(i uint64) udat.Segment { return s.Segment(t, int(i)*64, 64) }
		for i := range uint64(receives) {
			want(t, s.srq.PostRecv(one(segment(i)), i))
		}
		want(t, s.srq.PostRecv(one(segment(0)), 99), udat.ErrInsufficientResources)
		param, err := s.srq.Query()
		want(t, err)
		if param.Outstanding != receives || param.IA != ia || param.PZ != s.PZ || param.Attr.MaxRecvDTOs != receives {
			t.Errorf("the queue says %+v", param)
		}
		got := make(map[uint64]int)
		for round := range uint64(rounds) {
			for i, sender := range senders {
				message := round<<8 | uint64(i)
				binary.BigEndian.PutUint64(sender.Memory.Bytes(), message)
				want(t, sender.PostSend(one(sender.Segment(t, 0, 8)), message, 0))
				want(t, udattest.Expect(t, sender.Request, udat.EventDTOCompletion).Err())
			}
			for range senders {
				event := udattest.Expect(t, s.Recv, udat.EventDTOCompletion)
				want(t, event.Err())
				if event.Operation != udat.DTOReceive || event.Length != 8 || event.Cookie >= receives {
					t.Fatalf("a receive completed as %+v", event)
				}
				message := binary.BigEndian.Uint64(s.Memory.Bytes()[event.Cookie*64:])
				if want := s.eps[message&0xff]; event.EP() != want {
					t.Errorf("message %#x completes for %v, want %v", message, event.EP(), want)
				}
				got[message]++
				want(t, s.srq.PostRecv(one(segment(event.Cookie)), event.Cookie))
			}
		}
		for round := range uint64(rounds) {
			for i := range uint64(clients) {
				if n := got[round<<8|i]; n != 1 {
					t.Errorf("message %d of client %d arrived %d times", round, i, n)
				}
			}
		}

		// Freeing some endpoints leaves the receives to the others.
		want(t, s.eps[0].Free())
		want(t, s.eps[1].Free())
		want(t, senders[2].PostSend(one(senders[2].Segment(t, 0, 8)), 1, 0))
		if event := udattest.Expect(t, s.Recv, udat.EventDTOCompletion); event.Err() != nil || event.EP() != s.eps[2] {
			t.Errorf("a receive completed as %+v for %v", event, event.EP())
		}
		want(t, s.srq.Free(), udat.ErrInvalidState, udat.InvalidStateSRQInUse)
		want(t, s.PZ.Free(), udat.ErrInvalidState, udat.InvalidStatePZInUse)
		want(t, s.eps[2].Free())
		want(t, s.srq.Free())
		want(t, s.srq.Free(), udat.ErrClosed)
		want(t, s.srq.PostRecv(one(segment(0)), 1), udat.ErrClosed)
		want(t, s.srq.Resize(1), udat.ErrClosed)
		_, err = s.srq.Query()
		want(t, err, udat.ErrClosed)
	})
}

// Receives of a shared queue take room on each receive EVD of its endpoints.
func TestSRQWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 100, 0)
		short, shorter := createEVD(t, ia, 32, udat.EVDDTO), createEVD(t, ia, 1, udat.EVDDTO)
		ep, err := udat.CreateEPWithSRQ(ia, s.PZ, short, s.Request, s.Connect, s.srq, nil)
		want(t, err)
		for i := range qlen(t, short) {
			want(t, s.srq.PostRecv(one(s.Segment(t, 0, 8)), uint64(i)))
		}
		want(t, s.srq.PostRecv(one(s.Segment(t, 0, 8)), 99), noRoom...)
		_, err = udat.CreateEPWithSRQ(ia, s.PZ, shorter, s.Request, s.Connect, s.srq, nil)
		want(t, err, noRoom...)
		wantDetail(t, err)
		want(t, ep.Free())
	})
}

func TestSRQRefuses(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 4, 1)
		ep := s.eps[0]
		create := func(ia *udat.IA, pz *udat.PZ, attr udat.SRQAttr) error {
			_, err := udat.CreateSRQ(ia, pz, attr)
			return err
		}
		want(t, create(ia, s.PZ, udat.SRQAttr{MaxRecvIOV: 1}), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, create(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 1}), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, create(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 1 << 30, MaxRecvIOV: 1}), udat.ErrInvalidParameter, udat.InvalidArg3)
		for _, watermark := range []int{-1, 2} {
			want(t, create(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1, LowWatermark: watermark}), udat.ErrInvalidParameter, udat.InvalidArg3)
		}
		want(t, create(ia, nil, udat.SRQAttr{}), udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		want(t, create(nil, s.PZ, udat.SRQAttr{}), udat.ErrInvalidHandle, udat.InvalidHandleIA)
		other := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		want(t, create(ia, other.PZ, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1}), udat.ErrInvalidHandle, udat.InvalidHandlePZ)

		endpoint := func(recv, request, connect *udat.EVD, srq *udat.SRQ) error {
			_, err := udat.CreateEPWithSRQ(ia, s.PZ, recv, request, connect, srq, nil)
			return err
		}
		want(t, endpoint(s.Recv, s.Request, s.Connect, nil), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		want(t, endpoint(s.Recv, s.Request, s.Connect, &udat.SRQ{}), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		want(t, endpoint(nil, s.Request, s.Connect, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
		want(t, endpoint(s.Recv, nil, s.Connect, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDRequest)
		want(t, endpoint(s.Recv, s.Request, nil, s.srq), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		_, err := udat.CreateEPWithSRQ(other.IA, other.PZ, other.Recv, other.Request, other.Connect, s.srq, nil)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleSRQ)

		want(t, ep.PostRecv(one(s.Segment(t, 0, 8)), 1, 0), udat.ErrInvalidState, udat.InvalidStateSRQInUse)
		param, err := ep.Query()
		want(t, err)
		if param.SRQ != s.srq {
			t.Errorf("the endpoint says that its queue is %v", param.SRQ)
		}
		want(t, s.srq.PostRecv([]udat.Segment{{}, {}, {}}, 1), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, s.srq.PostRecv(one(other.Segment(t, 0, 8)), 1), udat.ErrProtectionViolation)
		for _, length := range []int{-1, 0, 1 << 30} {
			want(t, s.srq.Resize(length), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		for _, watermark := range []int{-1, 5} {
			want(t, s.srq.SetLowWatermark(watermark), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		for _, srq := range []*udat.SRQ{nil, {}} {
			want(t, srq.Resize(1), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
			want(t, srq.SetLowWatermark(1), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		}
		want(t, (*udat.SRQ)(nil).PostRecv(nil, 1), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		want(t, (&udat.SRQ{}).PostRecv(nil, 1), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
		want(t, (&udat.SRQ{}).Free(), udat.ErrInvalidHandle, udat.InvalidHandleSRQ)
	})
}
