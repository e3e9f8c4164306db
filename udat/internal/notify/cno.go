package notify

import (
	"sync"
	"weak"

	"github.com/goudat/goudat/cgo"
)

// CNO is a CNO of the program, with its waiters and agent. E is what the program has for an EVD.
type CNO[E any] struct {
	find func(cgo.EVDHandle) *E // nil for one that is freed

	mu     sync.Mutex
	handle cgo.CNOHandle // 0 once freed
	parked parked
	watch  *watch
	agent  func(*E)      // nil when there is none, or it was called
	stop   chan struct{} // closed when the goroutine that waits for the agent's sake is to end; nil without one
}

// CreateCNO creates a CNO. It fails as NewNotifier does.
func CreateCNO[E any](ia cgo.IAHandle, find func(cgo.EVDHandle) *E) (*CNO[E], cgo.Return, error) {
	c := &CNO[E]{find: find}
	forgettable := weak.Make(c) // the goroutine that watches is no reason to keep it
	var r cgo.Return
	var err error
	c.handle, c.watch, r, err = createWatchedCNO(ia, func(cgo.CNOHandle) {
		if c := forgettable.Value(); c != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.parked.wakeSome()
		}
	})
	return c, r, err
}

// Handle returns the CNO. Nobody frees it meanwhile.
func (c *CNO[E]) Handle() cgo.CNOHandle { return c.handle }

// Free frees the CNO, and ends all waits.
func (c *CNO[E]) Free() cgo.Return {
	c.mu.Lock()
	r := cgo.CNOFree(c.handle)
	if r.OK() {
		c.handle, c.agent = 0, nil
		c.parked.wakeAll()
	}
	c.mu.Unlock()
	if r.OK() {
		c.watch.close()
	}
	return r
}

// Agent returns the agent.
func (c *CNO[E]) Agent() func(*E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent
}

// SetAgent replaces the agent. It keeps the goroutine that waits for an agent's sake: were each
// agent to have its own, a program that replaces agents fast would make them faster than they end.
func (c *CNO[E]) SetAgent(agent func(*E)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent = agent
	switch {
	case agent != nil && c.stop == nil:
		c.stop = make(chan struct{})
		go c.callAgent(c.stop)
	case agent == nil && c.stop != nil:
		close(c.stop)
		c.stop = nil
	}
}

// callAgent waits as any program may, and calls the agent that there is when it takes an EVD.
func (c *CNO[E]) callAgent(stop chan struct{}) {
	var agent func(*E)
	evd, r := c.wait(stop, func(w *waiter) (*E, cgo.Return) {
		if c.stop != stop { // what it took would be lost to others
			c.parked.wakeSome() // it may have been woken for them
			return nil, cgo.TimeoutExpired.Return()
		}
		evd, r := c.take(w)
		if r.OK() {
			agent, c.agent, c.stop = c.agent, nil, nil
		}
		return evd, r
	})
	if r.OK() {
		agent(evd)
	}
}

// Wait returns an EVD that has triggered the CNO. It returns TimeoutExpired when stop is closed and
// there is none, and InvalidHandle when the CNO is freed.
func (c *CNO[E]) Wait(stop <-chan struct{}) (*E, cgo.Return) { return c.wait(stop, c.take) }

// wait has the lock of the CNO when it calls take, at last after stop: the EVD for which the waiter
// was woken must not be lost to others.
func (c *CNO[E]) wait(stop <-chan struct{}, take func(*waiter) (*E, cgo.Return)) (*E, cgo.Return) {
	w := newWaiter(1)
	defer w.release()
	for stopped := false; ; {
		c.mu.Lock()
		c.parked.remove(w)
		evd, r := take(w)
		if stopped && c.parked.remove(w) {
			r = cgo.TimeoutExpired.Return()
		}
		c.mu.Unlock()
		if r.Type() != cgo.QueueEmpty {
			return evd, r
		}
		select {
		case <-w.wake:
		case <-stop:
			stopped = true
		}
	}
}

// take takes an EVD that has triggered the CNO, and wakes another waiter, since there may be
// more. If there is none, it parks the waiter.
func (c *CNO[E]) take(w *waiter) (*E, cgo.Return) {
	evd, r := c.trigger()
	switch {
	case r.OK():
		c.parked.wakeSome()
	case r.Type() == cgo.QueueEmpty:
		w.forgetWake()
		c.parked.add(w)
	}
	return evd, r
}

func (c *CNO[E]) trigger() (*E, cgo.Return) {
	for c.handle != 0 {
		handle, r := cgo.CNOTrigger(c.handle)
		if !r.OK() {
			return nil, r
		}
		if evd := c.find(handle); evd != nil {
			return evd, r
		}
	}
	return nil, freed
}

// Trigger takes an EVD that has triggered the CNO. It returns QueueEmpty if there is none, and
// InvalidHandle when the CNO is freed.
func (c *CNO[E]) Trigger() (*E, cgo.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trigger()
}

// Control calls f with the descriptor, which is open until f returns.
func (c *CNO[E]) Control(f func(fd uintptr)) error {
	conn, err := c.watch.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(f)
}
