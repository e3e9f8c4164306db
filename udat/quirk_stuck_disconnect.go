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

// rescue gets the library out of a disconnect that is stuck, by making it forget the
// receives that it waits for. On a busy machine once may be too early: the library waits
// again for receives that the adapter flushes after that.
type rescue struct {
	n        *nativeEP
	flags    CloseFlags
	returned chan struct{} // closed when the disconnect has returned
	ended    chan struct{} // closed when run has returned

	looks     int
	stuck     bool // the disconnect looked stuck at the look before
	forgotten bool // the library was made to forget receives
}

// lookEvery is far longer than a disconnect takes that is not stuck. A disconnect counts
// as stuck if it looks so twice in a row: at the first look, the thread that disconnects
// may only not have run for a while.
const lookEvery = 500 * time.Millisecond

// startRescue is called before the disconnect. Posts are paused until the rescue has
// ended.
func (n *nativeEP) startRescue(flags CloseFlags) *rescue {
	r := &rescue{n: n, flags: flags, returned: make(chan struct{}), ended: make(chan struct{})}
	if n.ep.ia.patched {
		close(r.ended)
		return r
	}
	go r.run()
	return r
}

// end is called after the disconnect. It reports whether the library was made to forget
// receives.
func (r *rescue) end() (forgotten bool) {
	close(r.returned)
	<-r.ended
	return r.forgotten
}

func (r *rescue) run() {
	defer close(r.ended)
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-r.returned:
			return
		case <-every.C:
			r.look()
		}
	}
}

func (r *rescue) look() {
	r.looks++
	flushing := r.isFlushing()
	if flushing && r.stuck {
		r.n.parts.recv.reap() // messages that arrived before the end
		r.n.forgetReceives(r.returned)
		r.forgotten = true
	}
	r.stuck = flushing
}

// isFlushing reports whether a disconnect has got so far that no more receives succeed.
// Before that, a graceful disconnect does not wait for the peer, and an abrupt one waits
// for a moment.
func (r *rescue) isFlushing() bool {
	state, ret := nativeState(r.n.handle)
	ended := state == EPStateDisconnected
	if state == EPStateDisconnectPending {
		ended = r.flags == CloseGraceful || r.looks > looksForPeer
	}
	return ret.OK() && ended && r.n.parts.recv != nil
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
