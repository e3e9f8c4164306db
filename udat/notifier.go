package udat

import (
	"os"
	"runtime"
	"sync/atomic"
	"weak"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// notifier wakes the goroutines that wait on an adapter's event dispatchers and hold no
// thread meanwhile. It has a CNO of its own, whose descriptor one goroutine watches,
// however many EVDs there are.
type notifier struct {
	cno   cgo.CNOHandle
	watch *watch

	// blocked is how many goroutines wait in dat_evd_wait: see EVD.lead.
	blocked atomic.Int32

	mu   lockorder.Mutex[lockorder.Last]
	evds map[cgo.EVDHandle]weak.Pointer[EVD] // no reason to keep an adapter that the program has dropped
}

func newNotifier(op string, ia cgo.IAHandle) (*notifier, error) {
	n := &notifier{evds: make(map[cgo.EVDHandle]weak.Pointer[EVD])}
	var err error
	n.cno, n.watch, err = createWatchedCNO(op, ia, n.dispatch)
	return n, err
}

// close ends the goroutine, and frees the CNO, which no EVD may use any more.
func (n *notifier) close(op string) error {
	n.watch.close() // first: it uses the CNO
	return check(op, cgo.CNOFree(n.cno))
}

// dispatch tells the EVDs that have triggered the CNO.
func (n *notifier) dispatch(cno cgo.CNOHandle) {
	for {
		handle, r := cgo.CNOTrigger(cno)
		if !r.OK() {
			return
		}
		if evd := n.find(handle); evd != nil {
			evd.passOn(true)
		}
	}
}

func (n *notifier) add(evd *EVD) {
	n.mu.Lock()
	n.evds[evd.handle] = weak.Make(evd)
	n.mu.Unlock()
}

func (n *notifier) remove(handle cgo.EVDHandle) {
	n.mu.Lock()
	delete(n.evds, handle)
	n.mu.Unlock()
}

// find returns the EVD with the handle, nil if it is freed.
func (n *notifier) find(handle cgo.EVDHandle) *EVD {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.evds[handle].Value()
}

// mostBlocked bounds how many goroutines of an adapter wait in the library, each of which
// holds a thread. Others wait for the notifier.
const mostBlocked = 8

// beginBlocking reports whether a goroutine may wait in the library. endBlocking must
// follow. Where one processor runs all goroutines, the wait would keep it from the others
// until the runtime notices.
func (n *notifier) beginBlocking() bool {
	if n.blocked.Add(1) <= mostBlocked && runtime.GOMAXPROCS(0) > 1 {
		return true
	}
	n.endBlocking()
	return false
}

func (n *notifier) endBlocking() { n.blocked.Add(-1) }

// watch calls a function when the descriptor of a CNO becomes readable, on a goroutine that
// holds no thread.
type watch struct {
	file *os.File
	done chan struct{} // closed when the goroutine has ended
}

// createWatchedCNO creates a CNO that calls triggered each time it is triggered after it
// was not, and once at the beginning, which may be before createWatchedCNO returns.
func createWatchedCNO(op string, ia cgo.IAHandle, triggered func(cgo.CNOHandle)) (cgo.CNOHandle, *watch, error) {
	cno, fd, r := cgo.CNOFDCreate(ia)
	if err := checkMade(op, r); err != nil {
		return 0, nil, err
	}
	// The library closes its descriptor, and the runtime the other.
	own, err := duplicate(fd)
	if err != nil {
		cgo.CNOFree(cno)
		return 0, nil, explained(op, classError|Return(ErrInsufficientResources), err)
	}
	w := &watch{os.NewFile(own, "notification object"), make(chan struct{})}
	go w.run(func() { triggered(cno) })
	return cno, w, nil
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
