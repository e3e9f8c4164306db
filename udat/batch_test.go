package udat_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// postAll posts a batch, all of which must be accepted.
func postAll(t *testing.T, ep *udat.EP, batch []udat.Post) {
	t.Helper()
	if n, err := ep.PostBatch(batch); n != len(batch) || err != nil {
		t.Fatalf("%d of %d operations were accepted: %v", n, len(batch), err)
	}
}

// wantAccepted demands that a batch ends at an operation.
func wantAccepted(t *testing.T, ep *udat.EP, batch []udat.Post, accepted int, targets ...error) {
	t.Helper()
	n, err := ep.PostBatch(batch)
	if n != accepted {
		t.Errorf("%d operations were accepted, expected %d: %v", n, accepted, err)
	}
	want(t, err, targets...)
}

// Operations of all kinds in one batch are done in its order.
func TestPostBatch(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !takesSegments(t, ia, 2) {
			return
		}
		active, passive := udattest.Pair(t, ia, nil)
		const size = 3000
		remote := must(passive.Memory.RMRTriplet(0, size))
		written, message := active.Memory.Bytes()[:size], active.Memory.Bytes()[36000:36000+size]
		fill(written, 5)
		fill(message, 8)
		postAll(t, passive.EP, []udat.Post{
			{Operation: udat.DTOReceive, Segments: []udat.Segment{passive.Segment(t, 10000, 100), passive.Segment(t, 10200, size)}, Cookie: 1},
			{Operation: udat.DTOReceive, Segments: one(passive.Segment(t, 20000, size)), Cookie: 2},
		})
		postAll(t, active.EP, []udat.Post{
			{Operation: udat.DTORDMAWrite, Segments: []udat.Segment{active.Segment(t, 0, 7), active.Segment(t, 7, size-7)}, Cookie: 3, Remote: remote},
			{Operation: udat.DTOReceive, Segments: one(active.Segment(t, 40000, 8)), Cookie: 4},
			{Operation: udat.DTORDMARead, Segments: one(active.Segment(t, 30000, size)), Cookie: 5, Remote: remote, Flags: udat.CompletionBarrierFence},
			{Operation: udat.DTOSend, Segments: one(active.Segment(t, 36000, size)), Cookie: 6, Flags: udat.CompletionSuppress},
			{Operation: udat.DTOSend, Cookie: 7},
		})
		for _, due := range []struct {
			evd       *udat.EVD
			operation udat.DTO
			cookie    uint64
			length    uint32
		}{
			{active.Request, udat.DTORDMAWrite, 3, size}, {active.Request, udat.DTORDMARead, 5, size}, {active.Request, udat.DTOSend, 7, 0},
			{passive.Recv, udat.DTOReceive, 1, size}, {passive.Recv, udat.DTOReceive, 2, 0},
		} {
			event := udattest.Expect(t, due.evd, udat.EventDTOCompletion)
			if event.Err() != nil || event.Operation != due.operation || event.Cookie != due.cookie || event.Length != due.length {
				t.Errorf("got %+v, expected %+v", event, due)
			}
		}
		there := passive.Memory.Bytes()
		for what, same := range map[string]bool{
			"written":          bytes.Equal(there[:size], written),
			"sent, at first":   bytes.Equal(there[10000:10100], message[:100]),
			"sent, after that": bytes.Equal(there[10200:10200+size-100], message[100:]),
			"read":             bytes.Equal(active.Memory.Bytes()[30000:30000+size], written),
		} {
			if !same {
				t.Errorf("what was %s arrived changed", what)
			}
		}
		if s := status(t, active.EP); s.RecvIdle || !s.RequestIdle {
			t.Errorf("with a receive outstanding the status is %+v", s)
		}
	})
}

// What is refused in a batch, and what is behind it, is not posted. What is before it is.
func TestPostBatchRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		remote := must(passive.Memory.RMRTriplet(0, 100))
		good := udat.Post{Operation: udat.DTOSend, Segments: one(active.Segment(t, 0, 8)), Cookie: 1}
		foreign := udat.Post{Operation: udat.DTOSend, Segments: one(passive.Segment(t, 0, 8))}
		long := udat.Post{Operation: udat.DTORDMAWrite, Segments: one(active.Segment(t, 0, 101)), Remote: remote}
		accepted := 0
		for range passive.Attr(t).MaxRecvDTOs {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 0, 0))
		}
		for _, c := range []struct {
			bad     udat.Post
			targets []error
		}{
			{foreign, []error{udat.ErrProtectionViolation}},
			{long, []error{udat.ErrInvalidParameter, udat.InvalidArg5}},
			{udat.Post{}, []error{udat.ErrInvalidParameter}},
			{udat.Post{Operation: udat.DTOBindMW}, []error{udat.ErrInvalidParameter}},
			{udat.Post{Operation: udat.DTOSend, Flags: 1 << 20}, []error{udat.ErrInvalidParameter, udat.InvalidArg5}},
			{udat.Post{Operation: udat.DTOSend, Segments: slices.Repeat(good.Segments, 100)}, []error{udat.ErrInvalidParameter, udat.InvalidArg2}},
		} {
			wantAccepted(t, active.EP, []udat.Post{c.bad, good}, 0, c.targets...)
			wantAccepted(t, active.EP, []udat.Post{good, good, c.bad, good}, 2, c.targets...)
			for range 2 {
				want(t, udattest.Completion(t, active.Request, good.Cookie).Err())
				accepted++
			}
			udattest.NoEvent(t, active.Request)
			if s := status(t, active.EP); !s.RequestIdle {
				t.Errorf("after a refusal the status is %+v", s)
			}
		}
		for range accepted {
			want(t, udattest.Wait(t, passive.Recv).Err())
		}
		udattest.NoEvent(t, passive.Recv)
		wantAccepted(t, active.EP, nil, 0)
	})
}

// A batch that is longer than the queue is accepted as far as there is room, and the rest once
// completions were taken.
func TestPostBatchBeyondQueue(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRecvDTOs, attr.MaxRequestDTOs = 200, 100 // more than one crossing takes
		active, passive := udattest.Pair(t, ia, &attr)
		var batch, receives []udat.Post
		for i := range uint64(150) {
			batch = append(batch, udat.Post{Operation: udat.DTOSend, Segments: one(active.Segment(t, 0, 8)), Cookie: i})
			receives = append(receives, udat.Post{Operation: udat.DTOReceive, Segments: one(passive.Segment(t, 0, 8)), Cookie: i})
		}
		postAll(t, passive.EP, receives)
		wantAccepted(t, active.EP, batch, 100, udat.ErrInsufficientResources)
		if n := udat.PostedAtOnce(active.EP); n > 64 {
			t.Errorf("one crossing has posted %d operations", n)
		}
		for i := range batch {
			if i == 100 {
				postAll(t, active.EP, batch[100:])
			}
			want(t, udattest.Completion(t, active.Request, uint64(i)).Err())
			want(t, udattest.Completion(t, passive.Recv, uint64(i)).Err())
		}
	})
}

// A batch on an endpoint that has no connection, no longer has one, or is gone.
func TestPostBatchStates(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unconnected := udattest.NewEndpoint(t, ia, nil)
		receive := udat.Post{Operation: udat.DTOReceive, Segments: one(unconnected.Segment(t, 0, 8)), Cookie: 1}
		send := udat.Post{Operation: udat.DTOSend, Segments: one(unconnected.Segment(t, 0, 8)), Cookie: 2}
		wantAccepted(t, unconnected.EP, []udat.Post{receive, receive, send}, 2, udat.ErrInvalidState, udat.InvalidStateEPUnconnected)
		want(t, unconnected.EP.Free())
		for _, batch := range [][]udat.Post{{receive}, {{Operation: 99}}, nil} {
			wantAccepted(t, unconnected.EP, batch, 0, udat.ErrClosed)
		}
		want(t, unconnected.PostRecv(receive.Segments, 1, 0), udat.ErrClosed)

		active, _ := udattest.Pair(t, ia, nil)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		receive.Segments, send.Segments = one(active.Segment(t, 0, 8)), one(active.Segment(t, 0, 8))
		postAll(t, active.EP, []udat.Post{send, send, receive})
		for range 2 {
			wantCompletion(t, active.Request, 2, udat.DTOErrFlushed)
		}
		wantCompletion(t, active.Recv, 1, udat.DTOErrFlushed)
	})
}
