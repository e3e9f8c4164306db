package udat

import (
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
)

// endpointTable finds the endpoint that an event belongs to. A completion
// carries the endpoint's number in its native cookie, any other event the
// native handle. What is not in the table is gone, and its events with it: the
// library leaves events that name freed endpoints in its queues.
//
// Numbers are looked up without a lock, once for each completion.
type endpointTable struct {
	byNumber atomic.Pointer[[]atomic.Pointer[EP]]

	mu       sync.Mutex
	free     []uint32
	byHandle map[cgo.EPHandle]*EP
}

const (
	// maxEndpointNumber is what fits a native cookie.
	maxEndpointNumber  = 1<<endpointBits - 1
	firstEndpointSlots = 64
)

// add enters the endpoint under a number of its own. It reports false when all
// numbers are taken.
func (t *endpointTable) add(ep *EP) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 && !t.grow() {
		return 0, false
	}
	number := t.free[0]
	t.free = t.free[1:]
	(*t.byNumber.Load())[number].Store(ep)
	return number, true
}

func (t *endpointTable) grow() bool {
	var old []atomic.Pointer[EP]
	if p := t.byNumber.Load(); p != nil {
		old = *p
	}
	size := max(firstEndpointSlots, 2*len(old))
	if size > maxEndpointNumber {
		return false
	}
	slots := make([]atomic.Pointer[EP], size)
	for i := range old {
		slots[i].Store(old[i].Load())
	}
	for i := len(old); i < size; i++ {
		t.free = append(t.free, uint32(i))
	}
	t.byNumber.Store(&slots)
	return true
}

func (t *endpointTable) remove(number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	(*t.byNumber.Load())[number].Store(nil)
	t.free = append(t.free, number)
}

func (t *endpointTable) addHandle(ep *EP, handle cgo.EPHandle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHandle == nil {
		t.byHandle = make(map[cgo.EPHandle]*EP)
	}
	t.byHandle[handle] = ep
}

func (t *endpointTable) removeHandle(handle cgo.EPHandle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHandle, handle)
}

func (t *endpointTable) numbered(number uint32) *EP {
	p := t.byNumber.Load()
	if p == nil || number >= uint32(len(*p)) {
		return nil
	}
	return (*p)[number].Load()
}

func (t *endpointTable) withHandle(handle cgo.EPHandle) *EP {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byHandle[handle]
}
