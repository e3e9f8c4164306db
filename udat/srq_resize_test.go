package udat_test

import (
	"errors"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// post posts receives with cookies from first on until the queue is full, and returns the next cookie.
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
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 8, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		if err := s.srq.Resize(16); err != nil {
			want(t, err, udat.ErrModelNotSupported) // soft-iWARP
			return
		}
		s.post(t, 0)
		want(t, s.srq.Resize(8), udat.ErrInvalidState)
		s.receive(t, sender, 8)
		want(t, s.srq.Resize(8))
		param := must(s.srq.Query())
		if param.Outstanding != 8 || param.Attr.MaxRecvDTOs != 8 {
			t.Errorf("a queue of length 8 has the parameters %+v", param)
		}
		s.receive(t, sender, 8)
	})
}

func TestSRQLowWatermark(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 8, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		wantLow := func(srq *udat.SRQ) {
			t.Helper()
			event := udattest.Expect(t, ia.AsyncEVD(), udat.EventAsyncErrorProviderInternalError)
			if event.LowSRQ() != srq || event.Err() != nil || event.EP() != nil {
				t.Errorf("got %+v of %v, want that the queue %v is low", event, event.LowSRQ(), srq)
			}
		}
		s.post(t, 0)
		want(t, s.srq.SetLowWatermark(4))
		s.receive(t, sender, 4)
		wantNoEvent(t, ia.AsyncEVD())
		s.receive(t, sender, 1)
		wantLow(s.srq)
		param := must(s.srq.Query())
		if param.Attr.LowWatermark != 4 || param.Attr.MaxRecvDTOs != 8 {
			t.Errorf("the queue says %+v", param)
		}

		low := must(udat.CreateSRQ(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: 1}))
		wantLow(low)
		want(t, low.Free())
	})
}
