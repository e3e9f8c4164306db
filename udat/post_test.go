package udat_test

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestPostRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unconnected := udattest.NewEndpoint(t, ia, nil)
		want(t, unconnected.PostSend(one(unconnected.Segment(t, 0, 1)), 0, 0), udat.ErrInvalidState, udat.InvalidStateEPUnconnected)

		active, passive := udattest.Pair(t, ia, nil)
		remote := must(passive.Memory.RMRTriplet(0, 100))
		want(t, active.PostSend(one(passive.Segment(t, 0, 1)), 0, 0), udat.ErrProtectionViolation)
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 0, 1<<20), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, active.PostSend(slices.Repeat(one(active.Segment(t, 0, 1)), 100), 0, 0), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, active.PostRecv(slices.Repeat(one(active.Segment(t, 0, 1)), 100), 0, 0), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		want(t, active.PostRDMARead(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		segments := []udat.Segment{active.Segment(t, 0, 1), {}}
		if !takesSegments(t, ia, 2) {
			segments = segments[1:]
		}
		for _, err := range []error{
			active.PostSend(one(udat.Segment{}), 0, 0), active.PostRecv(one(udat.Segment{}), 0, 0),
			active.PostRDMAWrite(segments, 0, remote, 0),
			second(active.PostBatch([]udat.Post{{Operation: udat.DTOSend, Segments: make([]udat.Segment, 1)}})),
		} {
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
			wantDetail(t, err)
		}
		want(t, ia.SyncRDMARead(make([]udat.Segment, 1)), udat.ErrInvalidHandle, udat.InvalidHandleLMR)
		freed := must(udat.AllocMemory(active.PZ, 8, udat.MemPrivAll))
		segment := must(freed.Segment(0, 8))
		want(t, freed.Free())
		want(t, active.PostSend(one(segment), 0, 0), udat.ErrClosed, udat.InvalidHandleLMR)
		if s := status(t, active.EP); !s.RequestIdle {
			t.Errorf("after refusals the status is %+v", s)
		}
		// Receives without a message stay outstanding.
		most := passive.Attr(t).MaxRecvDTOs
		for i := range most {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 1)), uint64(i), 0))
		}
		err := passive.PostRecv(one(passive.Segment(t, 0, 1)), 99, 0)
		want(t, err, udat.ErrInsufficientResources, udat.ResourceMemory)
		wantDetail(t, err)
		// The refusal has not disturbed the others.
		for i := range uint64(most) {
			want(t, active.PostSend(one(active.Segment(t, 0, 1)), i, 0))
			wantCompletion(t, active.Request, i, udat.DTOSuccess)
			wantCompletion(t, passive.Recv, i, udat.DTOSuccess)
		}
	})
}

// Posts of many goroutines on one endpoint complete each once, with their own cookies.
func TestConcurrentPosts(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs, attr.MaxRecvDTOs = 200, 200
		active, passive := udattest.Pair(t, ia, &attr)
		const goroutines, posts = 4, 50
		out, in := one(active.Segment(t, 0, 8)), one(passive.Segment(t, 0, 8))
		for range 3 {
			var posting sync.WaitGroup
			for g := range uint64(goroutines) {
				spawn(&posting, func() {
					for i := range uint64(posts) {
						want(t, passive.PostRecv(in, g<<32|i, 0))
						want(t, active.PostSend(out, g<<32|i, 0))
					}
				})
			}
			posting.Wait()
			for _, evd := range []*udat.EVD{active.Request, passive.Recv} {
				seen := map[uint64]bool{}
				for range goroutines * posts {
					event := udattest.Expect(t, evd, udat.EventDTOCompletion)
					want(t, event.Err())
					seen[event.Cookie] = true
				}
				if len(seen) != goroutines*posts {
					t.Errorf("%d posts completed with %d cookies", goroutines*posts, len(seen))
				}
			}
		}
	})
}

// Segments of no bytes stand for nothing, wherever they are.
func TestEmptySegments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !takesSegments(t, ia, 3) {
			return
		}
		active, passive := udattest.Pair(t, ia, nil)
		remote := must(passive.Memory.RMRTriplet(512, 16))
		around := func(e *udattest.Endpoint, offset int) []udat.Segment {
			return []udat.Segment{e.Segment(t, offset, 0), e.Segment(t, offset, 8), e.Segment(t, offset, 0)}
		}
		copy(active.Memory.Bytes(), "8 bytes.")
		want(t, passive.PostRecv(around(passive, 256), 1, 0))
		want(t, active.PostSend(around(active, 0), 2, 0))
		want(t, active.PostRDMAWrite(around(active, 0), 3, remote, 0))
		want(t, active.PostRDMARead(one(active.Segment(t, 64, 8)), 4, remote, 0))
		for cookie := range uint64(3) {
			wantCompletion(t, active.Request, cookie+2, udat.DTOSuccess)
		}
		if event := wantCompletion(t, passive.Recv, 1, udat.DTOSuccess); event.Length != 8 {
			t.Errorf("the message has %d bytes", event.Length)
		}
		for name, got := range map[string][]byte{
			"sent": passive.Memory.Bytes()[256:264], "written": passive.Memory.Bytes()[512:520], "read": active.Memory.Bytes()[64:72],
		} {
			if string(got) != "8 bytes." {
				t.Errorf("%q was %s", got, name)
			}
		}
		// Soft-iWARP can answer it only when it has no other answer to send.
		active, passive = udattest.Pair(t, ia, nil)
		remote = must(passive.Memory.RMRTriplet(512, 16))
		want(t, active.PostRDMARead(one(active.Segment(t, 64, 0)), 5, remote, 0))
		wantCompletion(t, active.Request, 5, udat.DTOSuccess)
	})
}

// A read into more segments than the adapter can fill is refused, and one into as
// many as it can fills them all.
func TestReadIntoManySegments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		limits, _, err := ia.Query()
		want(t, err)
		most := limits.MaxIOVSegmentsPerRead
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestIOV = min(most+1, limits.MaxIOVSegmentsPerDTO)
		active, passive := udattest.Pair(t, ia, &attr)
		remote := must(passive.Memory.RMRTriplet(0, 64))
		fill(passive.Memory.Bytes(), 1)
		segments := slices.Repeat(one(active.Segment(t, 0, 1)), most+1)
		err = active.PostRDMARead(segments, 1, remote, 0)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg2)
		wantDetail(t, err)
		read := udat.Post{Operation: udat.DTORDMARead, Segments: segments, Remote: remote}
		wantAccepted(t, active.EP, []udat.Post{read}, 0, udat.ErrInvalidParameter, udat.InvalidArg2)
		if !status(t, active.EP).RequestIdle {
			t.Error("a read that was refused is outstanding")
		}
		for i := range most {
			segments[i] = active.Segment(t, i, 1)
		}
		want(t, active.PostRDMARead(segments[:most], 2, remote, 0))
		wantCompletion(t, active.Request, 2, udat.DTOSuccess)
		if !bytes.Equal(active.Memory.Bytes()[:most], passive.Memory.Bytes()[:most]) {
			t.Errorf("a read into %d segments brings % x", most, active.Memory.Bytes()[:most])
		}
	})
}

// A message that is longer than the adapter takes is refused, and does not end the connection.
func TestLongMessages(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !takesSegments(t, ia, 2) {
			return
		}
		active, passive := udattest.Pair(t, ia, nil)
		long := slices.Repeat(one(udat.Lengthened(active.Segment(t, 0, 1), math.MaxUint32)), 2)
		all := udat.RMRTriplet{SegmentLength: math.MaxUint32}
		for _, err := range []error{
			active.PostSend(long, 1, 0), active.PostRecv(long, 1, 0), second(active.PostBatch([]udat.Post{{Operation: udat.DTOSend, Segments: long}})),
		} {
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
			wantDetail(t, err)
		}
		want(t, active.PostRDMAWrite(long, 1, all, 0), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 2, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		wantCompletion(t, passive.Recv, 2, udat.DTOSuccess)
	})
}

// noRoom are what a post without room on its EVD fails with.
var noRoom = []error{udat.ErrInsufficientResources, udat.ResourceTEVD}

// A post needs room on its EVD. Without room it has no effect. Taking completions frees room.
func TestPostWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		short := createEVD(t, ia, 8, udat.EVDDTO)
		iov, room := one(a.Segment(t, 0, 8)), qlen(t, short) // some devices make it much longer
		a.EP = untilEnd(t, must(udat.CreateEP(ia, a.PZ, short, short, a.Connect, &udat.EPAttr{MaxRecvDTOs: room + 2})))
		udattest.ConnectPair(t, udattest.Listen(t, ia), a, b)
		for i := range room {
			want(t, a.PostRecv(iov, uint64(i), 0))
		}
		batch := []udat.Post{{Operation: udat.DTOReceive, Segments: iov, Cookie: 100}, {Operation: udat.DTOReceive, Segments: iov, Cookie: 101}}
		for range 3 {
			want(t, a.PostRecv(iov, 99, 0), noRoom...)
			want(t, a.PostSend(iov, 99, 0), noRoom...)
			want(t, a.PostSend(iov, 99, udat.CompletionSuppress), noRoom...)
			wantAccepted(t, a.EP, batch, 0, noRoom...)
		}

		// One message makes room for one operation, once its completion was taken.
		want(t, b.PostSend(one(b.Segment(t, 0, 8)), 1, 0))
		wantCompletion(t, b.Request, 1, udat.DTOSuccess)
		want(t, a.PostRecv(iov, 99, 0), noRoom...)
		wantCompletion(t, short, 0, udat.DTOSuccess)
		wantAccepted(t, a.EP, batch, 1, noRoom...)
	})
}
