package notify

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/machine"
)

// Notifier wakes the goroutines that are parked on an adapter's queues. It has a CNO of its own,
// whose descriptor one goroutine watches, however many queues there are.
type Notifier struct {
	cno     cgo.CNOHandle
	watch   *watch
	library *library

	blocking atomic.Int32 // goroutines
	sleeps   atomic.Uint64

	find func(cgo.EVDHandle) *Queue
}

// NewNotifier makes the notifier of an adapter. find returns the queue of an EVD, nil for one that
// is freed, and is no reason to keep an adapter that the program has dropped. NewNotifier fails
// with an error if there are no descriptors left, and else with what dat_cno_fd_create returns.
func NewNotifier(ia cgo.IAHandle, find func(cgo.EVDHandle) *Queue) (*Notifier, cgo.Return, error) {
	n := &Notifier{find: find, library: native}
	var r cgo.Return
	var err error
	n.cno, n.watch, r, err = createWatchedCNO(ia, n.dispatch)
	return n, r, err
}

// CNO returns the CNO, to which EVDs are attached that are not attached to one of the program's.
func (n *Notifier) CNO() cgo.CNOHandle { return n.cno }

// Sleeps returns how many waits have found no event before they blocked or parked.
func (n *Notifier) Sleeps() uint64 { return n.sleeps.Load() }

// Close ends the goroutine, and frees the CNO, which no EVD may use any more.
func (n *Notifier) Close() cgo.Return {
	n.watch.close() // first: it uses the CNO
	return cgo.CNOFree(n.cno)
}

// dispatch wakes waiters of the EVDs that have triggered the CNO.
func (n *Notifier) dispatch(cno cgo.CNOHandle) {
	for {
		evd, r := cgo.CNOTrigger(cno)
		if !r.OK() {
			return
		}
		if q := n.find(evd); q != nil {
			q.wakeAfter(true)
		}
	}
}

// mostBlocking bounds how many goroutines of an adapter block, each of which holds a thread.
const mostBlocking = 8

// acquireThread reports whether a goroutine may block with its thread; releaseThread must follow.
// With one processor a blocking goroutine would keep it from all others until the runtime notices.
func (n *Notifier) acquireThread() bool {
	if n.blocking.Add(1) <= mostBlocking && runtime.GOMAXPROCS(0) > 1 {
		return true
	}
	n.releaseThread()
	return false
}

func (n *Notifier) releaseThread() { n.blocking.Add(-1) }

// watch calls a function when a CNO's descriptor becomes readable. Its goroutine holds no thread.
type watch struct {
	file *os.File
	done chan struct{} // closed when the goroutine has ended
}

// createWatchedCNO creates a CNO that calls triggered each time it is triggered after it
// was not, and once at the beginning, which may be before createWatchedCNO returns.
func createWatchedCNO(ia cgo.IAHandle, triggered func(cgo.CNOHandle)) (cgo.CNOHandle, *watch, cgo.Return, error) {
	cno, fd, r := cgo.CNOFDCreate(ia)
	if !r.OK() {
		return 0, nil, r, nil
	}
	// The library closes its descriptor, and the runtime the other.
	own, err := machine.Duplicate(fd)
	if err != nil {
		cgo.CNOFree(cno)
		return 0, nil, r, err
	}
	w := &watch{os.NewFile(own, "notification object"), make(chan struct{})}
	if err := w.file.SetReadDeadline(time.Time{}); err != nil { // the poller did not take it
		w.file.Close()
		cgo.CNOFree(cno)
		return 0, nil, r, err
	}
	go w.run(func() { triggered(cno) })
	return cno, w, r, nil
}

func (w *watch) run(triggered func()) {
	defer close(w.done)
	conn, err := w.file.SyscallConn()
	if err != nil {
		return // it was closed already
	}
	// Nobody reads here: Go's poller, which looks for edges, reports each trigger. The only
	// error is that of the closed file.
	_ = conn.Read(func(uintptr) bool {
		triggered()
		return false
	})
}

func (w *watch) close() {
	w.file.Close()
	<-w.done
}
