package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var modifyClauses = []requirement{
	{"Interface adapter: never.", neverModified(udat.EPParamMask(cgo.EPFieldIAHandle))},
	{"State: never.", neverModified(udat.EPParamMask(cgo.EPFieldEPState))},
	{"Local address: never.", neverModified(udat.EPParamMask(cgo.EPFieldLocalIAAddressPtr))},
	{"Local port qualifier: never.", neverModified(udat.EPParamMask(cgo.EPFieldLocalPortQual))},
	{"Remote address: never.", neverModified(udat.EPParamMask(cgo.EPFieldRemoteIAAddressPtr))},
	{"Remote port qualifier: never.", neverModified(udat.EPParamMask(cgo.EPFieldRemotePortQual))},
	{"Protection zone: in UNCONNECTED and TENTATIVE_CONNECTION_PENDING.", zoneModified},
	{"Posted receives outside a new protection zone fail with a protection violation.", receivesOutsideZone},
	{"Receive EVD: in the early states.", modifiedEarly(udat.EPFieldRecvEVD)},
	{"Request EVD: in the early states.", modifiedEarly(udat.EPFieldRequestEVD)},
	{"Connect EVD: in the early states.", modifiedEarly(udat.EPFieldConnectEVD)},
	{"Service type: in the early states.", neverShown("reliable connections are the only service type there is", "a provider with a second service type that works")},
	{"Maximum message size: in the early states.", modifiedEarly(udat.EPFieldMaxMessageSize)},
	{"Maximum RDMA size: in the early states.", modifiedEarly(udat.EPFieldMaxRDMASize)},
	{"Quality of service: in the early states.", neverShown("best effort is the only quality of service there is", "a provider with a second quality of service")},
	{"Receive completion flags: in the early states before receives are posted; UNSIGNALLED, SOLICITED_WAIT or threshold, neither SUPPRESS nor BARRIER_FENCE.", receiveFlagsModified},
	{"Request completion flags: in the early states; UNSIGNALLED or threshold.", requestFlagsModified},
	{"Maximum receives: in the early states.", modifiedEarly(udat.EPFieldMaxRecvDTOs)},
	{"Maximum requests: in the early states.", modifiedEarly(udat.EPFieldMaxRequestDTOs)},
	{"Maximum segments of a receive: in the early states.", segmentsModified(udat.EPFieldMaxRecvIOV)},
	{"Maximum segments of a request: in the early states.", segmentsModified(udat.EPFieldMaxRequestIOV)},
	{"Maximum RDMA reads of the peer: in the early states.", modifiedEarly(udat.EPFieldMaxRDMAReadIn)},
	{"Maximum RDMA reads of its own: in the early states.", modifiedEarly(udat.EPFieldMaxRDMAReadOut)},
	{"Transport-specific attributes and their number: in UNCONNECTED.", specificAttributes(udat.EPParamMask(cgo.EPFieldNumTransportAttr), udat.EPParamMask(cgo.EPFieldTransportSpecificAttr), "transport")},
	{"Provider-specific attributes and their number: in UNCONNECTED.", specificAttributes(udat.EPParamMask(cgo.EPFieldNumProviderAttr), udat.EPParamMask(cgo.EPFieldProviderSpecificAttr), "provider")},
	{"A field outside its states is an invalid state and changes nothing.", outsideItsStates},
	{"Unknown bits in the mask, and values that are invalid or not supported, are invalid parameters and change nothing.", invalidValues},
	{"An invalid endpoint is an invalid handle.", invalidHandle(
		func(ep *udat.EP) error {
			return ep.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}})
		},
		func(ep *udat.EP) error { return ep.Modify(0, &udat.EPParam{}) },
	)},
	{"After success, query has the new value and the endpoint behaves by it.", behavesByNewValues},
	{"Several fields change together, or none does.", togetherOrNot},
}

// field is a parameter of an endpoint that can be modified. set changes it to another value in each round.
type field struct {
	mask udat.EPParamMask
	set  func(p *udat.EPParam, s *spares, round int)
	get  func(p *udat.EPParam) any
}

// spares are replacements for the objects that an endpoint uses.
type spares struct {
	own, other *udattest.Endpoint
}

// of returns the endpoint whose objects a round uses.
func (s *spares) of(round int) *udattest.Endpoint {
	return []*udattest.Endpoint{s.other, s.own}[round%2]
}

// number is a field of the attributes. The rounds use its values in turn.
func number[T comparable](mask udat.EPParamMask, at func(*udat.EPAttr) *T, values ...T) field {
	return object(mask, func(p *udat.EPParam) *T { return at(&p.Attr) }, func(_ *spares, round int) T { return values[round%len(values)] })
}

func object[T comparable](mask udat.EPParamMask, at func(*udat.EPParam) *T, value func(s *spares, round int) T) field {
	return field{
		mask: mask,
		set:  func(p *udat.EPParam, s *spares, round int) { *at(p) = value(s, round) },
		get:  func(p *udat.EPParam) any { return *at(p) },
	}
}

var fields = []field{
	object(udat.EPFieldRecvEVD, func(p *udat.EPParam) **udat.EVD { return &p.RecvEVD },
		func(s *spares, round int) *udat.EVD { return s.of(round).Recv }),
	object(udat.EPFieldRequestEVD, func(p *udat.EPParam) **udat.EVD { return &p.RequestEVD },
		func(s *spares, round int) *udat.EVD { return s.of(round).Request }),
	object(udat.EPFieldConnectEVD, func(p *udat.EPParam) **udat.EVD { return &p.ConnectEVD },
		func(s *spares, round int) *udat.EVD { return s.of(round).Connect }),
	number(udat.EPFieldMaxMessageSize, func(a *udat.EPAttr) *uint32 { return &a.MaxMessageSize }, 4096, 1024, 8192),
	number(udat.EPFieldMaxRDMASize, func(a *udat.EPAttr) *uint32 { return &a.MaxRDMASize }, 4096, 1024, 8192),
	number(udat.EPFieldMaxRecvDTOs, func(a *udat.EPAttr) *int { return &a.MaxRecvDTOs }, 9, 20, 5),
	number(udat.EPFieldMaxRequestDTOs, func(a *udat.EPAttr) *int { return &a.MaxRequestDTOs }, 9, 20, 5),
	number(udat.EPFieldMaxRecvIOV, func(a *udat.EPAttr) *int { return &a.MaxRecvIOV }, 2, 3, 1),
	number(udat.EPFieldMaxRequestIOV, func(a *udat.EPAttr) *int { return &a.MaxRequestIOV }, 2, 3, 1),
	number(udat.EPFieldMaxRDMAReadIn, func(a *udat.EPAttr) *int { return &a.MaxRDMAReadIn }, 2, 3, 1),
	number(udat.EPFieldMaxRDMAReadOut, func(a *udat.EPAttr) *int { return &a.MaxRDMAReadOut }, 2, 3, 1),
}

var (
	receiveFlags = number(udat.EPFieldRecvCompletionFlags,
		func(a *udat.EPAttr) *udat.CompletionFlags { return &a.RecvCompletionFlags }, unsignalled, solicited, threshold)
	requestFlags = number(udat.EPFieldRequestCompletionFlags,
		func(a *udat.EPAttr) *udat.CompletionFlags { return &a.RequestCompletionFlags }, unsignalled, threshold)
	protectionZone = object(udat.EPFieldPZ, func(p *udat.EPParam) **udat.PZ { return &p.PZ },
		func(s *spares, _ int) *udat.PZ { return s.other.PZ })
)

// early returns the number of the round for an early state.
func early(state udat.EPState) (round int, ok bool) {
	round = slices.Index([]udat.EPState{udat.EPStateUnconnected, udat.EPStateReserved, udat.EPStatePassiveConnectionPending}, state)
	return round, round >= 0
}

// refusedUnchanged fails the trial if Modify does not fail as it should, or has still changed something.
func (t *trial) refusedUnchanged(e *udattest.Endpoint, mask udat.EPParamMask, param *udat.EPParam, targets ...error) {
	t.Helper()
	before := t.query(e)
	err := e.Modify(mask, param)
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("modifying the fields 0x%x in %v: the error is %v, want one that matches %v", uint64(mask), before.State, err, target)
		}
	}
	if changed := changes(before, t.query(e)); changed != "" {
		t.Errorf("modifying the fields 0x%x in %v was refused and has changed %s", uint64(mask), before.State, changed)
	}
}

// modify changes a field. It fails the trial unless query has the new value, and nothing else has changed.
func (t *trial) modify(e *udattest.Endpoint, f field, s *spares, round int) {
	t.Helper()
	before := t.query(e)
	want := before
	f.set(&want, s, round)
	if f.get(&want) == f.get(&before) {
		t.Errorf("the trial changes nothing: the field 0x%x has the value %v already", uint64(f.mask), f.get(&before))
	}
	t.must(e.Modify(f.mask, &want))
	if wrong := changes(want, t.query(e)); wrong != "" {
		t.Errorf("after modifying the field 0x%x in %v, other changes than requested: %s", uint64(f.mask), before.State, wrong)
	}
}

// changes names the parameters that differ, with their values.
func changes(before, after udat.EPParam) string {
	var list []string
	compare := func(x, y reflect.Value) {
		for i := range x.NumField() {
			if from, to := x.Field(i).Interface(), y.Field(i).Interface(); from != to {
				list = append(list, fmt.Sprintf("%s from %v to %v", x.Type().Field(i).Name, from, to))
			}
		}
	}
	compare(reflect.ValueOf(before.Attr), reflect.ValueOf(after.Attr))
	before.Attr, after.Attr = udat.EPAttr{}, udat.EPAttr{}
	compare(reflect.ValueOf(before), reflect.ValueOf(after))
	return strings.Join(list, ", ")
}

func neverModified(mask udat.EPParamMask) func(*trial) {
	return func(t *trial) {
		t.walkAll(func(e *udattest.Endpoint, _ udat.EPState) {
			t.refusedUnchanged(e, mask, &udat.EPParam{}, udat.ErrInvalidParameter, udat.InvalidArg2)
		})
	}
}

// modifiedEarly shows that a field can change in the early states and in no other state.
func modifiedEarly(mask udat.EPParamMask) func(*trial) {
	return func(t *trial) {
		t.modifiedEarly(fields[slices.IndexFunc(fields, func(f field) bool { return f.mask == mask })])
	}
}

// segmentsModified is modifiedEarly for the numbers of segments.
func segmentsModified(mask udat.EPParamMask) func(*trial) {
	return func(t *trial) {
		if t.segments(3) < 3 {
			t.notShown("the device takes too few segments for the number to change", "a device that takes 3")
			return
		}
		modifiedEarly(mask)(t)
	}
}

// segments returns how many segments operations can have, n at most.
func (t *trial) segments(n int) int {
	t.Helper()
	return min(n, t.limits().MaxIOVSegmentsPerDTO)
}

func (t *trial) modifiedEarly(f field) {
	t.Helper()
	s := &spares{other: t.endpoint()}
	t.walk(func(e *udattest.Endpoint, state udat.EPState) {
		if s.own == nil {
			own := *e // with its first EVDs
			s.own = &own
		}
		round, ok := early(state)
		if ok {
			t.modify(e, f, s, round)
			return
		}
		param := t.query(e)
		f.set(&param, s, 0)
		t.refusedUnchanged(e, f.mask, &param, udat.ErrInvalidState)
	})
	t.remark(noTentative)
}

func zoneModified(t *trial) {
	s := &spares{other: t.endpoint()}
	t.walk(func(e *udattest.Endpoint, state udat.EPState) {
		if state != udat.EPStateUnconnected {
			t.refusedUnchanged(e, udat.EPFieldPZ, &udat.EPParam{PZ: s.other.PZ}, udat.ErrInvalidState)
			return
		}
		t.modify(e, protectionZone, s, 0)
		// Nothing uses the old zone any more. The memory is that of the new one.
		t.must(e.Memory.Free())
		t.must(e.PZ.Free())
		t.refused(s.other.PZ.Free(), udat.ErrInvalidState)
		e.Memory = s.other.Memory
		t.postRecv(e, 1)
	})
	t.remark(noTentative)
}

func receivesOutsideZone(t *trial) {
	other, e, peer := t.endpoint(), t.endpoint(), t.endpoint()
	t.postRecv(e, 1, 2)
	t.must(e.Modify(udat.EPFieldPZ, &udat.EPParam{PZ: other.PZ}))
	for cookie := uint64(1); cookie <= 2; cookie++ {
		event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion)
		if event.Cookie != cookie || event.Status != udat.DTOErrLocalProtection {
			t.Errorf("receive %d completed with %v", event.Cookie, event.Status)
		}
	}
	t.wantIdle(e, true, true)
	t.refused(e.PostRecv(one(e.Segment(t, 0, message)), 3, 0), udat.ErrProtectionViolation)
	e.Memory = other.Memory
	t.postRecv(e, 4)
	t.connectTo(peer, e)
	t.postSend(peer, 5)
	udattest.Completion(t, e.Recv, 4)
	udattest.Completion(t, peer.Request, 5)
	t.must(e.EP.Free()) // before the memory and the zone that it uses now
}

func receiveFlagsModified(t *trial) {
	t.modifiedEarly(receiveFlags)
	e := t.endpoint()
	for _, flags := range []udat.CompletionFlags{udat.CompletionSuppress, udat.CompletionBarrierFence, threshold | unsignalled, 1 << 20} {
		t.refusedUnchanged(e, receiveFlags.mask, &udat.EPParam{Attr: udat.EPAttr{RecvCompletionFlags: flags}}, udat.ErrInvalidParameter)
	}
	t.postRecv(e, 1)
	t.refusedUnchanged(e, receiveFlags.mask, &udat.EPParam{Attr: udat.EPAttr{RecvCompletionFlags: unsignalled}}, udat.ErrInvalidState)
}

func requestFlagsModified(t *trial) {
	t.modifiedEarly(requestFlags)
	e := t.endpoint()
	for _, flags := range []udat.CompletionFlags{udat.CompletionSuppress, udat.CompletionBarrierFence, solicited, threshold | unsignalled} {
		t.refusedUnchanged(e, requestFlags.mask, &udat.EPParam{Attr: udat.EPAttr{RequestCompletionFlags: flags}}, udat.ErrInvalidParameter)
	}
}

func specificAttributes(number, list udat.EPParamMask, kind string) func(*trial) {
	return func(t *trial) {
		t.walk(func(e *udattest.Endpoint, _ udat.EPState) {
			for _, mask := range []udat.EPParamMask{number, list, number | list} {
				t.refusedUnchanged(e, mask, &udat.EPParam{}, udat.ErrInvalidParameter, errors.ErrUnsupported)
			}
		})
		t.notShown("no provider has "+kind+"-specific attributes of endpoints: they are refused as not supported, in every state",
			"a provider that has one")
	}
}

func outsideItsStates(t *trial) {
	all := append([]field{protectionZone, receiveFlags, requestFlags}, fields...)
	s := &spares{other: t.endpoint()}
	t.walkAll(func(e *udattest.Endpoint, state udat.EPState) {
		own := *e
		s.own = &own
		_, isEarly := early(state)
		for _, f := range all {
			if isEarly && (f.mask != protectionZone.mask || state == udat.EPStateUnconnected) {
				continue
			}
			param := t.query(e)
			f.set(&param, s, 2) // the values that each device has
			t.refusedUnchanged(e, f.mask, &param, udat.ErrInvalidState)
		}
	})
	t.remark(noTentative)
}

func invalidValues(t *trial) {
	foreign := udattest.NewEndpoint(t, udattest.Open(t, t.ia.Name()), nil)
	e, most := t.endpoint(), t.limits()
	invalid := func(mask udat.EPParamMask, param udat.EPParam, targets ...error) {
		t.Helper()
		t.refusedUnchanged(e, mask, &param, targets...)
	}
	attr := func(mask udat.EPParamMask, a udat.EPAttr) {
		t.Helper()
		invalid(mask, udat.EPParam{Attr: a}, udat.ErrInvalidParameter)
	}
	for bit := range 64 {
		if mask := udat.EPParamMask(1) << bit; mask&udat.EPParamMask(cgo.EPFieldAll) == 0 {
			invalid(mask, udat.EPParam{}, udat.ErrInvalidParameter)
			invalid(mask|udat.EPFieldMaxRecvDTOs, udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}}, udat.ErrInvalidParameter)
		}
	}
	t.refusedUnchanged(e, udat.EPFieldMaxRecvDTOs, nil, udat.ErrInvalidParameter)
	for _, fixed := range []udat.EPParamMask{udat.EPParamMask(cgo.EPFieldIAHandle), udat.EPParamMask(cgo.EPFieldEPState), udat.EPParamMask(cgo.EPFieldSRQHandle), udat.EPParamMask(cgo.EPFieldNumProviderAttr)} {
		invalid(fixed|udat.EPFieldMaxRecvDTOs, udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}}, udat.ErrInvalidParameter)
	}
	if tooLarge := most.MaxMessageSize + 1; tooLarge > 0 {
		attr(udat.EPFieldMaxMessageSize, udat.EPAttr{MaxMessageSize: tooLarge})
	}
	if tooLarge := most.MaxRDMASize + 1; tooLarge > 0 {
		attr(udat.EPFieldMaxRDMASize, udat.EPAttr{MaxRDMASize: tooLarge})
	}
	attr(udat.EPFieldRecvCompletionFlags, udat.EPAttr{RecvCompletionFlags: udat.CompletionSuppress})
	attr(udat.EPFieldRequestCompletionFlags, udat.EPAttr{RequestCompletionFlags: solicited})
	for _, wrong := range []struct {
		mask udat.EPParamMask
		set  func(*udat.EPAttr, int)
		most int
	}{
		{udat.EPFieldMaxRecvDTOs, func(a *udat.EPAttr, n int) { a.MaxRecvDTOs = n }, most.MaxDTOPerEP},
		{udat.EPFieldMaxRequestDTOs, func(a *udat.EPAttr, n int) { a.MaxRequestDTOs = n }, most.MaxDTOPerEP},
		{udat.EPFieldMaxRecvIOV, func(a *udat.EPAttr, n int) { a.MaxRecvIOV = n }, most.MaxIOVSegmentsPerDTO},
		{udat.EPFieldMaxRequestIOV, func(a *udat.EPAttr, n int) { a.MaxRequestIOV = n }, most.MaxIOVSegmentsPerDTO},
		{udat.EPFieldMaxRDMAReadIn, func(a *udat.EPAttr, n int) { a.MaxRDMAReadIn = n }, most.MaxRDMAReadPerEPIn},
		{udat.EPFieldMaxRDMAReadOut, func(a *udat.EPAttr, n int) { a.MaxRDMAReadOut = n }, most.MaxRDMAReadPerEPOut},
	} {
		for _, n := range []int{-1, wrong.most + 1} {
			var a udat.EPAttr
			wrong.set(&a, n)
			attr(wrong.mask, a)
		}
	}
	// The error names wrong objects.
	invalid(udat.EPFieldPZ, udat.EPParam{}, udat.ErrInvalidHandle, udat.InvalidHandlePZ)
	invalid(udat.EPFieldPZ, udat.EPParam{PZ: foreign.PZ}, udat.ErrInvalidHandle, udat.InvalidHandlePZ)
	invalid(udat.EPFieldRecvEVD, udat.EPParam{RecvEVD: e.Connect}, udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
	invalid(udat.EPFieldRequestEVD, udat.EPParam{RequestEVD: foreign.Request}, udat.ErrInvalidHandle, udat.InvalidHandleEVDRequest)
	invalid(udat.EPFieldConnectEVD, udat.EPParam{ConnectEVD: e.Recv}, udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
	t.remark("an unsuitable object, such as an EVD of another kind, is reported as DAT_INVALID_HANDLE, as at creation")
}

func behavesByNewValues(t *trial) {
	other := t.endpoint() // made first, to be freed last
	a, b := t.endpoint(), t.endpoint()
	t.postRecv(b, 0, 1, 2)
	attr := t.query(b).Attr
	attr.MaxMessageSize, attr.MaxRDMASize = 8192, 16384
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = attr.MaxRecvDTOs+5, attr.MaxRequestDTOs+7
	attr.MaxRecvIOV, attr.MaxRequestIOV = t.segments(2), t.segments(3)
	attr.MaxRDMAReadIn, attr.MaxRDMAReadOut = 2, 2
	var mask udat.EPParamMask
	for _, f := range fields {
		mask |= f.mask
	}
	t.must(b.Modify(mask, &udat.EPParam{Attr: attr, RecvEVD: other.Recv, RequestEVD: other.Request, ConnectEVD: other.Connect}))
	param := t.query(b)
	if diff := cmp.Diff(attr, param.Attr); diff != "" {
		t.Errorf("the attributes are not the requested ones (-want +got):\n%s", diff)
	}
	t.wantIdle(b, false, true)
	b.Recv, b.Request, b.Connect = param.RecvEVD, param.RequestEVD, param.ConnectEVD
	if b.Recv != other.Recv || b.Request != other.Request || b.Connect != other.Connect {
		t.Error("the EVDs are not the requested ones")
	}
	t.connectTo(a, b)
	for i := 3; i < attr.MaxRecvDTOs; i++ {
		t.postRecv(b, uint64(i))
	}
	s := b.Segment(t, 0, 8)
	t.refused(b.PostRecv(one(s), 0, 0), udat.ErrInsufficientResources)
	for i := range uint64(attr.MaxRecvDTOs) {
		t.postSend(a, i)
		udattest.Completion(t, a.Request, i)
		udattest.Completion(t, b.Recv, i)
	}
	t.refused(b.PostRecv(slices.Repeat(one(s), attr.MaxRecvIOV+1), 0, 0), udat.ErrInvalidParameter)
	t.refused(b.PostSend(slices.Repeat(one(s), attr.MaxRequestIOV+1), 0, 0), udat.ErrInvalidParameter)
	whole, err := a.Memory.RMRTriplet(0, 20000)
	t.must(err)
	t.must(b.PostRDMAWrite(one(b.Segment(t, 0, 16384)), 9, whole, 0))
	udattest.Completion(t, b.Request, 9)
	for i := range attr.MaxRequestDTOs { // whose completions nobody takes
		t.must(b.PostRDMAWrite(one(s), uint64(i), whole, 0))
	}
	t.refused(b.PostSend(one(s), 0, 0), udat.ErrInsufficientResources)
	t.must(b.EP.Free())
}

func togetherOrNot(t *trial) {
	e := t.endpoint()
	attr := t.query(e).Attr
	attr.MaxRecvDTOs, attr.MaxRequestDTOs, attr.MaxMessageSize = 5, 6, 4096
	const good = udat.EPFieldMaxRecvDTOs | udat.EPFieldMaxRequestDTOs | udat.EPFieldMaxMessageSize
	for _, bad := range []struct {
		mask   udat.EPParamMask
		change func(*udat.EPParam)
		err    error
	}{
		{1 << 40, func(*udat.EPParam) {}, udat.ErrInvalidParameter},
		{udat.EPParamMask(cgo.EPFieldEPState), func(*udat.EPParam) {}, udat.ErrInvalidParameter},
		{udat.EPFieldMaxRecvIOV, func(p *udat.EPParam) { p.Attr.MaxRecvIOV = -1 }, udat.ErrInvalidParameter},
		{udat.EPFieldPZ, func(p *udat.EPParam) { p.PZ = nil }, udat.ErrInvalidHandle},
		{udat.EPFieldMaxRecvDTOs, func(p *udat.EPParam) { p.Attr.MaxRecvDTOs = t.limits().MaxDTOPerEP + 1 }, udat.ErrInvalidParameter},
	} {
		param := t.query(e)
		param.Attr = attr
		bad.change(&param)
		t.refusedUnchanged(e, good|bad.mask, &param, bad.err)
	}
	t.must(e.Modify(good, &udat.EPParam{Attr: attr}))
	if got := t.query(e).Attr; got != attr {
		t.Errorf("the attributes are\n%+v, want\n%+v", got, attr)
	}
	t.postRecv(e, series(0, 5)...)
	t.refused(e.PostRecv(one(e.Segment(t, 0, message)), 5, 0), udat.ErrInsufficientResources)
}
