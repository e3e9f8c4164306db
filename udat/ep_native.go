package udat

import (
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A nativeEP is a native endpoint with everything that belongs to it alone: its parts,
// the operations that are outstanding on it, and the one connection that it can have. An
// EP gets a new nativeEP when it is modified or reset, and when an attempt to connect
// fails. Completions, events, timers and goroutines refer to the nativeEP that they
// belong to. If they come late, they find that the EP has another one by now.
type nativeEP struct {
	ep     *EP
	serial uint64 // in the order of creation, in which directions are locked
	parts  epParts
	handle cgo.EPHandle
	number uint32 // in the adapter's endpoint table

	recv, request direction
	early         earlyReceives
	paused        chan struct{} // nil while posts are allowed, closed when they are again; guarded by both directions
	freed         bool          // freed in the library, or left behind there; guarded by EP.control

	connection connphase.Connection[Event]
	partner    atomic.Pointer[partner] // nil before the attempt
	breaking   bool                    // see broken; guarded by the lock of the asynchronous EVD
	abortedAt  time.Time               // when the binding ended an attempt that goes on in the library; guarded by EP.control
}

// newNative makes a native endpoint of the parts. It will replace former, which is nil
// for a new EP. The EP does not use it before publish.
func (ep *EP) newNative(op string, p epParts, former *nativeEP) (*nativeEP, error) {
	ia := ep.ia
	p.setDefaults(ia)
	if err := p.check(op, ia); err != nil {
		return nil, err
	}
	var err error
	p.queue, p.separateRecv = nil, nil
	if p.connect != nil {
		if p.queue, err = ia.connections.join(op, ia); err != nil {
			return nil, err
		}
	}
	n := &nativeEP{ep: ep, serial: births.Add(1), parts: p}
	a := p.attr
	n.recv.init(n, p.recv, a.MaxRecvDTOs, a.MaxRecvIOV)
	n.request.init(n, p.request, a.MaxRequestDTOs, a.MaxRequestIOV)
	lockorder.Number(&n.request.mu, 2*n.serial)
	lockorder.Number(&n.recv.mu, 2*n.serial+1)
	n.recv.shared = p.srq != nil
	if err = n.addStreams(op, former); err == nil {
		if err = n.create(op); err != nil {
			n.removeStreams()
		}
	}
	if err != nil {
		n.parts.leaveQueues(ia)
		return nil, err
	}
	number, ok := ia.endpoints.Add(n)
	if !ok {
		n.discard()
		return nil, refuse(op, ErrInsufficientResources, ResourceTEP, "the adapter has as many endpoints as can be told apart: free some, or open another adapter")
	}
	n.number = number
	n.recv.begin()
	n.request.begin()
	n.early.start()
	return n, nil
}

// moreReceives is added to the receives on iWARP: soft-iWARP of Linux 7.3 has no memory for
// endpoints of 128 receives and 64 requests.
const moreReceives = 1

func (n *nativeEP) create(op string) error {
	ia, p := n.ep.ia, &n.parts
	attr := p.attr.native()
	if ia.iwarp && p.recv != nil && p.srq == nil && p.attr.MaxRecvDTOs < ia.attr.MaxDTOPerEP {
		attr.MaxRecvDTOs += moreReceives
	}
	handle, err := p.createNative(op, ia, attr)
	n.handle = handle
	return err
}

// discard frees a native endpoint that was never used and that has no number.
func (n *nativeEP) discard() {
	n.removeStreams()
	if !cgo.EPFree(n.handle).OK() {
		n.parts.leaveBehind(n.ep.ia)
		return
	}
	n.parts.leaveQueues(n.ep.ia)
}

// withdraw is discard for a native endpoint that has a number.
func (n *nativeEP) withdraw() {
	n.ep.ia.endpoints.Hide(n.number)
	n.ep.ia.endpoints.Release(n.number)
	n.discard()
}

// publish makes n the native endpoint of its EP. Nobody else may use the EP meanwhile:
// it is new, or the caller holds its gate for writing.
func (n *nativeEP) publish() {
	if srq := n.parts.srq; srq != nil {
		srq.attach(n)
	}
	n.ep.native.Store(n)
	// This comes last: from here on, events that name the handle find the endpoint.
	n.ep.ia.endpoints.addHandle(n)
}

// current reports whether n is the native endpoint of its EP. That can change at any
// time unless the caller holds the gate or control.
func (n *nativeEP) current() bool { return n.ep.native.Load() == n }

// direction returns the queue that an operation belongs to.
func (n *nativeEP) direction(op operation) *direction {
	if op == opReceive {
		return &n.recv
	}
	return &n.request
}

// reap brings the records up to date with the library's queues. It does not enter the
// gates of the EVDs: the endpoint keeps them alive.
func (n *nativeEP) reap() {
	p := &n.parts
	for _, evd := range []*EVD{p.recv, p.request} {
		if evd != nil {
			evd.reap()
		}
	}
	if p.separateRecv != nil {
		p.separateRecv.reap()
	}
	p.queue.reap()
}

// fate says how the operations end that are outstanding when a native endpoint is freed.
type fate uint8

const (
	dropped  fate = iota // they do not complete
	flushed              // they complete with DTOErrFlushed
	reposted             // they are posted again, on another native endpoint
)

// free frees the native endpoint, or leaves it behind in the library if that fails.
// Nobody may use it afterwards in either case. Connection events that name it are dropped
// from then on, since their private data lies in its memory. A connection was ended
// before, by disconnectBeforeFree, without the gate. The caller holds the gate for writing, and has
// paused posts.
func (n *nativeEP) free(op string, outstanding fate) error {
	table := &n.ep.ia.endpoints
	if outstanding == reposted {
		table.Hide(n.number) // receives that are posted again must not complete as flushed
	}
	n.reap()
	table.removeHandle(n.handle)
	err := check(op, cgo.EPFree(n.handle))
	n.freed = true
	if outstanding == dropped {
		table.Hide(n.number)
	}
	// Take now what the library has left in its queues: the memory of its own records of
	// the endpoint may be used for something else later.
	n.reap()
	if outstanding != reposted {
		n.flush(outstanding)
	}
	if outstanding == flushed {
		table.Hide(n.number)
	}
	if err != nil {
		n.parts.leaveBehind(n.ep.ia)
	} else {
		table.Release(n.number)
		n.parts.leaveQueues(n.ep.ia)
	}
	if srq := n.parts.srq; srq != nil {
		srq.detach(n)
	}
	return err
}

// forgetRegions has the memory regions forget the native endpoint, which is freed.
func (n *nativeEP) forgetRegions() {
	n.lock()
	defer n.unlock()
	n.recv.known.leave(n)
	n.request.known.leave(n)
}

// flush retires the operations whose completions the library has lost. The program gets
// completions of them if outstanding is flushed.
func (n *nativeEP) flush(outstanding fate) {
	for _, d := range []*direction{&n.recv, &n.request} {
		if d.evd == nil {
			continue
		}
		for _, event := range d.flush() {
			if outstanding == flushed {
				d.evd.add(event)
			}
		}
	}
}

func (n *nativeEP) lock() {
	n.request.mu.Lock()
	n.recv.mu.Lock()
}

func (n *nativeEP) unlock() {
	n.recv.mu.Unlock()
	n.request.mu.Unlock()
}

// pausePosts has posts wait until resumePosts, so that the caller can wait for the library
// without holding a lock that others need. The caller holds control.
func (n *nativeEP) pausePosts() {
	n.lock()
	defer n.unlock()
	n.paused = make(chan struct{})
	n.recv.handle, n.request.handle = 0, 0
}

// resumePosts lets posts continue, on this native endpoint or on the one that has
// replaced it.
func (n *nativeEP) resumePosts() {
	n.lock()
	defer n.unlock()
	if !n.freed {
		n.recv.handle, n.request.handle = n.handle, n.handle
	}
	close(n.paused)
	n.paused = nil
}

// awaitPosts waits while posts are paused. It reports whether another attempt to post may
// succeed, also because they were resumed before the call.
func (d *direction) awaitPosts() bool {
	d.mu.Lock()
	paused, resumed := d.n.paused, d.handle != 0
	d.mu.Unlock()
	if paused != nil {
		mayWait()
		<-paused
		return true
	}
	return resumed || !d.n.current()
}
