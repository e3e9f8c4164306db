package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// connectionQueues are the queues that all connection events of an adapter come to. Each
// has room for all events of its endpoints, and is always emptied: the library loses
// events for which a queue is too short. The events go on to the backlogs of the program's
// event dispatchers, which have room for any number.
type connectionQueues struct {
	mu   lockorder.Mutex[joinRank]
	list []*connectionQueue
}

// connectionQueue is one of them. endpoints is how many native endpoints use it.
type connectionQueue struct {
	evd *EVD

	mu        *lockorder.Mutex[joinRank] // that of the list
	endpoints int
}

const (
	connectionQLen = 16384

	// connectionEventsPerEP is more than a native endpoint causes: that it is
	// established, and that it has ended, once or twice.
	connectionEventsPerEP = 4
)

// join returns a queue with room for the events of a native endpoint. leave must
// follow when the endpoint is freed.
func (c *connectionQueues) join(op string, ia *IA) (*connectionQueue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.list {
		if q.endpoints < q.evd.length()/connectionEventsPerEP {
			q.endpoints++
			return q, nil
		}
	}
	evd, err := newConnectionEVD(op, ia)
	if err != nil {
		return nil, err
	}
	q := &connectionQueue{evd: evd, mu: &c.mu, endpoints: 1}
	c.list = append(c.list, q)
	return q, nil
}

func (q *connectionQueue) leave() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.endpoints--
	q.mu.Unlock()
}

// reap takes the events that are there.
func (q *connectionQueue) reap() {
	if q != nil {
		q.evd.reap()
	}
}

// reap takes the events of all endpoints. The caller holds no lock of an EVD.
func (c *connectionQueues) reap() {
	c.mu.Lock()
	list := c.list
	c.mu.Unlock()
	for _, q := range list {
		q.evd.tidy()
	}
}

// only returns the queue if there is exactly one.
func (c *connectionQueues) only() *EVD {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) != 1 {
		return nil
	}
	return c.list[0].evd
}

// free frees the queues of an adapter that has no endpoints left.
func (c *connectionQueues) free() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; len(c.list) > 0; c.list = c.list[1:] {
		if err := c.list[0].evd.tryFree(); err != nil {
			return err
		}
	}
	return nil
}

func newConnectionEVD(op string, ia *IA) (*EVD, error) {
	evd := newOwnEVD(ia, EVDConnection)
	evd.selfEmptying = true
	if err := evd.createNative(op, min(connectionQLen, ia.attr.MaxEVDQLen)); err != nil {
		return nil, err
	}
	evd.obj.born("queue of connection events", NoSubtype, evd.Free)
	evd.keepEmpty(cgo.SameSeat)
	return evd, nil
}
