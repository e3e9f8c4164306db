package udat

import (
	"time"
	"weak"

	"github.com/goudat/goudat/cgo"
)

// backlog is the part of an EVD's queue that lies in Go. The program reads it
// before the library's.
type backlog struct {
	events []Event
	head   int
}

func (b *backlog) push(e Event) {
	if len(b.events) == cap(b.events) && b.head > len(b.events)/2 {
		n := copy(b.events, b.events[b.head:])
		clear(b.events[n:])
		b.events, b.head = b.events[:n], 0
	}
	b.events = append(b.events, e)
}

func (b *backlog) pop(e *Event) bool {
	if b.head == len(b.events) {
		return false
	}
	*e = b.events[b.head]
	b.events[b.head] = Event{} // let go of what it refers to
	b.head++
	if b.head == len(b.events) {
		b.events, b.head = b.events[:0], 0
	}
	return true
}

func (b *backlog) len() int { return len(b.events) - b.head }

// maxAsyncBacklog bounds what nobody takes: no program needs to look at the
// asynchronous EVD.
const maxAsyncBacklog = 4096

// queue adds an event to the backlog that has its room, since it was in the library's
// queue. If it is a completion, its direction has counted it already. The caller holds mu.
func (evd *EVD) queue(event Event) {
	if evd.duties != 0 {
		evd.beforeQueued()
	}
	evd.backlog.push(event)
	evd.arrivals++
}

// enqueue adds an event that has no room, and takes room for it even if there is none. The
// caller holds mu.
func (evd *EVD) enqueue(event Event) {
	if evd.duties&countRoom != 0 {
		evd.room.Force(1)
	}
	if event.Number == EventConnectionRequest {
		evd.requests++
	}
	if d := event.direction(); d != nil {
		d.inBacklog.Add(1)
	}
	evd.queue(event)
}

// beforeQueued is called before an event is added to the backlog. If the EVD counts its
// room, it notes that the event moves to the backlog. It also bounds the backlog of
// asynchronous errors.
func (evd *EVD) beforeQueued() {
	if evd.duties&countRoom != 0 {
		evd.room.Queue()
	}
	if evd.duties&boundBacklog != 0 && evd.backlog.len() >= max(maxAsyncBacklog, evd.length()) {
		var oldest Event
		evd.backlog.pop(&oldest)
		evd.dropped++
	}
}

// pop takes the first event of the backlog. The caller holds mu.
func (evd *EVD) pop(event *Event) bool {
	if !evd.backlog.pop(event) {
		return false
	}
	evd.noteTaken(event)
	return true
}

// noteTaken notes that an event has left the backlog, and the queue.
func (evd *EVD) noteTaken(event *Event) {
	if evd.duties&countRoom != 0 {
		evd.room.Leave()
	}
	if d := event.direction(); d != nil {
		d.inBacklog.Add(-1)
	}
	evd.taken(event)
}

// direction returns the direction that has the record of a completion's operation. It
// returns nil for any other event, and for the completion of a shared receive.
func (event *Event) direction() *direction {
	if !event.isCompletion() || event.native == nil {
		return nil
	}
	switch event.Operation {
	case DTOReceive, DTOIBRecvImmed, DTOIBRecvMsgImmed:
		if event.native.recv.shared {
			return nil
		}
		return &event.native.recv
	}
	return &event.native.request
}

// unlock releases mu. If events have come to the backlog and are still there, it wakes the
// waiters that can use them. If completions were recorded, it wakes the binding's own
// waiters, whether or not the program gets an event of them.
func (evd *EVD) unlock() {
	switch {
	case evd.arrivals == 0:
	case evd.arrivals == recordedArrivals && !evd.waiters.observed.Load(): // the usual case, without a call
		evd.arrivals = 0
	default:
		evd.tell()
	}
	evd.mu.Unlock()
}

// arrivals is the number of events that have come to the backlog, and the flag recordedArrivals.
type arrivals int

// recordedArrivals says that completions of endpoints were recorded.
const recordedArrivals arrivals = 1 << 30

func (evd *EVD) tell() {
	if evd.arrivals&recordedArrivals != 0 {
		evd.waiters.tellObservers()
	}
	if n := int(evd.arrivals &^ recordedArrivals); n > 0 {
		evd.waiters.wakeFor(n, evd.backlog.len())
		evd.announce()
	}
	evd.arrivals = 0
}

// reap moves what the library has queued to the backlog, where the program
// finds it in the same order. The records of the endpoints are up to date then.
// The caller holds the gate.
func (evd *EVD) reap() {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
}

// add puts an event of the binding's own behind those that are there.
func (evd *EVD) add(event Event) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	evd.enqueue(event)
}

// addWithin is add unless the queue is as long as it may be.
func (evd *EVD) addWithin(event Event) bool {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	if evd.backlog.len() >= evd.length() {
		return false
	}
	evd.enqueue(event)
	return true
}

// forget removes the events for which drop reports true.
func (evd *EVD) forget(drop func(*Event) bool) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	var rest backlog
	var event Event
	for evd.backlog.pop(&event) {
		if drop(&event) {
			evd.noteTaken(&event)
		} else {
			rest.push(event)
		}
	}
	evd.backlog = rest
}

// keepEmpty arms the EVD, and takes what the library has queued, whether or not
// the program wants it: the library's asynchronous EVD is dead for good once it
// was full, and events that a full queue of connection events does not take are lost. The
// agent gets the seat, as in arm.
func (evd *EVD) keepEmpty(seat cgo.Seat) {
	const op = "dat_evd_dequeue"
	if evd.object().enter(op, NoSubtype) != nil {
		return
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.unlock()
	if evd.arm(op, seat) != nil {
		// No program needs to look at it, so that nobody else may try again.
		again := weak.Make(evd) // no reason to keep an adapter that the program has dropped
		time.AfterFunc(armAgainAfter, func() {
			if evd := again.Value(); evd != nil {
				evd.keepEmpty(cgo.SameSeat)
			}
		})
	}
}

// arm makes sure that the library notifies of the next event, and moves to the backlog
// what the library has queued, even when arming fails. seat is where the agent wakes a
// goroutine from now on. After a failure the EVD is not armed and has no seat, and the next
// call of arm tries again. The caller holds the gate and mu.
func (evd *EVD) arm(op string, seat cgo.Seat) error {
	raw := evd.scratch(drainAtOnce)
	n, armed, r := cgo.EVDArm(evd.handle, evd.cno, evd.agent, seat, raw)
	if !armed {
		evd.drain()
		return checkArmed(op, r)
	}
	return checkDequeue(op, evd.drainFrom(raw, n, r))
}

// armAgainAfter is how long the binding's own waits on an EVD that could not be
// armed look for events without notifications, before they try again.
const armAgainAfter = 10 * time.Millisecond

// drainAtOnce is how many events one crossing moves to the backlog.
const drainAtOnce = 16

// drain moves to the backlog what the library has queued. The caller holds mu.
// A failure is that of whoever takes events next.
func (evd *EVD) drain() {
	raw := evd.scratch(drainAtOnce)
	n, r := cgo.EVDDequeueBatch(evd.handle, raw)
	evd.drainFrom(raw, n, r)
}

// drainFrom is drain, given the outcome of the first crossing. It returns that of the last
// one.
func (evd *EVD) drainFrom(raw []cgo.Event, n int, r cgo.Return) cgo.Return {
	for {
		for i := range raw[:n] {
			var event Event
			if evd.decode(&raw[i], &event, true) {
				evd.queue(event)
			}
		}
		if !r.OK() || n == 0 {
			return r
		}
		n, r = cgo.EVDDequeueBatch(evd.handle, raw)
	}
}
