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
			kind, before := must(udat.GetHandleType(o.object)), must(udat.GetConsumerContext(o.object))
			want(t, udat.SetConsumerContext(o.object, o.kind))
			if after := must(udat.GetConsumerContext(o.object)); kind != o.kind || before != nil || after != o.kind {
				t.Errorf("%T says that it is a %v, and has the context %v, and then %v", o.object, kind, before, after)
			}
		}
		want(t, udat.SetConsumerContext(nil, 1), udat.ErrInvalidHandle)
		want(t, cno.Free())
	})
}
