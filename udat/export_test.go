package udat

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// AwaitWaiter returns once a goroutine waits on the EVD.
func AwaitWaiter(evd *EVD) { AwaitWaiters(evd, 1) }

// AwaitWaiters returns once n goroutines wait on the EVD.
func AwaitWaiters(evd *EVD, n int) {
	await(func() bool { return waitersOf(evd) >= n })
}

// AwaitNoWaiter returns once nobody waits on the EVD.
func AwaitNoWaiter(evd *EVD) { await(func() bool { return waitersOf(evd) == 0 }) }

func waitersOf(evd *EVD) int {
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leading {
		return l.parked.Len() + 1
	}
	return l.parked.Len()
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

// Forged returns the segment with a key that belongs to no region, which the
// checks before a post cannot see.
func Forged(s Segment) Segment {
	s.triplet.LMRContext ^= 0xff
	return s
}

// ProvokeAsyncErrors makes the library report n errors on the asynchronous EVD, by overflows of another.
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
	param, err := evd.Query()
	for range param.QLen {
		err = errors.Join(err, evd.PostSE(0))
	}
	if err != nil {
		return nil, nil, err
	}
	return func() error { // a full EVD is reported once until an event was taken
		if _, err := evd.Dequeue(); err != nil {
			return err
		}
		if err := evd.PostSE(0); err != nil {
			return err
		}
		if err := evd.PostSE(0); !errors.Is(err, ErrQueueFull) {
			return err
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

// SetBusyWithin replaces the time for which the freeing of a busy EVD is tried again,
// until restore is called.
func SetBusyWithin(d time.Duration) (restore func()) {
	old := busyWithin
	busyWithin = d
	return func() { busyWithin = old }
}

// AllowSegments lets sends of the endpoint have more segments than it was made
// for, which the library refuses.
func AllowSegments(ep *EP, n int) {
	d := &ep.request
	d.mu.Lock()
	defer d.mu.Unlock()
	d.maxIOV = n
}

// AllowSharedSegments is AllowSegments for the receives of a shared queue.
func AllowSharedSegments(srq *SRQ, n int) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	srq.maxIOV = n
}

// HasShadow reports whether assertions watch the endpoint.
func HasShadow(ep *EP) bool { return ep.shadow != nil }

// ForceShadow makes the shadow of the endpoint believe in a state.
func ForceShadow(ep *EP, state EPState) {
	ep.shadow.Believe(cgo.EPState(state))
}

// ResetNative resets the native endpoint behind the binding's back.
func ResetNative(ep *EP) error { return check("dat_ep_reset", cgo.EPReset(ep.handle)) }

// StepsKept is how many steps the history of an endpoint has.
const StepsKept = shadow.StepsKept

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

// HasLongPosts reports whether posting a request to the adapter takes long.
func HasLongPosts(ia *IA) bool { return ia.software }

// SpendTurn makes the last turn of the process one that ended long ago.
func SpendTurn() { lastTurn.Store(int64(time.Since(turnEpoch) - 2*longestTurn)) }

// TurnHasEnded reports whether a turn has ended since SpendTurn.
func TurnHasEnded() bool { return time.Since(turnEpoch)-time.Duration(lastTurn.Load()) < longestTurn }

// CountUnmapped counts the regions whose memory goes back to the system.
func CountUnmapped() (unmapped func() int, restore func()) {
	var n atomic.Int64
	giveBack = func(mapping []byte) {
		n.Add(1)
		unmapMemory(mapping)
	}
	return func() int { return int(n.Load()) }, func() { giveBack = unmapMemory }
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

// Queued is how many events are in the queue of the EVD, which nobody waits on.
func Queued(evd *EVD) int {
	evd.lock()
	defer evd.mu.Unlock()
	var param cgo.EVDParam
	cgo.EVDQuery(evd.handle, cgo.EVDFieldAll, &param)
	var event cgo.Event
	more, r := cgo.EVDWait(evd.handle, 0, param.QLen, &event)
	if r.OK() {
		panic("the queue is full, and has one event less now")
	}
	return int(more)
}

// EndTurn makes the turn of those who spin on the EVD last too long.
func EndTurn(evd *EVD) {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	evd.turn.begun = time.Since(turnEpoch) - longestTurn
}

// BlockedIn returns how many goroutines wait in the library.
func BlockedIn(ia *IA) int { return int(ia.notifier.blocked.Load()) }

// Armed reports whether the notifier is told of events.
func Armed(evd *EVD) bool {
	evd.waiters.mu.Lock()
	defer evd.waiters.mu.Unlock()
	return evd.waiters.armed
}
