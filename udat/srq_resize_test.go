package udat_test

import (
	"errors"
	"sync"
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
			if posted := s.post(t, 0); posted != 8 {
				t.Errorf("the queue takes %d receives after a resize that has failed, want 8", posted)
			}
			s.receive(t, sender, 8)
			return
		}
		for _, length := range []int{17, 40, 5, 300, 1, 8} {
			s.post(t, 0)
			param, err := s.srq.Query()
			want(t, err)
			if param.Outstanding > length {
				want(t, s.srq.Resize(length), udat.ErrInvalidState)
				s.receive(t, sender, param.Outstanding-length)
			}
			want(t, s.srq.Resize(length))
			s.post(t, 0)
			param, err = s.srq.Query()
			want(t, err)
			if param.Outstanding != length || param.Attr.MaxRecvDTOs != length {
				t.Errorf("a queue of length %d has the parameters %+v", length, param)
			}
		}
		s.receive(t, sender, 8)
	})
}

// A queue that grows beyond the EVD of its endpoints loses no completion: its receives take room there then.
func TestSRQResizeBeyondRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 8, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		param, err := s.Recv.Query()
		want(t, err)
		length := param.QLen + 50
		if err := s.srq.Resize(length); err != nil {
			want(t, err, udat.ErrModelNotSupported)
			return
		}
		posted := s.post(t, 0)
		if posted < 8 || posted >= uint64(length) {
			t.Errorf("%d receives are posted, want as many as the event dispatcher has room for", posted)
		}
		for range posted {
			want(t, sender.PostSend(one(sender.Segment(t, 0, 8)), 1, 0))
			want(t, udattest.Expect(t, sender.Request, udat.EventDTOCompletion).Err())
		}
		for cookie := range posted {
			wantCompletion(t, s.Recv, cookie, udat.DTOSuccess)
		}
	})
}

// A queue is resized while receives are posted and complete, and endpoints come and go.
func TestSRQResizeConcurrently(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const receives = 8
		s := newShared(t, ia, receives, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		s.post(t, 0)
		ended := make(chan struct{})
		var others sync.WaitGroup
		repeat := func(f func(i int) error) {
			others.Add(1)
			go func() {
				defer others.Done()
				for i := 0; ; i++ {
					select {
					case <-ended:
						return
					default:
					}
					if err := f(i); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		repeat(func(i int) error {
			if err := s.srq.Resize(receives + i*23%100); !errors.Is(err, udat.ErrModelNotSupported) {
				return err
			}
			return nil
		})
		repeat(func(int) error {
			ep, err := udat.CreateEPWithSRQ(ia, s.PZ, s.Recv, s.Request, s.Connect, s.srq, nil)
			if err != nil {
				return err
			}
			return ep.Free()
		})
		for range 300 {
			s.receive(t, sender, 1)
			want(t, s.srq.PostRecv(one(s.Segment(t, 0, 64)), 1))
		}
		close(ended)
		others.Wait()
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
		s.receive(t, sender, 1)
		wantNoEvent(t, ia.AsyncEVD())
		want(t, s.srq.SetLowWatermark(6))
		wantLow(s.srq)
		want(t, s.srq.Resize(5), udat.ErrInvalidState)
		param, err := s.srq.Query()
		want(t, err)
		if param.Attr.LowWatermark != 6 || param.Attr.MaxRecvDTOs != 8 {
			t.Errorf("the queue says %+v", param)
		}
		want(t, s.srq.SetLowWatermark(0))
		s.receive(t, sender, 2)
		wantNoEvent(t, ia.AsyncEVD())

		low, err := udat.CreateSRQ(ia, s.PZ, udat.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: 1})
		want(t, err)
		wantLow(low)
		want(t, low.Free())
	})
}
