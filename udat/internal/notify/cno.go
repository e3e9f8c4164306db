package notify

import (
	"sync"
	"weak"

	"github.com/goudat/goudat/cgo"
)

// CNO is a CNO of the program, with the goroutines that wait on it.
type CNO struct {
	mu     sync.Mutex
	handle cgo.CNOHandle // 0 once freed
	parked parked
	watch  *watch
}

// CreateCNO creates a CNO. It fails as NewNotifier does.
func CreateCNO(ia cgo.IAHandle) (*CNO, cgo.Return, error) {
	c := &CNO{}
	forgettable := weak.Make(c) // the goroutine that watches is no reason to keep it
	var r cgo.Return
	var err error
	c.handle, c.watch, r, err = createWatchedCNO(ia, func(cgo.CNOHandle) {
		if c := forgettable.Value(); c != nil {
			c.wake()
		}
	})
	return c, r, err
}

// Handle returns the CNO. Nobody frees it meanwhile.
func (c *CNO) Handle() cgo.CNOHandle { return c.handle }

// Free frees the CNO, and ends all waits.
func (c *CNO) Free() cgo.Return {
	c.mu.Lock()
	r := cgo.CNOFree(c.handle)
	if r.OK() {
		c.handle = 0
		c.parked.wakeAll()
	}
	c.mu.Unlock()
	if r.OK() {
		c.watch.close()
	}
	return r
}

// Wait returns an EVD that has triggered the CNO. It may be one that is freed. It returns
// TimeoutExpired when stop is closed, and InvalidHandle when the CNO is freed.
func (c *CNO) Wait(stop <-chan struct{}) (cgo.EVDHandle, cgo.Return) {
	w := newWaiter(1)
	defer w.release()
	for {
		if evd, r := c.take(w); r.Type() != cgo.QueueEmpty {
			return evd, r
		}
		stopped := false
		select {
		case <-w.wake:
		case <-stop:
			stopped = true
		}
		c.mu.Lock()
		woken := !c.parked.remove(w)
		c.mu.Unlock()
		if stopped {
			if woken {
				c.wake()
			}
			return 0, cgo.TimeoutExpired.Return()
		}
	}
}

// take takes an EVD that has triggered the CNO, and wakes another waiter, since there may be
// more. If there is none, it parks the waiter.
func (c *CNO) take(w *waiter) (cgo.EVDHandle, cgo.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == 0 {
		return 0, freed
	}
	evd, r := cgo.CNOTrigger(c.handle)
	switch {
	case r.Type() == cgo.QueueEmpty:
		w.forgetWake()
		c.parked.add(w)
	case r.OK():
		c.parked.wakeSome()
	}
	return evd, r
}

func (c *CNO) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked.wakeSome()
}
