package udat

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// AwaitEvent waits until an event is queued, without taking it.
func AwaitEvent(ctx context.Context, evd *EVD) error {
	w := newWaiter(1)
	defer w.release()
	for {
		ready, err := armed(evd, 1)
		if ready || err != nil {
			return err
		}
		if err := evd.sleep(waitOp, w, nil, ctx.Done(), nil); err != nil {
			return err
		}
	}
}

// armed arms the EVD, and reports whether it has n events.
func armed(evd *EVD, n int) (ready bool, err error) {
	if err := evd.obj.enter(waitOp, NoSubtype); err != nil {
		return false, err
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.unlock()
	err = evd.arm(waitOp, cgo.SameSeat)
	return evd.backlog.len() >= n, err
}

// AwaitWaiter returns once a goroutine waits on the EVD.
func AwaitWaiter(evd *EVD) { AwaitWaiters(evd, 1) }

// AwaitWaiters returns once n goroutines wait on the EVD.
func AwaitWaiters(evd *EVD, n int) {
	l := &evd.waiters
	await(func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.singles.Len()+l.batches.Len()+l.observers.Len() >= n
	})
}

// HasSleeper reports whether the agent of the EVD has a seat to write to, and takes the
// seat away.
func HasSleeper(evd *EVD) bool {
	evd.mu.Lock()
	defer evd.unlock()
	_, age, _ := cgo.EVDLeaveSeat(evd.handle, evd.agent, evd.scratch(1))
	return age == 0
}

// MarkStuck notes that the library may have lost a queue pair that uses the EVD.
func MarkStuck(evd *EVD) { evd.obj.stuck.Store(true) }

// hold takes a lock on a goroutine of its own, since the test takes other locks in any
// order meanwhile. release releases it.
func hold(lock, unlock func()) (release func()) {
	over := make(chan struct{})
	taken, released := make(chan struct{}), make(chan struct{})
	go func() {
		lock()
		close(taken)
		<-over
		unlock()
		close(released)
	}()
	<-taken
	return func() {
		close(over)
		<-released
	}
}

// StallNotifications keeps the notifications of an adapter's EVDs from the goroutines that
// wait for them until resume is called.
func StallNotifications(ia *IA) (resume func()) {
	return hold(ia.notifier.dispatching.Lock, ia.notifier.dispatching.Unlock)
}

// StallRequests keeps the connection requests of an adapter with a service point
// from their service points until resume is called.
func StallRequests(ia *IA) (resume func()) {
	return hold(ia.services.mu.Lock, ia.services.mu.Unlock)
}

// AwaitCNOWaiters returns once n goroutines wait on the CNO, agents included.
func AwaitCNOWaiters(cno *CNO, n int) {
	await(func() bool { return CNOWaiters(cno) >= n })
}

func await(done func() bool) {
	for deadline := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			panic("what the test waits for does not happen")
		}
	}
}

// CNOWaiters returns how many goroutines wait on the CNO, agents included.
func CNOWaiters(cno *CNO) int {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	return cno.waiters.Len()
}

// CountsRoom reports whether posts need room on the EVD.
func CountsRoom(evd *EVD) bool {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	return evd.duties&countRoom != 0
}

// Queued is how many events lie in the backlog of the EVD.
func Queued(evd *EVD) int {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	return evd.backlog.len()
}

// Reap moves what the library has queued to the backlog.
func Reap(evd *EVD) { evd.tidy() }

// AwaitRest returns once a call has paused posts, to wait for the library.
func AwaitRest(ep *EP) {
	n := ep.native.Load()
	await(func() bool {
		n.lock()
		defer n.unlock()
		return n.paused != nil
	})
}

// Settle has the requests of an endpoint that rests over, whose completions were
// lost.
func Settle(ep *EP) {
	d := &ep.native.Load().request
	d.flush()
	d.evd.waiters.tellObservers()
}

// AwaitEmpty returns once no room of the EVD is taken.
func AwaitEmpty(evd *EVD) {
	await(func() bool { return evd.singles.Load() == 0 })
}

// Forged returns the segment with a key that belongs to no region, which the
// checks before a post cannot see.
func Forged(s Segment) Segment {
	s.triplet.LMRContext ^= 0xff
	return s
}

// ProvokeAsyncErrors makes the library report n errors on the asynchronous EVD,
// by overflows of an EVD whose room is not accounted for.
func ProvokeAsyncErrors(ia *IA, n int) error {
	provoke, release, err := PrepareAsyncErrors(ia)
	if err != nil {
		return err
	}
	defer release()
	for range n {
		if err := provoke(); err != nil {
			return err
		}
	}
	return nil
}

// PrepareAsyncErrors makes what provokes one asynchronous error each time.
func PrepareAsyncErrors(ia *IA) (provoke, release func() error, err error) {
	evd, err := CreateEVD(ia, 1, EVDSoftware)
	if err != nil {
		return nil, nil, err
	}
	for range evd.length() {
		if r := cgo.EVDPostSE(evd.handle, cgo.EventSoftware, 0); !r.OK() {
			return nil, nil, errors.Join(check("dat_evd_post_se", r), evd.Free())
		}
	}
	return func() error {
		if r := cgo.EVDPostSE(evd.handle, cgo.EventSoftware, 0); r.Type() != cgo.QueueFull {
			return check("dat_evd_post_se", r)
		}
		// The library reports the next overflow once there was room again.
		if r := cgo.EVDDequeue(evd.handle, new(cgo.Event)); !r.OK() {
			return check("dat_evd_dequeue", r)
		}
		return check("dat_evd_post_se", cgo.EVDPostSE(evd.handle, cgo.EventSoftware, 0))
	}, evd.Free, nil
}

// Pins returns the number of pieces of Go memory that are pinned.
func Pins() (n int) {
	pins.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// ConfigEntries returns library and parameters of each entry of a name in dat.conf.
func ConfigEntries(name string) (entries []string) {
	for _, e := range findConfigEntries(name) {
		entries = append(entries, e.library+" "+e.parameters)
	}
	return entries
}

// EventsSeen returns how many events lie in the backlog or were dropped from it.
func EventsSeen(evd *EVD) int {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	return evd.backlog.len() + int(evd.dropped)
}

// RawIA returns the adapter's native handle.
func RawIA(ia *IA) cgo.IAHandle { return ia.handle }

// SetAcceptTimeout replaces AcceptTimeout until restore is called.
func SetAcceptTimeout(d time.Duration) (restore func()) {
	old := acceptTimeout
	acceptTimeout = d
	return func() { acceptTimeout = old }
}

// LateTimeout returns a time-out of the attempt in progress, as one that is already
// on its way when the attempt ends.
func LateTimeout(ep *EP) (expire func()) {
	n := ep.native.Load()
	return func() { n.expire(EventConnectionTimedOut) }
}

// HoldPosts keeps the endpoint from posting and from disconnecting until release
// is called.
func HoldPosts(ep *EP) (release func()) {
	n := ep.native.Load()
	return hold(n.lock, n.unlock)
}

// HoldRequests keeps the endpoint from posting requests, and from disconnecting,
// until release is called. Receives can be posted.
func HoldRequests(ep *EP) (release func()) {
	d := &ep.native.Load().request
	return hold(d.mu.Lock, d.mu.Unlock)
}

// HoldOutcome keeps an attempt from being aborted until release is called.
func HoldOutcome(ep *EP) (release func()) { return decideOnAbort(ep, false) }

// decideOnAbort begins to decide whether the attempt in progress is aborted. decide makes
// the decision, which is abort.
func decideOnAbort(ep *EP, abort bool) (decide func()) {
	began, decided, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ep.native.Load().connection.DoAndKeep(connphase.Abort, Event{}, func() bool {
			close(began)
			<-decided
			return abort
		})
	}()
	<-began
	return func() {
		close(decided)
		<-done
	}
}

// BeginAbort begins to decide that the attempt in progress is aborted, which
// decide ends.
func BeginAbort(ep *EP) (decide func()) {
	unwatch(ep) // there is no call that aborts it
	return decideOnAbort(ep, true)
}

// AwaitsAnswer reports whether a disconnect that the peer does not answer will end.
func AwaitsAnswer(ep *EP) bool { return ep.native.Load().connection.Limited() }

// AwaitSettled waits until an event of the attempt in progress is being taken.
func AwaitSettled(ep *EP) {
	queue := ep.native.Load().parts.queue.evd
	await(func() bool {
		free := queue.mu.TryLock()
		if free {
			queue.unlock()
		}
		return !free
	})
}

// AwaitAbort waits until it is decided that the attempt in progress is aborted.
func AwaitAbort(ep *EP) {
	await(func() bool { return ep.native.Load().connection.Phase() == connphase.Aborted })
}

// AwaitControl waits until a call, or a time-out, has the endpoint to itself.
func AwaitControl(ep *EP) {
	await(func() bool {
		free := ep.control.TryLock()
		if free {
			ep.control.Unlock()
		}
		return !free
	})
}

// AwaitConnected waits until the library has established the connection.
func AwaitConnected(ep *EP) {
	await(func() bool {
		state, _, _, _ := cgo.EPGetStatus(ep.native.Load().handle)
		return EPState(state) == EPStateConnected
	})
}

// HoldConnectionEvents keeps the connection events of an endpoint's adapter in the
// library until resume is called. next has the binding take one, if there is one.
func HoldConnectionEvents(ep *EP) (next func() bool, resume func()) {
	q := ep.native.Load().parts.queue.evd
	asked, held, taken := make(chan struct{}), make(chan struct{}), make(chan bool)
	go func() {
		defer close(taken)
		q.mu.Lock()
		defer q.unlock()
		close(held)
		raw := make([]cgo.Event, 1)
		for range asked {
			n, _ := cgo.EVDDequeueBatch(q.handle, raw)
			if n > 0 {
				q.decode(&raw[0], &Event{}, true)
			}
			taken <- n > 0
		}
	}()
	<-held
	next = func() bool { asked <- struct{}{}; return <-taken }
	resume = func() { close(asked); <-taken }
	return next, resume
}

// SetSettleWithin replaces the time that the library has for an attempt that was
// aborted, until restore is called.
func SetSettleWithin(d time.Duration) (restore func()) {
	old := settleWithin
	settleWithin = d
	return func() { settleWithin = old }
}

// LoseCompletions has the completions of the endpoint's operations lost from now on.
func LoseCompletions(ep *EP) {
	ep.ia.endpoints.Hide(ep.native.Load().number)
}

// WithholdEnd withholds the event of the end of a connection until deliver is called.
func WithholdEnd(ep *EP) (deliver func()) {
	ep.ia.endpoints.removeHandle(ep.native.Load().handle)
	n := ep.native.Load()
	return func() {
		event := Event{Number: EventConnectionDisconnected, native: n}
		if n.handleEvent(&event) {
			n.deliver(event)
		}
	}
}

// SetBusyWithin replaces the time for which the freeing of a busy EVD is tried again,
// until restore is called.
func SetBusyWithin(d time.Duration) (restore func()) {
	old := busyWithin
	busyWithin = d
	return func() { busyWithin = old }
}

// SetEndWithin replaces the time that the library has from the end of a connection
// to its event, until restore is called.
func SetEndWithin(d time.Duration) (restore func()) {
	old := endWithin
	endWithin = d
	return func() { endWithin = old }
}

// DisconnectNatively breaks off an attempt in a way that its peer does not hear of.
func DisconnectNatively(ep *EP) {
	ep.control.Lock()
	defer ep.control.Unlock()
	n := ep.native.Load()
	n.connection.Do(connphase.Observe) // what follows is the end of a connection, not a failure
	unwatch(ep)
	cgo.EPDisconnect(n.handle, cgo.CloseAbrupt)
}

// unwatch ends the watching of an endpoint that a test leads astray.
func unwatch(ep *EP) {
	if ep.shadow != nil {
		ep.shadow.mu.Lock()
		defer ep.shadow.mu.Unlock()
		ep.shadow.beliefs = nil
	}
}

// AllowSegments lets sends of the endpoint have more segments than it was made
// for, which the library refuses.
func AllowSegments(ep *EP, n int) {
	d := &ep.native.Load().request
	d.mu.Lock()
	defer d.mu.Unlock()
	d.maxIOV = n
}

// AllowSharedSegments is AllowSegments for the receives of a shared queue.
func AllowSharedSegments(srq *SRQ, n int) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	srq.attr.MaxRecvIOV = n
}

// HasShadow reports whether assertions watch the endpoint.
func HasShadow(ep *EP) bool { return ep.shadow != nil }

// ForceShadow makes the shadow of the endpoint believe in a state.
func ForceShadow(ep *EP, state EPState) {
	ep.shadow.mu.Lock()
	defer ep.shadow.mu.Unlock()
	ep.shadow.beliefs = []belief{{state: state}}
}

// ResetNative resets the native endpoint behind the binding's back.
func ResetNative(ep *EP) error { return check("dat_ep_reset", cgo.EPReset(ep.native.Load().handle)) }

// StepsKept is how many steps the history of an endpoint has.
const StepsKept = stepsKept

// LeakText is what PrintLeak prints.
var LeakText = leakText

// ReportLeak reports the leak of an adapter that is none.
func ReportLeak() {
	if report := fakeLeak().leak(); report != nil {
		report()
	}
}

func fakeLeak() *ledger { return &ledger{records: map[uint64]record{0: {}}} }

// LeakFake has an object that is no adapter reported as one when the garbage collector finds
// that it was dropped, which it is.
func LeakFake() { runtime.AddCleanup(new([64]byte), (*ledger).dropped, fakeLeak()) }

// LeftBehind reports whether the adapter was closed in Go alone, since the
// library had lost objects of it: its goroutines and descriptors stay.
func LeftBehind(ia *IA) bool { return ia.orphans.Load() }

// SetLatency replaces what the binding believes that notifications of the adapter
// take, of which waits spin a multiple.
func SetLatency(ia *IA, d time.Duration) { ia.notifier.latency.average.Store(int64(d)) }

// SpinFor has the next wait on the EVD spin for so long, beyond MaxSpin too.
func SpinFor(evd *EVD, d time.Duration) {
	SetLatency(evd.ia, d)
	evd.waiters.setSpin(d)
}

// Spinners returns how many goroutines of the process spin in a wait.
func Spinners() int { return int(spinners.Load()) }

// HasLongPosts reports whether posting a request to the adapter takes long.
func HasLongPosts(ia *IA) bool { return ia.software }

// SpendTurn makes the last turn of the process one that ended long ago.
func SpendTurn() { lastTurn.Store(int64(time.Since(turnEpoch) - 2*longestTurn)) }

// TurnHasEnded reports whether a turn has ended since SpendTurn.
func TurnHasEnded() bool { return time.Since(turnEpoch)-time.Duration(lastTurn.Load()) < longestTurn }

// Number returns the number by which completions name the endpoint.
func Number(ep *EP) uint32 { return ep.native.Load().number }

// MappingProblem says why pages of memory cannot be registered, nil if they can.
var MappingProblem = mappingProblem

// BreakQueuePair has the adapter report an error of the endpoint's queue pair, which
// soft-RoCE of older kernels does not.
func BreakQueuePair(ep *EP) {
	async := ep.ia.async
	async.mu.Lock()
	defer async.unlock()
	ep.native.Load().broken()
}

// Breaking reports whether the connection of the endpoint is about to be ended since
// the adapter has reported an error of its queue pair.
func Breaking(ep *EP) bool {
	async := ep.ia.async
	async.mu.Lock()
	defer async.unlock()
	return ep.native.Load().breaking
}

// CountUnmapped counts the regions whose memory goes back to the system.
func CountUnmapped() (unmapped func() int, restore func()) {
	var n atomic.Int64
	giveBack = func(mapping []byte) {
		n.Add(1)
		unmapMemory(mapping)
	}
	return func() int { return int(n.Load()) }, func() { giveBack = unmapMemory }
}

// LooksAtOnce is how often PeerByte.SpinUntil looks without a budget.
const LooksAtOnce = looksAtOnce

// TurnBegun returns when the goroutines that spin on a byte of the region last let others run.
func TurnBegun(lmr *LMR) time.Duration { return time.Duration(lmr.turnBegun.Load()) }

// EndTurn makes the turn of those who spin on the EVD last too long.
func EndTurn(evd *EVD) {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	evd.turn.begun = time.Since(turnEpoch) - longestTurn
}

// InTurn reports whether the turn of those who spin on the EVD has begun since EndTurn.
func InTurn(evd *EVD, since time.Time) bool {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	return evd.turn.begun >= since.Sub(turnEpoch)
}

// NeededRevision is the least revision of the native library.
const NeededRevision = neededRevision

// LoadLibrary loads a library for the life of the process.
func LoadLibrary(path string) error {
	if library, message := cgo.DLOpen(path); library == 0 {
		return errors.New(message)
	}
	return nil
}
