package udat_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// windowPair is an endpoint whose memory a peer reaches, and the peer.
type windowPair struct{ owner, peer *udattest.Endpoint }

// forEachWithWindows runs a test on the adapters of devices with memory windows, with two connected
// endpoints.
func forEachWithWindows(t *testing.T, test func(t *testing.T, p *windowPair)) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		rmr, err := udat.CreateRMR(untilEnd(t, must(udat.CreatePZ(ia))))
		if attr, _, _ := ia.Query(); attr.MaxRMRs == 0 || errors.Is(err, udat.ErrModelNotSupported) {
			want(t, err, udat.ErrModelNotSupported, errors.ErrUnsupported)
			wantDetail(t, err)
			t.Log("not tested: the device has no memory windows")
			return
		}
		want(t, err)
		want(t, rmr.Free())
		owner, peer := udattest.Pair(t, ia, nil)
		test(t, &windowPair{owner, peer})
	})
}

func (p *windowPair) newRMR(t *testing.T) *udat.RMR {
	t.Helper()
	return untilEnd(t, must(udat.CreateRMR(p.owner.PZ)))
}

// bind binds a region and takes the completion.
func (p *windowPair) bind(t *testing.T, rmr *udat.RMR, segment udat.Segment, privileges udat.MemPriv) udat.RMRTriplet {
	t.Helper()
	triplet, err := rmr.Bind(segment, privileges, p.owner.EP, 7, 0)
	want(t, err)
	event := udattest.Expect(t, p.owner.Request, udat.EventRMRBindCompletion)
	want(t, event.Err())
	if event.RMR() != rmr || event.EP() != nil || event.Cookie != 7 || event.Length != 0 || event.Operation != udat.DTOBindMW {
		t.Errorf("got the event %+v of %p on %p", event, event.RMR(), event.EP())
	}
	return triplet
}

// tries has the peer read memory, or write it.
func (p *windowPair) tries(t *testing.T, remote udat.RMRTriplet, write bool) error {
	t.Helper()
	post := p.peer.PostRDMARead
	if write {
		post = p.peer.PostRDMAWrite
	}
	want(t, post(one(p.peer.Segment(t, 0, int(remote.SegmentLength))), 5, remote, 0))
	event := udattest.Wait(t, p.peer.Request)
	if event.Number != udat.EventDTOCompletion || event.Cookie != 5 {
		t.Fatalf("got the event %+v", event)
	}
	return event.Err()
}

// A peer reaches the memory from the completion of the bind to the next, with the privileges of the
// bind.
func TestRMR(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, p *windowPair) {
		rmr := p.newRMR(t)
		memory := must(udat.AllocMemory(p.owner.PZ, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite)) // not for peers
		wantParam := func(wanted udat.RMRParam) {
			t.Helper()
			param := must(rmr.Query())
			wanted.IA, wanted.PZ, wanted.RMRContext = p.owner.IA, p.owner.PZ, param.RMRContext
			if param != wanted {
				t.Errorf("got the parameters %+v, want %+v", param, wanted)
			}
		}
		wantParam(udat.RMRParam{})
		const both = udat.MemPrivRemoteRead | udat.MemPrivRemoteWrite
		first := p.bind(t, rmr, must(memory.Segment(64, 32)), both)
		wantParam(udat.RMRParam{LMR: memory, Address: first.VirtualAddress, Length: 32, Privileges: both})
		fill(p.peer.Memory.Bytes()[:32], 3)
		want(t, p.tries(t, first, true))
		if !bytes.Equal(memory.Bytes()[64:96], p.peer.Memory.Bytes()[:32]) {
			t.Error("the peer's bytes did not arrive")
		}

		own := p.owner.Memory.Bytes()[:64]
		second := p.bind(t, rmr, p.owner.Segment(t, 0, 64), udat.MemPrivRemoteRead)
		want(t, memory.Free()) // nothing is bound to it any more
		fill(own, 4)
		want(t, p.tries(t, second, false))
		if !bytes.Equal(p.peer.Memory.Bytes()[:64], own) {
			t.Error("the peer reads something else")
		}
		want(t, p.owner.Memory.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		if none := p.bind(t, rmr, udat.Segment{}, 0); none != (udat.RMRTriplet{}) {
			t.Errorf("the end of the binding returns %+v", none)
		}
		wantParam(udat.RMRParam{})
		want(t, p.tries(t, second, false), udat.DTOErrRemoteAccess)
	})
}

// A bind is refused that cannot be carried out, and takes no room.
func TestRMRBindRefuses(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, p *windowPair) {
		rmr := p.newRMR(t)
		readable := untilEnd(t, must(udat.AllocMemory(p.owner.PZ, 4096, udat.MemPrivLocalRead)))
		unwritable := must(readable.Segment(0, 8))
		unconnected := udattest.NewEndpoint(t, p.owner.IA, nil)
		segment, owner := p.owner.Segment(t, 0, 8), p.owner.EP
		const read = udat.MemPrivRemoteRead
		for range 2 * max(p.owner.Attr(t).MaxRequestDTOs, 8) {
			for name, test := range map[string]struct {
				segment    udat.Segment
				privileges udat.MemPriv
				ep         *udat.EP
				flags      udat.CompletionFlags
				want       []error
			}{
				"no endpoint":        {segment, read, nil, 0, []error{udat.ErrInvalidHandle, udat.InvalidHandleEP}},
				"unconnected":        {unconnected.Segment(t, 0, 8), read, unconnected.EP, 0, []error{udat.ErrInvalidState, udat.InvalidStateEPUnconnected}},
				"region's zone":      {p.peer.Segment(t, 0, 8), read, p.peer.EP, 0, []error{udat.ErrProtectionViolation}},
				"memory's zone":      {p.peer.Segment(t, 0, 8), read, owner, 0, []error{udat.ErrProtectionViolation}},
				"local privileges":   {segment, udat.MemPrivLocalRead, owner, 0, []error{udat.ErrInvalidParameter, udat.InvalidArg4}},
				"unknown privileges": {segment, read | 1<<20, owner, 0, []error{udat.ErrInvalidParameter, udat.InvalidArg4}},
				"read-only":          {unwritable, read, owner, 0, []error{udat.ErrPrivilegesViolation, udat.PrivilegesWrite}},
				"suppressed":         {segment, read, owner, udat.CompletionSuppress, []error{udat.ErrInvalidParameter, udat.InvalidArg8}},
				"end of nothing":     {udat.Segment{}, 0, owner, 0, []error{udat.ErrInvalidState}},
			} {
				_, err := rmr.Bind(test.segment, test.privileges, test.ep, 1, test.flags)
				want(t, err, test.want...)
				wantDetail(t, err)
				if t.Failed() {
					t.Fatalf("that was %q", name)
				}
			}
		}
		if err := second(rmr.Bind(udat.Segment{}, 0, owner, 1, 0)); !strings.Contains(err.Error(), "bound to nothing") {
			t.Errorf("the end of no binding: %v", err)
		}
	})
}

// In DISCONNECTED a bind is flushed, as other requests are, and leaves the region bound to nothing:
// behind requests that the adapter flushes, and alone.
func TestRMRBindFlushed(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, p *windowPair) {
		rmr, owner, segment := p.newRMR(t), p.owner.EP, p.owner.Segment(t, 0, 8)
		flushed := func(sends int) {
			for range sends {
				wantCompletion(t, p.owner.Request, 1, udat.DTOErrFlushed)
			}
			bind := udattest.Expect(t, p.owner.Request, udat.EventRMRBindCompletion)
			if bind.Cookie != 2 || bind.RMR() != rmr {
				t.Errorf("the completion is %+v", bind)
			}
			want(t, bind.Err(), udat.DTOErrFlushed)
			if param := must(rmr.Query()); param.LMR != nil || param.Length != 0 {
				t.Errorf("after a bind that was flushed the region says %+v", param)
			}
		}
		p.bind(t, rmr, segment, udat.MemPrivRemoteRead)
		const sends = 4
		for range sends { // the peer has no receives
			want(t, owner.PostSend(one(segment), 1, 0))
		}
		want(t, owner.Disconnect(udat.CloseAbrupt))
		want(t, second(rmr.Bind(segment, udat.MemPrivRemoteRead, owner, 2, 0)))
		flushed(sends)
		udattest.Expect(t, p.owner.Connect, udat.EventConnectionDisconnected)
		for range 2 {
			want(t, owner.PostSend(one(segment), 1, 0))
			want(t, second(rmr.Bind(segment, udat.MemPrivRemoteRead, owner, 2, 0)))
			flushed(1)
		}
		want(t, second(rmr.Bind(udat.Segment{}, 0, owner, 2, 0)), udat.ErrInvalidState)
		want(t, p.owner.Memory.Free()) // nothing is bound to it
	})
}

// Until the completion of a bind is taken, or the endpoint has gone, the region can neither be
// bound nor freed.
func TestRMRBindNotTaken(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, p *windowPair) {
		first, last := p.newRMR(t), p.newRMR(t)
		memory := must(udat.AllocMemory(p.owner.PZ, 4096, udat.MemPrivAll))
		segment := must(memory.Segment(0, 8))
		for _, rmr := range []*udat.RMR{first, last} {
			want(t, second(rmr.Bind(segment, udat.MemPrivRemoteRead, p.owner.EP, 1, 0)))
			want(t, memory.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
			for _, next := range []udat.Segment{p.owner.Segment(t, 0, 8), {}} {
				err := second(rmr.Bind(next, udat.MemPrivRemoteRead, p.owner.EP, 2, 0))
				want(t, err, udat.ErrInvalidState)
				if !strings.Contains(err.Error(), "outstanding") {
					t.Errorf("beside another bind: %v", err)
				}
			}
			if param := must(rmr.Query()); param.LMR != memory {
				t.Errorf("after a refusal the region says %+v", param)
			}
			want(t, rmr.Free(), udat.ErrInvalidState)
		}
		want(t, udattest.Expect(t, p.owner.Request, udat.EventRMRBindCompletion).Err())
		want(t, first.Free())
		want(t, p.owner.Disconnect(udat.CloseAbrupt))
		want(t, p.owner.EP.Free())
		want(t, last.Free())
		want(t, memory.Free())
	})
}

// Memory is bound, or freed, if both are tried at once.
func TestBindBesideFree(t *testing.T) {
	forEachWithWindows(t, func(t *testing.T, p *windowPair) {
		rmr := p.newRMR(t)
		for range 500 {
			memory := must(udat.AllocMemory(p.owner.PZ, 64, udat.MemPrivAll))
			segment, freed := must(memory.Segment(0, 64)), make(chan error, 1)
			go func() { freed <- memory.Free() }()
			_, err := rmr.Bind(segment, udat.MemPrivRemoteRead, p.owner.EP, 7, 0)
			switch freeErr := receive(t, freed); {
			case err != nil:
				want(t, err, udat.ErrClosed)
				want(t, freeErr)
			default:
				want(t, freeErr, udat.ErrInvalidState)
				udattest.Expect(t, p.owner.Request, udat.EventRMRBindCompletion)
				p.bind(t, rmr, udat.Segment{}, 0)
				want(t, memory.Free())
			}
		}
	})
}
