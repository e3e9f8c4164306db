package devicetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// postSoon posts until the queue has a place, and takes no events meanwhile.
func postSoon(t *testing.T, post func() cgo.Return) {
	t.Helper()
	for deadline := time.Now().Add(udattest.Patience); ; {
		r := post()
		if r.OK() {
			return
		}
		outcome(t, "posting a request", r, cgo.InsufficientResources, cgo.ResourceMemory)
		if time.Now().After(deadline) {
			t.Fatal("the queue stays full")
		}
	}
}

func (e *endpoint) idleSoon(t *testing.T) {
	t.Helper()
	eventually(t, "the requests are done", func() bool {
		_, _, idle, r := cgo.EPGetStatus(e.EPHandle)
		success(t, "EPGetStatus", r)
		return idle != 0
	})
}

// Suppressed requests give their places back without an event, and the status says when the last ones are done.
func TestSuppressedRequests(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		remote := passive.memory.remote(0, 8)
		segments := []cgo.LMRTriplet{active.memory.local(0, 8)}
		for cookie := range uint64(20 * endpointAttr().MaxRequestDTOs) {
			postSoon(t, func() cgo.Return {
				return cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &remote, cgo.CompletionSuppress)
			})
		}
		active.idleSoon(t)
		active.request.empty(t)

		// Posts that take completions to get a place lose no event, and keep the order.
		const all, reported = 200, 5
		for cookie := range uint64(all) {
			flags := cgo.CompletionSuppress
			if cookie%reported == 0 {
				flags = cgo.CompletionDefault
			}
			postSoon(t, func() cgo.Return {
				return cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &remote, flags)
			})
		}
		for cookie := uint64(0); cookie < all; cookie += reported {
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		active.idleSoon(t)
		active.request.empty(t)
	})
}

// When an endpoint is idle, its suppressed reads have brought their bytes, also where later requests overtake them.
func TestSuppressedReadIsDone(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		for round := range byte(5) {
			for i := range to.bytes {
				to.bytes[i] = round + 1
			}
			remote := to.remote(0, long)
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{from.local(0, long)}, 0, &remote, cgo.CompletionSuppress))
			active.idleSoon(t)
			if !bytes.Equal(from.bytes, to.bytes) {
				t.Fatal("the endpoint is idle, and the read has not brought all bytes")
			}
		}
		active.request.empty(t)
	})
}

// Suppressed requests that fail are reported, wherever in the queue they are, and those that succeed are not.
func TestSuppressedRequestFails(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		remote, wrong := passive.memory.remote(0, 8), passive.memory.remote(0, 8)
		wrong.RMRContext ^= 0xffff00
		segments := []cgo.LMRTriplet{active.memory.local(0, 8)}
		for before := range uint64(endpointAttr().MaxRequestDTOs) {
			post := func(cookie uint64, remote *cgo.RMRTriplet) cgo.Return {
				return cgo.EPPostRDMARead(active.EPHandle, segments, cookie, remote, cgo.CompletionSuppress)
			}
			for cookie := range before {
				success(t, "EPPostRDMARead", post(cookie, &remote))
			}
			success(t, "EPPostRDMARead", post(before, &wrong))
			dto := active.request.expect(t, cgo.EventDTOCompletion)
			if d := dto.DTO(); d.UserCookie != before || d.Status == cgo.DTOSuccess || d.Operation != cgo.DTORDMARead {
				t.Fatalf("request %d completes with %v, want request %d to fail", d.UserCookie, d.Status, before)
			}
			active.connect.next(t)
			passive.connect.next(t)
			active.idleSoon(t)
			active.request.empty(t)
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
			active.wantIdle(t, true, true)
			a.connect(t, a.listen(t), active, passive, nil)
		}
	})
}

// What the end of a connection flushes is reported, even if it is suppressed.
func TestSuppressedRequestsFlushed(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		disconnect(t, active, passive)
		most := uint64(endpointAttr().MaxRequestDTOs)
		for cookie := range most {
			remote := passive.memory.remote(0, 8)
			success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, &remote, cgo.CompletionSuppress))
		}
		for cookie := range most {
			active.request.expectFlushed(t, cookie)
		}
		active.request.empty(t)
		active.idleSoon(t)
	})
}
