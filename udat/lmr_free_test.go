package udat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// wantInUse checks that the memory cannot be freed, for a reason that the error tells, and within the time that Free may
// take to find out.
func wantInUse(t *testing.T, lmr *udat.LMR, words ...string) {
	t.Helper()
	begin := time.Now()
	err := lmr.Free()
	want(t, err, udat.ErrInvalidState, udat.InvalidStateLMRInUse)
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if took := time.Since(begin); took > udattest.Patience {
		t.Errorf("it took %v to say so", took)
	}
}

func mustAlloc(t *testing.T, pz *udat.PZ) (*udat.LMR, udat.Segment) {
	t.Helper()
	lmr, err := udat.AllocMemory(pz, 4096, udat.MemPrivAll)
	want(t, err)
	segment, err := lmr.Segment(0, 8)
	want(t, err)
	return lmr, segment
}

// awaitFree frees memory that the adapter is about to be done with, while the program takes no completion.
func awaitFree(t *testing.T, lmr *udat.LMR) {
	t.Helper()
	await(t, "the memory cannot be freed, though no operation uses it any more", func() bool {
		err := lmr.Free()
		if err != nil && !errors.Is(err, udat.InvalidStateLMRInUse) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Memory that an operation may still read or write cannot be freed, and the error says what to do.
func TestFreeLMRWithPostedOperations(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		second, segment := mustAlloc(t, passive.PZ)
		want(t, passive.PostRecv([]udat.Segment{passive.Segment(t, 0, 8), {}, segment}, 1, 0))
		const receives = "(receives); receives are over when messages have come for them or the connection has ended; EP.Reset or EP.Free take them back"
		wantInUse(t, second, "endpoint", receives)
		wantInUse(t, passive.Memory, receives)
		if second.Bytes() == nil {
			t.Error("the memory is gone although it could not be freed")
		}
		want(t, active.PostSend(one(active.Segment(t, 0, 16)), 2, 0))
		want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
		want(t, second.Free())
		held := hold(t, active, passive, 3)
		wantInUse(t, active.Memory, "(requests); requests are over when their completions are there: wait for these, or disconnect the endpoint")
		held.release()
		for range 2 {
			want(t, udattest.Expect(t, active.Request, udat.EventDTOCompletion).Err())
		}
		want(t, active.Memory.Free())
		held.received()

		// With the endpoint go its operations.
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		wantInUse(t, passive.Memory, "receives")
		want(t, passive.EP.Free())
		want(t, passive.Memory.Free())
	})
}

// Operations are over when their completions are there, taken or not.
func TestFreeLMRBeforeCompletionsAreTaken(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		into, segment := mustAlloc(t, passive.PZ)
		from, message := mustAlloc(t, active.PZ)
		want(t, passive.PostRecv(one(segment), 1, 0))
		want(t, passive.PostRecv(one(segment), 2, 0))
		want(t, passive.PostRecv(one(segment), 3, 0))
		// Behind the one that has a completion is one that has none, if it succeeds.
		want(t, active.PostSend(one(message), 1, 0))
		want(t, active.PostSend(one(message), 2, udat.CompletionSuppress))
		want(t, active.PostSend(one(message), 3, udat.CompletionSuppress))
		awaitFree(t, into)
		awaitFree(t, from)
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		wantNoEvent(t, active.Request)
		for i := range 3 {
			wantCompletion(t, passive.Recv, uint64(i)+1, udat.DTOSuccess)
		}

		// The end of the connection flushes them, which is told of, too.
		into, segment = mustAlloc(t, passive.PZ)
		want(t, passive.PostRecv(one(segment), 4, 0))
		want(t, active.EP.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		awaitFree(t, into)
		wantCompletion(t, passive.Recv, 4, udat.DTOErrFlushed)
	})
}

// A peer that answers tells that it has what was sent, also when nothing else does.
func TestFreeLMRAfterAnswer(t *testing.T) {
	defer udat.SetSettleWithin(udattest.Patience)() // the machine may be busy
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, queue := range []int{1, 2, 3, 8, 16} {
			attr := udattest.DefaultAttr(t, ia)
			attr.MaxRequestDTOs = queue
			active, passive := udattest.Pair(t, ia, &attr)
			for sends := 1; sends <= queue; sends++ {
				from, message := mustAlloc(t, active.PZ)
				want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 0, 0))
				for range sends {
					want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 0, 0))
				}
				for range sends {
					want(t, active.PostSend(one(message), 0, udat.CompletionSuppress))
				}
				for range sends {
					want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
				}
				want(t, passive.PostSend(one(passive.Segment(t, 0, 8)), 0, 0))
				want(t, udattest.Expect(t, active.Recv, udat.EventDTOCompletion).Err())
				want(t, from.Free())
				want(t, udattest.Expect(t, passive.Request, udat.EventDTOCompletion).Err())
			}
			wantNoEvent(t, active.Request)
		}
	})
}

// Of suppressed requests that the peer does not take nobody can know that they are over.
func TestFreeLMRWithSuppressedOperations(t *testing.T) {
	defer udat.SetSettleWithin(50 * time.Millisecond)()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		held := hold(t, active, passive)
		from, message := mustAlloc(t, active.PZ)
		held.segments = one(message)
		held.one(1, udat.CompletionSuppress)
		wantInUse(t, from, "(suppressed requests); suppressed requests were not over within 50ms: the peer has not taken them yet, wait for a sign of it, or disconnect the endpoint")
		held.one(2, 0)
		wantInUse(t, from, "(requests, suppressed requests); requests are over", "; suppressed requests were not over")
		want(t, active.EP.Disconnect(udat.CloseAbrupt))
		held.restore()
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		awaitFree(t, from)
	})
}

// The receives of a shared queue are looked for where their completions come.
func TestFreeLMROfSharedReceives(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		s := newShared(t, ia, 4, 1)
		sender := s.client(t, udattest.Listen(t, ia), s.eps[0])
		into, segment := mustAlloc(t, s.PZ)
		want(t, s.srq.PostRecv(one(segment), 1))
		wantInUse(t, into, "(shared receives); shared receives are over when messages have come for them; SRQ.Free takes them back")
		want(t, sender.PostSend(one(sender.Segment(t, 0, 8)), 1, 0))
		awaitFree(t, into)
		wantCompletion(t, s.Recv, 1, udat.DTOSuccess)
	})
}
