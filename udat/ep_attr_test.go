package udat_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// What the binding says the defaults are is what the library makes of none.
func TestDefaultEPAttr(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		native := nativeDefaults(t, e)
		if diff := cmp.Diff(native, ia.DefaultEPAttr()); diff != "" {
			t.Errorf("the library has other defaults (-library +binding):\n%s", diff)
		}
		if diff := cmp.Diff(native, e.Attr(t)); diff != "" {
			t.Errorf("an endpoint without attributes has others (-library +endpoint):\n%s", diff)
		}
		if none := (*udat.IA)(nil).DefaultEPAttr(); none != (udat.EPAttr{}) {
			t.Errorf("no adapter has the defaults %+v", none)
		}
	})
}

// allEPAttr are the attributes that can be modified.
const allEPAttr = udat.EPFieldMaxMessageSize | udat.EPFieldMaxRDMASize | udat.EPFieldRecvCompletionFlags | udat.EPFieldRequestCompletionFlags |
	udat.EPFieldMaxRecvDTOs | udat.EPFieldMaxRequestDTOs | udat.EPFieldMaxRecvIOV | udat.EPFieldMaxRequestIOV | udat.EPFieldMaxRDMAReadIn |
	udat.EPFieldMaxRDMAReadOut | udat.EPFieldMaxRDMAReadIOV | udat.EPFieldMaxRDMAWriteIOV

// Each field that is left out is a default, alone and beside others.
func TestZeroFieldsAreDefaults(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		two := 2
		if !takesSegments(t, ia, two) {
			two = 1
		}
		for name, change := range map[string]func(*udat.EPAttr){
			"none":           func(*udat.EPAttr) {},
			"receives":       func(a *udat.EPAttr) { a.MaxRecvDTOs = 24 },
			"requests":       func(a *udat.EPAttr) { a.MaxRequestDTOs = 3 },
			"segments":       func(a *udat.EPAttr) { a.MaxRecvIOV, a.MaxRequestIOV = 1, two },
			"sizes":          func(a *udat.EPAttr) { a.MaxMessageSize, a.MaxRDMASize = 100, 200 },
			"reads in":       func(a *udat.EPAttr) { a.MaxRDMAReadIn = 1 },
			"no reads":       func(a *udat.EPAttr) { a.NoRDMAReadIn, a.NoRDMAReadOut = true, true },
			"receive flags":  func(a *udat.EPAttr) { a.RecvCompletionFlags = udat.CompletionSolicitedWait },
			"request flags":  func(a *udat.EPAttr) { a.RequestCompletionFlags = udat.CompletionUnsignalled },
			"write segments": func(a *udat.EPAttr) { a.MaxRDMAWriteIOV = two },
		} {
			t.Run(name, func(t *testing.T) {
				var attr udat.EPAttr
				expected := ia.DefaultEPAttr()
				change(&attr)
				change(&expected)
				if expected.NoRDMAReadIn {
					expected.MaxRDMAReadIn, expected.MaxRDMAReadOut = 0, 0
				}
				given := attr
				e := udattest.NewEndpoint(t, ia, &attr)
				if diff := cmp.Diff(expected, e.Attr(t)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if attr != given {
					t.Errorf("the program's attributes were changed to %+v", attr)
				}
				// Modify takes zero fields for the defaults, too.
				want(t, e.Modify(allEPAttr, &udat.EPParam{}))
				if diff := cmp.Diff(ia.DefaultEPAttr(), e.Attr(t)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	})
}

// An endpoint without event dispatchers has defaults that suit that.
func TestDefaultsWithoutEVDs(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		expected := ia.DefaultEPAttr()
		expected.MaxRecvDTOs, expected.MaxRequestDTOs, expected.MaxRequestIOV = 0, 0, 0
		for _, attr := range []*udat.EPAttr{nil, {}} {
			ep := untilEnd(t, must(udat.CreateEP(ia, e.PZ, nil, nil, nil, attr)))
			if diff := cmp.Diff(expected, must(ep.Query()).Attr); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		differ := &udat.EPAttr{RecvCompletionFlags: udat.CompletionSolicitedWait}
		want(t, second(udat.CreateEP(ia, e.PZ, e.Recv, e.Recv, nil, differ)), udat.ErrInvalidParameter, udat.InvalidArg6)
		attr := ia.DefaultEPAttr()
		for _, err := range []error{
			second(udat.CreateEP(ia, e.PZ, nil, e.Request, nil, &attr)), second(udat.CreateEP(ia, e.PZ, e.Recv, nil, nil, &attr)),
		} {
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg6)
			wantDetail(t, err)
		}
	})
}

// Without RDMA reads none can be posted. A negative number does not ask for none.
func TestNoRDMAReads(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udat.EPAttr{NoRDMAReadIn: true, NoRDMAReadOut: true}
		e, peer := udattest.NewEndpoint(t, ia, &attr), udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, peer)
		remote := must(peer.Memory.RMRTriplet(0, 8))
		want(t, e.PostRDMARead(one(e.Segment(t, 0, 8)), 1, remote, 0), udat.ErrInvalidParameter)
		want(t, e.PostRDMAWrite(one(e.Segment(t, 0, 8)), 1, remote, 0))
		udattest.Completion(t, e.Request, 1)
		for _, n := range []int{-1, math.MinInt32 + 1, math.MinInt} {
			want(t, second(udat.CreateEP(ia, e.PZ, e.Recv, e.Request, nil, &udat.EPAttr{MaxRDMAReadOut: n})), udat.ErrInvalidParameter, udat.InvalidArg6)
		}
	})
}

// nativeDefaults returns the attributes of an endpoint that the library makes of the parts of e,
// without attributes.
func nativeDefaults(t *testing.T, e *udattest.Endpoint) udat.EPAttr {
	t.Helper()
	evd := func(evd *udat.EVD) cgo.EVDHandle { return cgo.EVDHandle(udat.NativeHandle(evd)) }
	handle, made := cgo.EPCreate(cgo.IAHandle(udat.NativeHandle(e.IA)), cgo.PZHandle(udat.NativeHandle(e.PZ)), evd(e.Recv), evd(e.Request), 0, nil)
	defer cgo.EPFree(handle)
	var param cgo.EPParam
	if queried := cgo.EPQuery(handle, cgo.EPFieldAll, &param); !made.OK() || !queried.OK() {
		t.Fatalf("the library returned %v, %v", made, queried)
	}
	a := &param.EPAttr
	return udat.EPAttr{
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		RecvCompletionFlags:    udat.CompletionFlags(a.RecvCompletionFlags),
		RequestCompletionFlags: udat.CompletionFlags(a.RequestCompletionFlags),
		MaxRecvDTOs:            int(a.MaxRecvDTOs),
		MaxRequestDTOs:         int(a.MaxRequestDTOs),
		MaxRecvIOV:             int(a.MaxRecvIOV),
		MaxRequestIOV:          int(a.MaxRequestIOV),
		MaxRDMAReadIn:          int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int(a.MaxRDMAReadOut),
		MaxRDMAReadIOV:         int(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int(a.MaxRDMAWriteIOV),
	}
}

// Limits are those of the latest Modify. The port of the native endpoint, which Modify replaces, is
// not shown as long as there is no connection that could have it.
func TestModify(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before := must(e.Query())
		want(t, e.Modify(udat.EPFieldMaxMessageSize|udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 8, MaxRecvDTOs: 5}}))
		for i := range uint64(5) {
			want(t, e.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
		}
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 5, 0), udat.ErrInsufficientResources, udat.ResourceMemory) // it takes effect
		after := must(e.Query())
		if a := after.Attr; a.MaxMessageSize != 8 || a.MaxRecvDTOs != 5 {
			t.Errorf("the attributes are %+v", a)
		}
		if before.LocalPortQual != after.LocalPortQual {
			t.Errorf("the port was %d and is %d", before.LocalPortQual, after.LocalPortQual)
		}
	})
}

// An endpoint gets its event dispatchers later, with the defaults for them, and can lose them
// again.
func TestModifyEVDs(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		both := *e
		both.EP = untilEnd(t, must(udat.CreateEP(ia, e.PZ, nil, nil, e.Connect, nil)))
		without := must(both.Query()).Attr
		for _, mask := range []udat.EPParamMask{udat.EPFieldRecvEVD, udat.EPFieldRequestEVD} {
			want(t, both.Modify(mask, &udat.EPParam{RecvEVD: e.Recv, RequestEVD: e.Request}))
		}
		if diff := cmp.Diff(ia.DefaultEPAttr(), must(both.Query()).Attr); diff != "" {
			t.Errorf("with event dispatchers (-want +got):\n%s", diff)
		}
		udattest.ConnectPair(t, udattest.Listen(t, ia), &both, peer)
		segments := []udat.Segment{both.Segment(t, 0, 8), both.Segment(t, 16, 8)}
		if !takesSegments(t, ia, 2) {
			segments = one(both.Segment(t, 0, 16))
		}
		want(t, peer.PostRecv(one(peer.Segment(t, 0, 16)), 1, 0))
		want(t, both.PostRecv(segments, 2, 0))
		want(t, both.PostSend(segments, 3, 0))
		udattest.Completion(t, both.Request, 3)
		udattest.Completion(t, peer.Recv, 1)
		want(t, peer.PostSend(one(peer.Segment(t, 0, 16)), 4, 0))
		udattest.Completion(t, both.Recv, 2)
		want(t, both.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, both.Connect, udat.EventConnectionDisconnected)
		want(t, both.Reset())
		want(t, both.Modify(udat.EPFieldRecvEVD|udat.EPFieldRequestEVD, &udat.EPParam{}))
		if diff := cmp.Diff(without, must(both.Query()).Attr); diff != "" {
			t.Errorf("without event dispatchers (-want +got):\n%s", diff)
		}
	})
}

// An endpoint whose receives have no room on another event dispatcher stays on its own, and gives
// the reason.
func TestModifyWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		short := createEVD(t, ia, 1, udat.EVDDTO)
		posted := qlen(t, short) + 1
		e := udattest.NewEndpoint(t, ia, &udat.EPAttr{MaxRecvDTOs: posted})
		for cookie := range posted {
			want(t, e.PostRecv(one(e.Segment(t, 0, 8)), uint64(cookie), 0))
		}
		err := e.Modify(udat.EPFieldRecvEVD, &udat.EPParam{RecvEVD: short})
		want(t, err, noRoom...)
		if err != nil && !strings.Contains(err.Error(), "posted to the endpoint") {
			t.Errorf("the error does not say which receives have no room: %v", err)
		}
		want(t, e.Reset())
		for cookie := range posted {
			wantCompletion(t, e.Recv, uint64(cookie), udat.DTOErrFlushed)
		}
	})
}

// No event of an endpoint is left behind on an event dispatcher that it uses no more.
func TestModifyUntaken(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, next := udattest.NewEndpoint(t, ia, nil), createEVD(t, ia, 8, udat.EVDDTO)
		peer := udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, udattest.Listen(t, ia), peer, e)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		want(t, e.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
		want(t, e.Reset())
		param := &udat.EPParam{RecvEVD: next}
		err := e.Modify(udat.EPFieldRecvEVD, param)
		want(t, err, udat.ErrInvalidState, udat.InvalidStateEVDInUse)
		if err != nil && !strings.Contains(err.Error(), "take them first") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if event := udattest.Wait(t, e.Recv); event.Cookie != 1 || event.EP() != e.EP {
			t.Errorf("got %+v", event)
		}
		between := must(udat.CreateEVD(ia, 8, nil, udat.EVDDTO))
		want(t, e.Modify(udat.EPFieldRecvEVD, &udat.EPParam{RecvEVD: between}))
		want(t, e.Modify(udat.EPFieldRecvEVD, param))
		if former, now := udat.Endpoints(between), udat.Endpoints(next); former != 0 || now != 1 {
			t.Errorf("the former event dispatcher has %d endpoints, the new one %d", former, now)
		}
		want(t, between.Free())
		want(t, e.EP.Free()) // before the event dispatcher that it uses now
		if n := udat.Endpoints(next) + udat.Endpoints(e.Request) + udat.Endpoints(e.Connect); n != 0 {
			t.Errorf("event dispatchers have the endpoint %d times after its end", n)
		}
	})
}

// A change that is refused leaves each event dispatcher as it was: which completion flags it takes,
// and which events come.
func TestModifyRefusedLeavesEVDs(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		shared := untilEnd(t, must(udat.CreateEP(ia, e.PZ, nil, e.Request, nil, nil)))
		other := udat.EPAttr{RecvCompletionFlags: udat.CompletionUnsignalled, RequestCompletionFlags: udat.CompletionUnsignalled}
		mask := udat.EPFieldRecvCompletionFlags | udat.EPFieldRequestCompletionFlags
		want(t, e.Modify(mask, &udat.EPParam{Attr: other}), udat.ErrInvalidParameter, udat.InvalidArg6)
		want(t, second(udat.CreateEP(ia, e.PZ, e.Recv, nil, nil, &other)), udat.ErrInvalidParameter, udat.InvalidArg6)
		want(t, must(udat.CreateEP(ia, e.PZ, e.Recv, nil, nil, nil)).Free())
		requests := createEVD(t, ia, 4, udat.EVDCR)
		rsp := must(udat.CreateRSP(ia, udattest.ConnQual(), e.EP, requests))
		want(t, e.EP.Free(), udat.ErrInvalidState)
		want(t, rsp.Free())
		want(t, e.EP.Connect(udattest.Address(t, ia), udattest.ConnQual(), udattest.Patience, nil))
		if event := udattest.Wait(t, e.Connect); event.EP() != e.EP {
			t.Errorf("got %+v", event)
		}
		want(t, shared.Free())
		want(t, e.Reset())
		want(t, e.Modify(mask, &udat.EPParam{Attr: other}))
	})
}

// An event that is taken while the endpoint cannot be freed is not lost.
func TestEventBesideRefusedFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, requests := udattest.NewEndpoint(t, ia, nil), createEVD(t, ia, 4, udat.EVDCR)
		for range 50 {
			want(t, e.EP.Connect(udattest.Address(t, ia), udattest.ConnQual(), udattest.Patience, nil))
			awaitState(t, e.EP, udat.EPStateDisconnected)
			want(t, e.Reset()) // the event waits
			rsp := must(udat.CreateRSP(ia, udattest.ConnQual(), e.EP, requests))
			stop := beside(func() error {
				if err := e.EP.Free(); !errors.Is(err, udat.ErrInvalidState) {
					return fmt.Errorf("a reserved endpoint is freed: %v", err)
				}
				return nil
			})
			udattest.Wait(t, e.Connect)
			want(t, receive(t, stop()))
			want(t, rsp.Free())
		}
	})
}
