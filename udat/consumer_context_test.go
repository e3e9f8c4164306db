package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestConsumerContextAndHandleType(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		l := udattest.Listen(t, ia)
		s := newShared(t, ia, 2, 0)
		reservedEP, rsp, requests, qual := reserve(t, ia)
		want(t, e.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
		cr := udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
		cno := must(udat.CreateCNO(ia, nil))
		for _, o := range []struct {
			object udat.Object
			kind   udat.HandleType
		}{
			{ia, udat.HandleTypeIA}, {e.PZ, udat.HandleTypePZ}, {e.Recv, udat.HandleTypeEVD}, {e.EP, udat.HandleTypeEP},
			{e.Memory, udat.HandleTypeLMR}, {l.PSP, udat.HandleTypePSP}, {rsp, udat.HandleTypeRSP}, {cr, udat.HandleTypeCR},
			{s.srq, udat.HandleTypeSRQ}, {cno, udat.HandleTypeCNO}, {reservedEP.EP, udat.HandleTypeEP},
		} {
			kind, err := udat.GetHandleType(o.object)
			want(t, err)
			if kind != o.kind {
				t.Errorf("%T says that it is a %v", o.object, kind)
			}
			context, err := udat.GetConsumerContext(o.object)
			want(t, err)
			if context != nil {
				t.Errorf("a new %T has the context %v", o.object, context)
			}
			want(t, udat.SetConsumerContext(o.object, o.kind))
			context, err = udat.GetConsumerContext(o.object)
			want(t, err)
			if context != o.kind {
				t.Errorf("%T has the context %v", o.object, context)
			}
		}
		want(t, cno.Free())
		want(t, udat.SetConsumerContext(cno, 1), udat.ErrClosed)
		want(t, second(udat.GetConsumerContext(cno)), udat.ErrClosed)
		want(t, second(udat.GetHandleType(cno)), udat.ErrClosed)
		want(t, udat.SetConsumerContext(nil, 1), udat.ErrInvalidHandle)
		want(t, udat.SetConsumerContext((*udat.EP)(nil), 1), udat.ErrInvalidHandle)
		want(t, udat.SetConsumerContext(&udat.EP{}, 1), udat.ErrInvalidHandle)
	})
}
