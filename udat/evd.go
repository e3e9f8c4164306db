package udat

import (
	"fmt"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/notify"
)

// EVD is an event dispatcher: a queue of events, each of which goes to one goroutine that asks.
type EVD struct {
	obj   object
	ia    *IA
	flags EVDFlags
	queue notify.Queue // its lock is held to take events, and for nothing that waits

	// Guarded by the lock of queue.
	endpoints map[cgo.EPHandle]*EP
	latest    *EP             // of endpoints: that of the latest event, or nil
	streams   CompletionFlags // of all streams of completions that endpoints have here

	listening sync.Mutex // held while a service point is made
	cno       *CNO       // the program's, nil for none; guarded by enter
}

func (evd *EVD) object() *object { return &evd.obj }

// enter keeps the EVD alive until evd.queue.Leave. The caller must not wait meanwhile.
func (evd *EVD) enter(op string) error {
	if evd != nil && evd.queue.Enter() {
		return nil
	}
	return objectOf(evd).usable(op, NoSubtype)
}

// set sets a switch of the queue.
func (evd *EVD) set(op string, native func(*notify.Queue, bool) cgo.Return, on bool) error {
	if err := evd.enter(op); err != nil {
		return err
	}
	defer evd.queue.Leave()
	return check(op, native(&evd.queue, on))
}

func (evd *EVD) nativeHandle() cgo.EVDHandle {
	if evd == nil {
		return 0
	}
	return evd.queue.Handle()
}

const knownEVDFlags = EVDSoftware | EVDCR | EVDDTO | EVDConnection | EVDRMRBind

// CreateEVD creates an event dispatcher that holds at least minQLen events of the streams in flags.
// It is attached to cno, of the same adapter, unless that is nil: see EVD.ModifyCNO. An EVD for
// completions can also take software events and connection requests, but no connection events.
//
// If the endpoints of an EVD may have more operations outstanding than it holds, each operation
// takes room from its post until its completion is taken. A receive of a shared queue takes room on
// the receive EVD of each endpoint of the queue. A post without room changes nothing and fails with
// ErrInsufficientResources, subtype ResourceTEVD: take completions, or see EVD.Resize. A connection
// event without room ends its connection, and a connection request is rejected; IA.AsyncEVD reports
// EventAsyncErrorEVDOverflow.
//
//	Implements: DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
//	    IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags, OUT DAT_EVD_HANDLE *evd_handle)
func CreateEVD(ia *IA, minQLen int, cno *CNO, flags EVDFlags) (*EVD, error) {
	const op = "dat_evd_create"
	arguments := []argument{{objectOf(ia), InvalidHandleIA}}
	if cno != nil {
		arguments = append(arguments, argument{&cno.obj, InvalidHandleCNO})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return nil, err
	}
	defer leave()
	most := ia.attr.MaxEVDQLen
	switch {
	case minQLen < 1 || minQLen > most:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, make it 1 to %d, the limit of %s", minQLen, most, ia.attr.AdapterName)
	case flags == 0 || flags&^knownEVDFlags != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, they must be some of EVDSoftware, EVDCR, EVDDTO, EVDConnection and EVDRMRBind", flags)
	case flags&EVDDTO != 0 && flags&EVDConnection != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, but no provider has completions and connection events on one event dispatcher: create another for the connection events", flags)
	}
	native, attached := ia.notifier.CNO(), cgo.CNOHandle(0)
	if cno != nil {
		native, attached = cno.native.Handle(), cno.native.Handle()
	}
	handle, r := cgo.EVDCreate(ia.handle, int32(minQLen), native, cgo.EVDFlags(flags)) // one without any could never get one
	if r.Type() == cgo.InvalidParameter {
		return nil, withProblem(op, Return(r), fmt.Errorf("%w: a queue of %d events, though MaxEVDQLen of %s is %d: make it shorter", device.ProblemRefusedAttributes, minQLen, ia.attr.AdapterName, most))
	}
	if err := checkCreate(op, r); err != nil {
		return nil, err
	}
	evd := newEVD(ia, handle, attached, flags)
	evd.cno = cno
	evd.born("event dispatcher", evd.Free)
	return evd, nil
}

func newEVD(ia *IA, handle cgo.EVDHandle, cno cgo.CNOHandle, flags EVDFlags) *EVD {
	evd := &EVD{ia: ia, flags: flags}
	evd.queue.Init(ia.notifier, handle, cno)
	return evd
}

// join registers the endpoint. It refuses streams of completions with flags unlike those of others.
func (evd *EVD) join(op string, ep *EP, streams []CompletionFlags) error {
	evd.queue.Lock()
	defer evd.queue.Unlock()
	all := streams
	for _, other := range evd.endpoints {
		if other != ep {
			all = append(all, evd.streams)
			break
		}
	}
	for _, f := range all[:len(streams)] {
		if other := all[len(all)-1]; f != other {
			return refuse(op, ErrInvalidParameter, InvalidArg6,
				"the completion flags are %v, but those of another stream on the event dispatcher %v: leave CompletionDefault everywhere, or use another event dispatcher", f, other)
		}
	}
	if evd.endpoints == nil {
		evd.endpoints = make(map[cgo.EPHandle]*EP)
	}
	evd.endpoints[ep.handle], evd.latest = ep, nil
	if len(streams) > 0 {
		evd.streams = streams[0]
	}
	return nil
}

// leave forgets an endpoint. The library may have given its handle to a new one already.
func (evd *EVD) leave(ep *EP) {
	evd.queue.Lock()
	defer evd.queue.Unlock()
	if evd.endpoints[ep.handle] == ep {
		delete(evd.endpoints, ep.handle)
		evd.latest = nil
	}
}

func (evd *EVD) born(kind string, free func() error) {
	evd.obj.born(kind, cgo.Handle(evd.queue.Handle()), InvalidStateEVDInUse, free, evd.parents()...)
	evd.ia.addObject(evd)
}

// parents are what the EVD uses. That of the adapter comes with it.
func (evd *EVD) parents() (parents []*life.Object) {
	if evd.flags&EVDAsync == 0 {
		parents = append(parents, &evd.ia.obj.Object)
	}
	if evd.cno != nil {
		parents = append(parents, &evd.cno.obj.Object)
	}
	return parents
}

// EVDParam holds the parameters of an event dispatcher.
type EVDParam struct {
	IA                   *IA
	QLen                 int  // events that the queue holds, at least as many as were asked for
	Disabled, Unwaitable bool // as the program has set it
	CNO                  *CNO // nil when it is attached to none
	Flags                EVDFlags
}

// Query returns the parameters of the event dispatcher.
//
//	Implements: DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_EVD_PARAM_MASK evd_param_mask, OUT DAT_EVD_PARAM *evd_param)
func (evd *EVD) Query() (EVDParam, error) {
	return query(objectOf(evd), "dat_evd_query", NoSubtype, func() (EVDParam, cgo.Return) {
		evd.queue.Enter()
		defer evd.queue.Leave()
		var native cgo.EVDParam
		r := cgo.EVDQuery(evd.queue.Handle(), cgo.EVDFieldAll, &native)
		// The native states are those of udat's own waits.
		return EVDParam{IA: evd.ia, QLen: int(native.QLen), Disabled: evd.queue.Disabled(), Unwaitable: evd.queue.Unwaitable(), CNO: evd.cno, Flags: EVDFlags(native.Flags)}, r
	})
}

// Resize changes the length of the queue to at least minQLen events. It fails with ErrInvalidState
// if more events are queued, or completions expected, than it would hold, and with
// ErrModelNotSupported for completions on a device that cannot resize, such as soft-iWARP.
//
//	Implements: DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen)
func (evd *EVD) Resize(minQLen int) error {
	const op = "dat_evd_resize"
	if err := objectOf(evd).enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.Leave()
	evd.queue.Lock()
	r := evd.queue.Resize(count(minQLen))
	evd.queue.Unlock()
	switch r.Type() {
	case cgo.InvalidParameter:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, make it 1 to %d, the limit of %s", minQLen, evd.ia.attr.MaxEVDQLen, evd.ia.attr.AdapterName)
	case cgo.ModelNotSupported:
		return refuse(op, ErrModelNotSupported, NoSubtype, "the device %s cannot resize queues of completions: create another event dispatcher", evd.ia.attr.AdapterName)
	case cgo.InvalidState:
		return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "the queue length is %d, but there are more events, or completions to come: take some first", minQLen)
	default:
		return check(op, r)
	}
}

// Free frees the event dispatcher with its events. Waiters get ErrClosed. Free fails with
// ErrInvalidState while endpoints or service points use it.
//
//	Implements: DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Free() error {
	const op = "dat_evd_free"
	if evd != nil && evd.flags&EVDAsync != 0 {
		return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "the asynchronous event dispatcher belongs to its adapter: close the adapter")
	}
	return objectOf(evd).seal(op, NoSubtype, func() error { return evd.release(op, cgo.EVDFree) })
}

// release frees the native EVD, and ends all waits. The caller holds the gate for writing.
func (evd *EVD) release(op string, free func(cgo.EVDHandle) cgo.Return) error {
	evd.queue.Lock()
	err := check(op, evd.queue.Free(free))
	evd.queue.Unlock()
	if err == nil {
		evd.ia.removeObject(evd)
	}
	return err
}

func (ia *IA) evdWithHandle(handle cgo.EVDHandle) *EVD {
	evd, _ := ia.objectWithHandle(cgo.Handle(handle)).(*EVD)
	return evd
}

// PostSE posts an EventSoftware with the given cookie. The event dispatcher must have EVDSoftware.
// The event comes after other queued events, but before completions. It does not allocate. It fails
// with ErrQueueFull if as many events are queued as the EVD holds, whatever operations are
// outstanding. Then IA.AsyncEVD reports EventAsyncErrorEVDOverflow, once until one is taken.
//
//	Implements: DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event)
func (evd *EVD) PostSE(cookie uint64) error {
	const op = "dat_evd_post_se"
	if err := evd.enter(op); err != nil {
		return err
	}
	defer evd.queue.Leave()
	if evd.flags&EVDSoftware == 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the event dispatcher was made for %v: create it with EVDSoftware", evd.flags)
	}
	r := cgo.EVDPostSE(evd.queue.Handle(), cgo.EventNumber(EventSoftware), cookie)
	if r.Type() == cgo.QueueFull {
		return errQueueFull
	}
	return check(op, r)
}

// errQueueFull is shared: a producer may meet it often.
var errQueueFull = &Error{
	Op:     "dat_evd_post_se",
	Return: classError | Return(ErrQueueFull),
	Detail: "events that were not taken fill the event dispatcher: take events, or make it longer with Resize",
}
