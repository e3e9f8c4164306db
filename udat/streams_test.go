package udat_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// All streams on an EVD have the same completion flags.
func TestCompletionFlagsPerEVD(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		create := func(recv, request *udat.EVD, recvFlags, requestFlags udat.CompletionFlags) error {
			attr := udattest.DefaultAttr(t, ia)
			attr.RecvCompletionFlags, attr.RequestCompletionFlags = recvFlags, requestFlags
			ep, err := udat.CreateEP(ia, e.PZ, recv, request, e.Connect, &attr)
			if err == nil {
				want(t, ep.Free())
			}
			return err
		}
		const (
			standard    = udat.CompletionEVDThreshold
			solicited   = udat.CompletionSolicitedWait
			unsignalled = udat.CompletionUnsignalled
		)
		mismatch := []error{udat.ErrInvalidParameter, udat.InvalidArg6}
		want(t, create(e.Recv, e.Request, standard, standard))
		want(t, create(e.Recv, e.Request, 0, 0))
		want(t, create(e.Recv, e.Request, solicited, standard), mismatch...)
		want(t, create(e.Recv, e.Request, standard, unsignalled), mismatch...)
		want(t, create(e.Request, e.Recv, unsignalled, standard), mismatch...)

		alone, err := udat.CreateEVD(ia, 64, udat.EVDDTO)
		want(t, err)
		want(t, create(alone, alone, unsignalled, unsignalled))
		want(t, create(alone, alone, solicited, standard), mismatch...)
		want(t, create(alone, alone, solicited, solicited), mismatch...)
		want(t, create(alone, e.Request, solicited, standard))
		want(t, create(alone, e.Request, solicited|standard, standard), mismatch...)

		// An EVD that takes other events too allows only the usual flags.
		for _, other := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDCR} {
			mixed, err := udat.CreateEVD(ia, 64, udat.EVDDTO|other)
			want(t, err)
			want(t, create(mixed, mixed, standard, 0))
			want(t, create(mixed, mixed, unsignalled, unsignalled), mismatch...)
			want(t, create(mixed, e.Request, solicited, standard), mismatch...)
			want(t, create(e.Recv, mixed, standard, unsignalled), mismatch...)
			want(t, mixed.Free())
		}

		// Modify keeps to it, and changes nothing when it cannot.
		modify := func(flags udat.CompletionFlags) error {
			return e.EP.Modify(udat.EPFieldRecvCompletionFlags, &udat.EPParam{Attr: udat.EPAttr{RecvCompletionFlags: flags}})
		}
		want(t, modify(unsignalled))
		want(t, create(e.Recv, e.Request, standard, standard), mismatch...)
		want(t, create(e.Recv, e.Request, unsignalled, standard))
		want(t, e.EP.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: e.Request}), mismatch...)
		want(t, create(e.Recv, e.Request, unsignalled, standard))
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		want(t, modify(standard), udat.ErrInvalidState)
		want(t, alone.Free())
	})
}

// Nobody else gets the room of what is outstanding on an endpoint that is replaced
// meanwhile.
func TestModifyKeepsRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		evd := createEVD(t, ia, 16, udat.EVDDTO|udat.EVDSoftware)
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRecvDTOs, attr.MaxRequestDTOs = 4, 4
		ep, err := udat.CreateEP(ia, e.PZ, evd, evd, e.Connect, &attr)
		want(t, err)
		for i := range uint64(3) {
			want(t, ep.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
		}
		posted := 0
		for err == nil {
			err = evd.PostSE(0)
			posted++
		}
		want(t, err, udat.ErrQueueFull)
		if n := qlen(t, evd) - 3; posted-1 != n {
			t.Errorf("%d software events were posted, there is room for %d", posted-1, n)
		}
		stop := beside(func() error {
			if err := evd.PostSE(0); !errors.Is(err, udat.ErrQueueFull) {
				return fmt.Errorf("posting to a full event dispatcher gives %v", err)
			}
			return nil
		})
		for range 20 {
			want(t, ep.Modify(udat.EPFieldMaxMessageSize, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 64}}))
		}
		want(t, receive(t, stop()))

		// Where there is no room for what is outstanding, it does not move.
		small := createEVD(t, ia, 3, udat.EVDDTO) // as many as are outstanding
		attr.MaxRecvDTOs = qlen(t, small) + 1
		other, err := udat.CreateEP(ia, e.PZ, small, e.Request, e.Connect, &attr)
		want(t, err)
		for err == nil {
			err = other.PostRecv(one(e.Segment(t, 0, 8)), 9, 0)
		}
		want(t, err, noRoom...)
		want(t, ep.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: small}), noRoom...)
		want(t, evd.PostSE(0), udat.ErrQueueFull)
		want(t, other.Free())
		want(t, ep.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: small}))
		for range 3 {
			want(t, evd.PostSE(0))
		}
		want(t, evd.PostSE(0), udat.ErrQueueFull)
		want(t, ep.Free())
		want(t, evd.Free())
	})
}
