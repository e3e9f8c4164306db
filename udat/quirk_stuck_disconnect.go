package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/numbers"
)

// The library's disconnect does not return until all posted receives are flushed, and
// waits forever for one that was posted while the peer disconnected: the adapter may
// have done its flushing by then. The patched library has the adapter flush again, and
// needs no rescue.

// lookEvery is far longer than a disconnect takes that is not stuck. A disconnect counts
// as stuck if it looks so twice in a row: at the first look, the thread that disconnects
// may only not have run for a while.
const lookEvery = 500 * time.Millisecond

// disconnectNative makes the library disconnect, and rescues it if it gets stuck. It reports
// whether the library was made to forget receives. The caller has paused posts.
func (n *nativeEP) disconnectNative(flags CloseFlags) (r cgo.Return, forgotten bool) {
	if n.ep.ia.patched {
		return cgo.EPDisconnect(n.handle, cgo.CloseFlags(flags)), false
	}
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	returned, rescued := make(chan struct{}), make(chan bool)
	go func() { rescued <- n.rescue(flags, every.C, returned) }()
	r = cgo.EPDisconnect(n.handle, cgo.CloseFlags(flags))
	close(returned)
	return r, <-rescued
}

// rescue gets the library out of a disconnect that is stuck, by making it forget the
// receives that it waits for. On a busy machine once may be too early: the library waits
// again for receives that the adapter flushes after that. It looks at each time that it
// receives, until returned is closed, which tells that the disconnect has returned.
func (n *nativeEP) rescue(flags CloseFlags, times <-chan time.Time, returned <-chan struct{}) (forgotten bool) {
	stuck := false // the disconnect looked stuck at the look before
	for looks := 1; ; looks++ {
		select {
		case <-returned:
			return forgotten
		case <-times:
		}
		flushing := n.isFlushing(flags, looks)
		if flushing && stuck {
			n.parts.recv.reap() // messages that arrived before the end
			n.forgetReceives(returned)
			forgotten = true
		}
		stuck = flushing
	}
}

// isFlushing reports whether a disconnect has got so far that no more receives succeed.
// Before that, a graceful disconnect does not wait for the peer, and an abrupt one waits
// for a moment.
func (n *nativeEP) isFlushing(flags CloseFlags, looks int) bool {
	state, r := nativeState(n.handle)
	ended := state == EPStateDisconnected
	if state == EPStateDisconnectPending {
		ended = flags == CloseGraceful || looks > looksForPeer
	}
	return r.OK() && ended && n.parts.recv != nil
}

// looksForPeer is far more looks than there are while the library waits for the peer.
const looksForPeer = 10

// forgetReceives makes the library forget the receives that it waits for. The library
// keeps them in a ring with two ends: a post advances one, and a completion sets the other
// to its own place. The library waits until both are equal. A receive that the verbs layer
// refuses advances the one and sets the other to it. After a whole lap of such receives,
// both ends are at the place of the last receive, whose completion changes nothing if it
// still comes. Completions that come after the lap name no endpoint and are dropped.
//
// In the patched library a refused receive sets the first end back, and forgets nothing.
func (n *nativeEP) forgetReceives(returned <-chan struct{}) {
	const more = 1024 // segments than any adapter takes
	refused := make([]cgo.LMRTriplet, more)
	for posted := 0; posted < n.parts.attr.MaxRecvDTOs+freeReceives+1 && !isClosed(returned); {
		r := cgo.EPPostRecv(n.handle, refused, numbers.None<<numberShift, 0)
		if r.Type() != cgo.InsufficientResources || r.Subtype() != cgo.ResourceMemory {
			posted++
			continue
		}
		time.Sleep(time.Millisecond) // the ring looks full, until the next completion
	}
}
