package udat

import (
	"os"
	"syscall"
	"weak"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// notifier brings the notifications of an adapter's EVDs from the library's
// threads to the goroutines that wait. One goroutine reads one eventfd through
// Go's poller, however many EVDs there are, so that no waiter holds a thread.
type notifier struct {
	file  *os.File
	queue cgo.AgentQueue
	done  chan struct{} // closed when the goroutine has ended

	dispatching lockorder.Mutex[dispatchRank] // guards the queue's end and ids
	closed      bool
	ids         [64]uint64 // scratch

	seats   seats
	latency latency

	mu   lockorder.Mutex[lockorder.Last]
	next uint64
	evds map[uint64]weak.Pointer[EVD] // no reason to keep an adapter that the program has dropped
}

func newNotifier() (*notifier, error) {
	file, fd, err := newEventFD(false)
	if err != nil {
		return nil, err
	}
	n := &notifier{
		file: file,
		done: make(chan struct{}),
		evds: make(map[uint64]weak.Pointer[EVD]),
	}
	if n.queue = cgo.NewAgentQueue(fd); n.queue == 0 {
		n.file.Close()
		return nil, syscall.ENOMEM
	}
	go n.run()
	return n, nil
}

// close ends the goroutine. No agent of the queue may be left.
func (n *notifier) close() {
	n.file.Close()
	n.seats.close()
	<-n.done
	n.dispatching.Lock()
	defer n.dispatching.Unlock()
	n.closed = true
	n.queue.Free()
}

func (n *notifier) run() {
	defer close(n.done)
	conn, err := n.file.SyscallConn()
	if err != nil {
		return // it was closed already
	}
	// Nobody reads the eventfd: Go's poller, which looks for edges, reports each write to
	// it anyway. A read would be an edge as well, since there is room to write then, and
	// would wake a thread for nothing. The only error is that of the closed file.
	_ = conn.Read(func(uintptr) bool {
		n.dispatch()
		return false
	})
}

// dispatch passes the pending notifications to their EVDs. When it returns they have
// arrived, even if another call has passed them.
func (n *notifier) dispatch() {
	n.dispatching.Lock()
	defer n.dispatching.Unlock()
	for !n.closed {
		count, age := n.queue.Take(n.ids[:])
		if count > 0 {
			n.latency.note(age)
		}
		for _, id := range n.ids[:count] {
			if evd := n.find(id); evd != nil {
				evd.notified()
			}
		}
		if count < len(n.ids) {
			return
		}
	}
}

func (n *notifier) find(id uint64) *EVD {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.evds[id].Value()
}

// register makes the agent for an EVD, 0 when there is no memory.
func (n *notifier) register(evd *EVD) (agent cgo.Agent, id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	agent = n.queue.NewAgent(n.next)
	if agent != 0 {
		n.evds[n.next] = weak.Make(evd)
	}
	return agent, n.next
}

// unregister frees the agent, whose CNO must be freed.
func (n *notifier) unregister(agent cgo.Agent, id uint64) {
	n.forget(id)
	agent.Free()
}

// forget drops the EVD of an agent, which may still be called.
func (n *notifier) forget(id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.evds, id)
}
