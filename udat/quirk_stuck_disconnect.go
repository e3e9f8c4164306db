package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/numbers"
)

// The library's disconnect does not return until all posted receives are flushed, and
// waits forever for one that was posted while the peer disconnected: the adapter may
// have done its flushing by then.

// rescue gets the library out of a disconnect that is stuck, by making it forget
// the receives that it waits for. Once may be too early, on a busy machine: what
// the adapter flushes after that, the library waits for again.
type rescue struct {
	n        *nativeEP
	flags    CloseFlags
	returned chan struct{} // closed when the disconnect has returned
	ended    chan struct{} // closed when nobody looks any more

	looks     int
	stuck     bool // at the look before
	forgotten bool // receives were
}

// lookEvery is far longer than a disconnect takes that is not stuck. It is taken
// for stuck at the second look in a row that says so: the first may come while
// the thread that disconnects has not run for long.
const lookEvery = 500 * time.Millisecond

// startRescue comes before the disconnect. The caller has barred the endpoint until
// the rescue has ended.
func (n *nativeEP) startRescue(flags CloseFlags) *rescue {
	r := &rescue{n: n, flags: flags, returned: make(chan struct{}), ended: make(chan struct{})}
	go r.run()
	return r
}

// end comes after the disconnect, and tells whether receives were forgotten.
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

// isFlushing tells whether a disconnect has got so far that no more receives
// succeed: a graceful one does not wait for the peer before that, an abrupt one
// for a moment.
func (r *rescue) isFlushing() bool {
	state, ret := nativeState(r.n.handle)
	ended := state == EPStateDisconnected
	if state == EPStateDisconnectPending {
		ended = r.flags == CloseGraceful || r.looks > looksForPeer
	}
	return ret.OK() && ended && r.n.parts.recv != nil
}

// looksForPeer are far more than there are while the library waits for the peer.
const looksForPeer = 10

// forgetReceives makes the library forget the receives that it waits for. It
// keeps them in a ring, between one end that a post moves on and another that a
// completion sets to its own place, and waits until both are the same. A receive
// that the verbs layer refuses moves the one and sets the other to it. After a
// whole lap of those, both ends are where the last receive is: the completion of
// that, should it come yet, changes nothing. Completions that come after the lap
// name no endpoint and are dropped.
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
