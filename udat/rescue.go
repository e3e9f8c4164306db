package udat

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// rescue gets the library out of a disconnect that is stuck, by making it forget
// the receives that it waits for. Once may be too early, on a busy machine: what
// the adapter flushes after that, the library waits for again.
type rescue struct {
	ep       *EP
	flags    CloseFlags
	timer    *time.Timer
	returned atomic.Bool // the disconnect has

	mu    sync.Mutex // held during a look, guards what follows
	looks int
	stuck bool // at the look before
	done  bool
}

// lookEvery is far longer than a disconnect takes that is not stuck. It is taken
// for stuck at the second look in a row that says so: the first may come while
// the thread that disconnects has not run for long.
const lookEvery = 500 * time.Millisecond

// startRescue comes before the disconnect. The caller holds control and both
// directions until the rescue has ended.
func (ep *EP) startRescue(flags CloseFlags) *rescue {
	r := &rescue{ep: ep, flags: flags}
	r.mu.Lock()
	r.timer = time.AfterFunc(lookEvery, r.look)
	r.mu.Unlock()
	return r
}

// end comes after the disconnect, and tells whether receives were forgotten.
func (r *rescue) end() (done bool) {
	r.returned.Store(true)
	r.timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *rescue) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.returned.Load() {
		return
	}
	r.looks++
	flushing := r.isFlushing()
	if flushing && r.stuck {
		r.ep.recvEVD.reap() // messages that arrived before the end
		r.ep.forgetReceives(&r.returned)
		r.done = true
	}
	r.stuck = flushing
	r.timer.Reset(lookEvery)
}

// isFlushing tells whether a disconnect has got so far that no more receives
// succeed: a graceful one does not wait for the peer before that, an abrupt one
// for a moment. The caller holds mu.
func (r *rescue) isFlushing() bool {
	state, ret := nativeState(r.ep.handle)
	ended := state == EPStateDisconnected
	if state == EPStateDisconnectPending {
		ended = r.flags == CloseGraceful || r.looks > looksForPeer
	}
	return ret.OK() && ended && r.ep.recvEVD != nil
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
func (ep *EP) forgetReceives(returned *atomic.Bool) {
	const more = 1024 // segments than any adapter takes
	refused := make([]cgo.LMRTriplet, more)
	for n := 0; n < ep.attr.MaxRecvDTOs+freeReceives+1 && !returned.Load(); {
		r := cgo.EPPostRecv(ep.handle, refused, maxNumber<<numberShift, 0)
		if r.Type() != cgo.InsufficientResources || r.Subtype() != cgo.ResourceMemory {
			n++
			continue
		}
		time.Sleep(time.Millisecond) // the ring looks full, until the next completion
	}
}
