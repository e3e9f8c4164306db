package udat_test

import (
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// What the library would accept and break on never gets there.
func TestCreateEPAttributes(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		most, _, err := ia.Query()
		want(t, err)
		good := e.Attr(t)
		for name, c := range map[string]struct {
			change func(*udat.EPAttr)
			err    error
		}{
			"service":             {func(a *udat.EPAttr) { a.ServiceType = 7 }, udat.ErrModelNotSupported},
			"qos":                 {func(a *udat.EPAttr) { a.QOS = 8 }, udat.ErrModelNotSupported},
			"message too large":   {func(a *udat.EPAttr) { a.MaxMessageSize = most.MaxMessageSize + 1 }, udat.ErrInvalidParameter},
			"RDMA too large":      {func(a *udat.EPAttr) { a.MaxRDMASize = most.MaxRDMASize + 1 }, udat.ErrInvalidParameter},
			"negative receives":   {func(a *udat.EPAttr) { a.MaxRecvDTOs = -1 }, udat.ErrInvalidParameter},
			"too many receives":   {func(a *udat.EPAttr) { a.MaxRecvDTOs = most.MaxDTOPerEP + 1 }, udat.ErrInvalidParameter},
			"negative requests":   {func(a *udat.EPAttr) { a.MaxRequestDTOs = -1 }, udat.ErrInvalidParameter},
			"receive segments":    {func(a *udat.EPAttr) { a.MaxRecvIOV = most.MaxIOVSegmentsPerDTO + 1 }, udat.ErrInvalidParameter},
			"request segments":    {func(a *udat.EPAttr) { a.MaxRequestIOV = -1 }, udat.ErrInvalidParameter},
			"reads in":            {func(a *udat.EPAttr) { a.MaxRDMAReadIn = -1 }, udat.ErrInvalidParameter},
			"reads out":           {func(a *udat.EPAttr) { a.MaxRDMAReadOut = most.MaxRDMAReadPerEPOut + 1 }, udat.ErrInvalidParameter},
			"read segments":       {func(a *udat.EPAttr) { a.MaxRDMAReadIOV = 9999 }, udat.ErrInvalidParameter},
			"suppressed receives": {func(a *udat.EPAttr) { a.RecvCompletionFlags = udat.CompletionSuppress }, udat.ErrInvalidParameter},
			"fenced requests":     {func(a *udat.EPAttr) { a.RequestCompletionFlags = udat.CompletionBarrierFence }, udat.ErrInvalidParameter},
		} {
			t.Run(name, func(t *testing.T) {
				attr := good
				c.change(&attr)
				if strings.HasSuffix(name, "too large") && attr.MaxMessageSize*attr.MaxRDMASize == 0 {
					return // the adapter takes all that there can be: soft-iWARP
				}
				ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, &attr)
				want(t, err, c.err)
				if ep != nil {
					t.Error("a failed call gives an endpoint")
				}
			})
		}
		// The refusals count for nothing, and an endpoint may exceed its EVDs.
		good.MaxRecvDTOs = 1000
		for range 3 {
			ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, &good)
			want(t, err)
			want(t, ep.Free())
		}
	})
}

func TestCreateEPArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		for name, c := range map[string]struct {
			pz                     *udat.PZ
			recv, request, connect *udat.EVD
			sub                    udat.ReturnSubtype
		}{
			"no zone":                   {nil, e.Recv, e.Request, e.Connect, udat.InvalidHandlePZ},
			"connect EVD for receives":  {e.PZ, e.Connect, e.Request, e.Connect, udat.InvalidHandleEVDRecv},
			"connect EVD for requests":  {e.PZ, e.Recv, e.Connect, e.Connect, udat.InvalidHandleEVDRequest},
			"receive EVD for connected": {e.PZ, e.Recv, e.Request, e.Recv, udat.InvalidHandleEVDConn},
		} {
			_, err := udat.CreateEP(ia, c.pz, c.recv, c.request, c.connect, nil)
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			want(t, err, udat.ErrInvalidHandle, c.sub)
		}

		// Objects of another adapter, though it is the same device.
		other := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		_, err := udat.CreateEP(ia, other.PZ, e.Recv, e.Request, e.Connect, nil)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		_, err = udat.CreateEP(ia, e.PZ, other.Recv, e.Request, e.Connect, nil)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)

		// Without EVDs it is an endpoint that cannot post or connect.
		ep, err := udat.CreateEP(ia, e.PZ, nil, nil, nil, nil)
		want(t, err)
		wantState(t, ep, udat.EPStateUnconnected)
		want(t, ep.PostRecv(nil, 0, 0), udat.ErrInvalidState, udat.InvalidStateEPNotReady)
		want(t, ep.Connect(udattest.Address(t, ia), 1, udattest.Patience, nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		// Modify adds what it lacks.
		attr := e.Attr(t)
		want(t, ep.Modify(udat.EPFieldRecvEVDHandle|udat.EPFieldMaxRecvDTOs|udat.EPFieldMaxRecvIOV, &udat.EPParam{RecvEVD: e.Recv, Attr: attr}))
		want(t, ep.PostRecv([]udat.Segment{e.Segment(t, 0, 8)}, 0, 0))
		want(t, ep.Free())
	})
}
