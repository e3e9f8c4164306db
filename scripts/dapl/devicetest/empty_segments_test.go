package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// Segments of no bytes stand for nothing, wherever they are, and operations without segments are done. Soft-iWARP takes an
// empty one for the end of the list, refuses a receive without any, and ends the connection at a read with a fence.
func TestEmptySegments(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		around := func(m *memory) []cgo.LMRTriplet {
			return []cgo.LMRTriplet{m.local(0, 0), m.local(0, 8)}
		}
		copy(active.memory.bytes, "8 bytes.")
		success(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, around(passive.memory), 1, cgo.CompletionDefault))
		success(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, nil, 2, cgo.CompletionDefault))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, around(active.memory), 3, cgo.CompletionDefault))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 4, cgo.CompletionDefault))
		received := passive.recv.completion(t, cgo.EventDTOCompletion, 1)
		if length := received.DTO().TransferredLength; length != 8 || string(passive.memory.bytes[:8]) != "8 bytes." {
			t.Errorf("received %d bytes: %q", length, passive.memory.bytes[:8])
		}
		passive.recv.completion(t, cgo.EventDTOCompletion, 2)

		remote := passive.memory.remote(0, 8)
		success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{active.memory.local(64, 8)}, 5, &remote,
			cgo.CompletionBarrierFence))
		for cookie := range uint64(3) {
			active.request.completion(t, cgo.EventDTOCompletion, cookie+3)
		}
		if got := string(active.memory.bytes[64:72]); got != "8 bytes." {
			t.Errorf("read %q", got)
		}
	})
}
