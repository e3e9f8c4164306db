package udat

import (
	"os"
	"sync"
	"syscall"

	"github.com/goudat/goudat/cgo"
)

// notifier brings the notifications of an adapter's EVDs from the library's
// threads to the goroutines that wait. One goroutine reads one eventfd through
// Go's poller, however many EVDs there are, so that no waiter holds a thread.
type notifier struct {
	file  *os.File
	queue cgo.AgentQueue
	done  chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex
	next uint64
	evds map[uint64]*EVD
}

func newNotifier() (*notifier, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("eventfd", errno)
	}
	n := &notifier{
		file: os.NewFile(fd, "eventfd"),
		done: make(chan struct{}),
		evds: make(map[uint64]*EVD),
	}
	if n.queue = cgo.NewAgentQueue(int(fd)); n.queue == 0 {
		n.file.Close()
		return nil, syscall.ENOMEM
	}
	go n.run()
	return n, nil
}

// close ends the goroutine. No agent of the queue may be left.
func (n *notifier) close() {
	n.file.Close()
	<-n.done
	n.queue.Free()
}

func (n *notifier) run() {
	defer close(n.done)
	var counter [8]byte
	var ids [64]uint64
	for {
		// The only error is that of the closed file.
		if _, err := n.file.Read(counter[:]); err != nil {
			return
		}
		for {
			count := n.queue.Take(ids[:])
			for _, id := range ids[:count] {
				if evd := n.find(id); evd != nil {
					evd.wakeAll()
				}
			}
			if count < len(ids) {
				break
			}
		}
	}
}

func (n *notifier) find(id uint64) *EVD {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.evds[id]
}

// register makes the agent for an EVD, 0 when there is no memory.
func (n *notifier) register(evd *EVD) (agent cgo.Agent, id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	agent = n.queue.NewAgent(n.next)
	if agent != 0 {
		n.evds[n.next] = evd
	}
	return agent, n.next
}

// unregister frees the agent, whose CNO must be freed.
func (n *notifier) unregister(agent cgo.Agent, id uint64) {
	n.mu.Lock()
	delete(n.evds, id)
	n.mu.Unlock()
	agent.Free()
}
