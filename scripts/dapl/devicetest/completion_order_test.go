package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// long is the length of a read whose answer takes longer than the requests behind it.
const long = 1 << 20

// Requests complete in the order of posting. Soft-iWARP completes an RDMA read after requests that were posted later:
// the published library then uses the record of the read for another request.
func TestLateReadKeepsOrder(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		most := uint64(endpointAttr().MaxRequestDTOs)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		posted := uint64(0)
		post := func() {
			call, length := cgo.EPPostRDMAWrite, 8
			if posted%most == 0 {
				call, length = cgo.EPPostRDMARead, long
			}
			remote := to.remote(0, length)
			success(t, "posting a request", call(active.EPHandle, []cgo.LMRTriplet{from.local(0, length)}, posted, &remote, cgo.CompletionDefault))
			posted++
		}
		for posted < most {
			post()
		}
		for cookie := range 50 * most {
			event := active.request.completion(t, cgo.EventDTOCompletion, cookie)
			if read := cookie%most == 0; (event.DTO().Operation == cgo.DTORDMARead) != read {
				t.Fatalf("request %d completes as %v", cookie, event.DTO().Operation)
			}
			if posted < 50*most {
				post()
			}
		}
		active.wantIdle(t, true, true)
	})
}

// What was posted behind a request that fails is flushed, also if the adapter had handed it over before.
func TestSuccessBehindFailure(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		most := uint64(endpointAttr().MaxRequestDTOs)
		for range 3 {
			// The answer to the first read leaves time to post the others.
			remote := to.remote(0, long)
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{from.local(0, long)}, 0, &remote, cgo.CompletionDefault))
			segments, word := []cgo.LMRTriplet{active.memory.local(0, 8)}, to.remote(0, 8)
			wrong := word
			wrong.RMRContext ^= 0xffff00
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, segments, 1, &wrong, cgo.CompletionDefault))
			for cookie := uint64(2); cookie < most; cookie++ {
				success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &word, cgo.CompletionDefault))
			}
			active.request.completion(t, cgo.EventDTOCompletion, 0)
			for cookie := uint64(1); cookie < most; cookie++ {
				event := active.request.expect(t, cgo.EventDTOCompletion)
				dto := event.DTO()
				if dto.UserCookie != cookie || dto.Status == cgo.DTOSuccess || (cookie > 1 && dto.Status != cgo.DTOErrFlushed) {
					t.Fatalf("request %d completes with %v, want request %d to fail", dto.UserCookie, dto.Status, cookie)
				}
			}
			active.request.empty(t)

			// Nothing of that is left when the endpoints connect again.
			active.connect.next(t)
			passive.connect.next(t)
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
			a.connect(t, a.listen(t), active, passive, nil)
		}
	})
}
