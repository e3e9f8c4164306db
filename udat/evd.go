package udat

import (
	"sync"

	"github.com/goudat/goudat/cgo"
)

// EVD is an event dispatcher: the queue of the events of the streams that feed
// it. Its methods may be called from any goroutine; each event goes to one of
// those that ask.
type EVD struct {
	obj     object
	ia      *IA
	handle  cgo.EVDHandle
	cno     cgo.CNOHandle
	agent   cgo.Agent
	agentID uint64
	flags   EVDFlags
	qlen    int

	capacity capacity

	// mu serialises the taking of events, so that completions retire in order.
	mu      sync.Mutex
	backlog backlog
	raw     [16]cgo.Event // scratch

	waiters waiterList
	closing chan struct{} // closed when the EVD is freed
}

func (evd *EVD) object() *object {
	if evd == nil {
		return nil
	}
	return &evd.obj
}

const (
	// minCRQLen and minConnectionQLen are the least lengths of the queues for
	// connection requests and connection events. With the CMA provider an
	// overflow of the first ends the process, and a peer decides when.
	minCRQLen         = 4096
	minConnectionQLen = 256

	knownEVDFlags = EVDSoftware | EVDCR | EVDDTO | EVDConnection | EVDRMRBind
)

// CreateEVD creates an event dispatcher that holds at least minQLen events and
// is fed by the streams in flags.
//
// An EVD for completions must have room for all operations that may be
// outstanding on the endpoints that use it: CreateEP refuses otherwise.
//
// Implements:
//
//	DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_COUNT evd_min_qlen,
//	                          IN DAT_CNO_HANDLE cno_handle,
//	                          IN DAT_EVD_FLAGS evd_flags,
//	                          OUT DAT_EVD_HANDLE *evd_handle)
func CreateEVD(ia *IA, minQLen int, flags EVDFlags) (*EVD, error) {
	const op = "dat_evd_create"
	if err := ia.object().enter(op, InvalidHandleIA); err != nil {
		return nil, err
	}
	defer ia.obj.leave()
	most := ia.attr.MaxEVDQLen
	switch {
	case minQLen <= 0 || minQLen > most:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, it must be 1 to %d", minQLen, most)
	case flags == 0 || flags&^knownEVDFlags != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, they must be some of %v", flags, knownEVDFlags)
	case flags&EVDDTO != 0 && flags&^(EVDDTO|EVDRMRBind) != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, no provider lets completions share an EVD with other streams", flags)
	}
	if flags&EVDConnection != 0 {
		minQLen = max(minQLen, min(minConnectionQLen, most))
	}
	if flags&EVDCR != 0 {
		minQLen = max(minQLen, min(minCRQLen, most))
	}
	evd := &EVD{ia: ia, flags: flags, closing: make(chan struct{})}
	if err := evd.createCNO(op); err != nil {
		return nil, err
	}
	handle, r := cgo.EVDCreate(ia.handle, int32(minQLen), evd.cno, flags)
	if err := check(op, r); err != nil {
		evd.freeCNO()
		return nil, err
	}
	evd.handle = handle
	if err := evd.complete(op); err != nil {
		cgo.EVDFree(handle)
		evd.freeCNO()
		return nil, err
	}
	evd.obj.born("event dispatcher", InvalidStateEVDInUse, evd.Free, &ia.obj)
	return evd, nil
}

// newAsyncEVD wraps the EVD that comes with the adapter. It is the one EVD that
// gets its CNO after it was made, which breaks only those for completions.
func newAsyncEVD(ia *IA, handle cgo.EVDHandle) (*EVD, error) {
	const op = "dat_ia_open"
	evd := &EVD{ia: ia, handle: handle, flags: EVDAsync, closing: make(chan struct{})}
	if err := evd.createCNO(op); err != nil {
		return nil, err
	}
	r := cgo.EVDModifyCNO(handle, evd.cno)
	if err := check(op, r); err != nil {
		evd.freeCNO()
		return nil, err
	}
	if err := evd.complete(op); err != nil {
		cgo.EVDModifyCNO(handle, 0)
		evd.freeCNO()
		return nil, err
	}
	evd.obj.born("asynchronous event dispatcher", InvalidStateEVDInUse, evd.Free)
	return evd, nil
}

// createCNO makes the notification object of this EVD alone: a shared one
// reports only the first of several EVDs.
func (evd *EVD) createCNO(op string) error {
	evd.agent, evd.agentID = evd.ia.notifier.register(evd)
	if evd.agent == 0 {
		return refuse(op, ErrInsufficientResources, ResourceMemory, "no memory for the wait-proxy agent")
	}
	cno, r := cgo.CNOCreate(evd.ia.handle, uintptr(evd.agent), cgo.AgentFunc())
	if err := check(op, r); err != nil {
		evd.ia.notifier.unregister(evd.agent, evd.agentID)
		return err
	}
	evd.cno = cno
	return nil
}

func (evd *EVD) freeCNO() {
	cgo.CNOFree(evd.cno)
	evd.ia.notifier.unregister(evd.agent, evd.agentID)
}

// complete reads the queue length that the library chose, and arms the EVD.
func (evd *EVD) complete(op string) error {
	var param cgo.EVDParam
	if r := cgo.EVDQuery(evd.handle, cgo.EVDFieldAll, &param); !r.OK() {
		return check(op, r)
	}
	evd.qlen = int(param.QLen)
	evd.capacity.total = evd.qlen
	return check(op, cgo.EVDEnable(evd.handle))
}

// EVDParam holds the parameters of an event dispatcher.
type EVDParam struct {
	IA    *IA
	QLen  int // events that the queue holds, at least as many as were asked for
	Flags EVDFlags
}

// Query gives the parameters of the event dispatcher.
//
// Implements:
//
//	DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
//	                         IN DAT_EVD_PARAM_MASK evd_param_mask,
//	                         OUT DAT_EVD_PARAM *evd_param)
func (evd *EVD) Query() (EVDParam, error) {
	if err := evd.object().enter("dat_evd_query", NoSubtype); err != nil {
		return EVDParam{}, err
	}
	defer evd.obj.leave()
	return EVDParam{IA: evd.ia, QLen: evd.qlen, Flags: evd.flags}, nil
}

// Free frees the event dispatcher with the events in it. Waiters get ErrClosed.
// It fails with ErrInvalidState, and names them, while endpoints or service
// points use it, and with ErrClosed the second time.
//
// Implements:
//
//	DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Free() error {
	const op = "dat_evd_free"
	if evd != nil && evd.flags&EVDAsync != 0 {
		return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "the asynchronous event dispatcher goes with its adapter")
	}
	return evd.object().seal(op, NoSubtype, func() error {
		if err := check(op, cgo.EVDFree(evd.handle)); err != nil {
			return err
		}
		evd.freeCNO()
		close(evd.closing)
		return nil
	})
}

// abandon ends the asynchronous EVD, which the adapter frees when it closes. It
// takes away the CNO: closing an adapter with one alive aborts the process.
func (evd *EVD) abandon(op string) error {
	return evd.obj.seal(op, InvalidHandleEVDAsync, func() error {
		if err := check(op, cgo.EVDModifyCNO(evd.handle, 0)); err != nil {
			return err
		}
		evd.freeCNO()
		close(evd.closing)
		return nil
	})
}

// Dequeue takes one event without waiting. It fails with ErrQueueEmpty when
// there is none. It does not allocate, except for a connection request and for
// a connection event with private data.
//
// Implements:
//
//	DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle,
//	                           OUT DAT_EVENT *event)
func (evd *EVD) Dequeue() (Event, error) {
	const op = "dat_evd_dequeue"
	var event Event
	found, err := evd.take(op, &event)
	if err == nil && !found {
		err = errQueueEmpty
	}
	return event, err
}

// errQueueEmpty is shared: an empty queue is no news, and polling must not allocate.
var errQueueEmpty = &Error{Op: "dat_evd_dequeue", Return: cgo.ClassError | Return(ErrQueueEmpty)}

// take takes one event if there is one.
func (evd *EVD) take(op string, event *Event) (bool, error) {
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return false, err
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.mu.Unlock()
	if evd.backlog.pop(event) {
		return true, nil
	}
	var raw cgo.Event
	for {
		r := cgo.EVDDequeue(evd.handle, &raw)
		if r.Type() == ErrQueueEmpty {
			return false, nil
		}
		if !r.OK() {
			return false, check(op, r)
		}
		if evd.decode(&raw, event) {
			return true, nil
		}
	}
}

// reap moves what the library has queued to the backlog, where the program
// finds it in the same order. The records of the endpoints are up to date then.
// The caller holds the gate.
func (evd *EVD) reap() {
	evd.mu.Lock()
	before := len(evd.backlog.events)
	evd.drain(cgo.EVDDequeueBatch(evd.handle, evd.raw[:]))
	added := len(evd.backlog.events) > before
	evd.mu.Unlock()
	if added {
		evd.wakeAll()
	}
}

// drain moves the n events in raw to the backlog and goes on until the library
// has no more. The caller holds mu.
func (evd *EVD) drain(n int, r cgo.Return) {
	for {
		for i := range evd.raw[:n] {
			var event Event
			if evd.decode(&evd.raw[i], &event) {
				evd.backlog.push(event)
			}
		}
		if !r.OK() || n == 0 {
			return
		}
		n, r = cgo.EVDDequeueBatch(evd.handle, evd.raw[:])
	}
}

// add puts an event of the binding's own behind those that are there.
func (evd *EVD) add(event Event) {
	evd.mu.Lock()
	evd.drain(cgo.EVDDequeueBatch(evd.handle, evd.raw[:]))
	evd.backlog.push(event)
	evd.mu.Unlock()
	evd.wakeAll()
}

// forget removes the events for which drop reports true.
func (evd *EVD) forget(drop func(*Event) bool) {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	evd.drain(cgo.EVDDequeueBatch(evd.handle, evd.raw[:]))
	var kept backlog
	var event Event
	for evd.backlog.pop(&event) {
		if !drop(&event) {
			kept.push(event)
		}
	}
	evd.backlog = kept
}

// backlog is the part of an EVD's queue that lies in Go.
type backlog struct {
	events []Event
	head   int
}

func (b *backlog) push(e Event) { b.events = append(b.events, e) }

func (b *backlog) pop(e *Event) bool {
	if b.head == len(b.events) {
		return false
	}
	*e = b.events[b.head]
	b.events[b.head] = Event{} // let go of what it refers to
	b.head++
	if b.head == len(b.events) {
		b.events, b.head = b.events[:0], 0
	}
	return true
}

func (b *backlog) empty() bool { return b.head == len(b.events) }

// capacity accounts for the events that may come to an EVD at once.
type capacity struct {
	mu    sync.Mutex
	total int
	used  int
}

// reserve claims room for n more events. It reports false, and what is left,
// when there is not so much.
func (c *capacity) reserve(n int) (left int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.total-c.used {
		return c.total - c.used, false
	}
	c.used += n
	return c.total - c.used, true
}

func (c *capacity) release(n int) {
	c.mu.Lock()
	c.used -= n
	c.mu.Unlock()
}
