package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Limits are those of the latest Modify. The port of the native endpoint, which Modify replaces, is not shown as long as
// there is no connection that could have it.
func TestModify(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before := must(e.Query())
		want(t, e.Modify(udat.EPFieldMaxMessageSize|udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 8, MaxRecvDTOs: 5}}))
		want(t, e.PostSend(one(e.Segment(t, 0, 9)), 1, 0), udat.InvalidArg3) // it takes effect
		after := must(e.Query())
		if before.LocalPortQual != after.LocalPortQual {
			t.Errorf("the port was %d and is %d", before.LocalPortQual, after.LocalPortQual)
		}
	})
}
