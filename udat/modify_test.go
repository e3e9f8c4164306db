package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The port of the native endpoint, which Modify replaces, is not shown as long as
// there is no connection that could have it.
func TestModifyLeavesPort(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before := must(e.Query())
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 5}}))
		after := must(e.Query())
		if before.LocalPortQual != after.LocalPortQual {
			t.Errorf("the port was %d and is %d", before.LocalPortQual, after.LocalPortQual)
		}
	})
}
