package devicetest

import (
	"slices"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// tooMany are more segments than any adapter takes.
func (m *memory) tooMany() []cgo.LMRTriplet {
	return slices.Repeat([]cgo.LMRTriplet{m.local(0, 1)}, 1000)
}

func wantRefused(t *testing.T, call string, r cgo.Return) {
	t.Helper()
	if r.OK() {
		t.Fatalf("%s has succeeded", call)
	}
}

// Operations in flight keep their cookies when later posts are refused, and still count as outstanding.
func TestRefusedPostKeepsCookies(t *testing.T) {
	if !hasPatches(t) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		most := uint64(endpointAttr().MaxRecvDTOs)
		for cookie := range most {
			passive.postRecv(t, cookie)
			active.postRecv(t, cookie)
			wantRefused(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		if _, recvIdle, _, r := cgo.EPGetStatus(active.EPHandle); recvIdle == 0 {
			t.Errorf("an endpoint with receives is idle (%v)", r)
		}
		r := cgo.EPPostRecv(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, most, cgo.CompletionDefault)
		outcome(t, "EPPostRecv beyond the queue", r, cgo.InsufficientResources, cgo.ResourceMemory)

		for cookie := range most {
			r := cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, cookie, cgo.CompletionDefault)
			success(t, "EPPostSend", r)
			wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		for cookie := range most {
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		disconnect(t, active, passive)
		for cookie := range most {
			active.recv.expectFlushed(t, cookie)
		}
		active.recv.empty(t)
	})
}
