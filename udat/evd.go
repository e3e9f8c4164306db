package udat

import (
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
	"github.com/goudat/goudat/udat/internal/room"
)

// EVD is an event dispatcher: the queue of the events of the streams that feed
// it. Its methods may be called from any goroutine; each event goes to one of
// those that ask.
type EVD struct {
	obj object
	ia  *IA
	nativeEVD
	flags        EVDFlags
	selfEmptying bool // whoever is notified empties it: see keepEmpty
	onto         *EVD // where the completions go that come here, nil for nowhere else

	streams       streams
	room          room.Room
	unreported    []*direction // directions that have a report to retry, see deferReport; guarded by mu
	hasUnreported atomic.Bool  // unreported is not empty
	singles       atomic.Int64 // see reserveSingle

	// mu serialises the taking of events, so that completions retire in order.
	// It is released by unlock.
	mu       lockorder.Mutex[dispatcherRank]
	open     bool // events can be taken: see seal
	backlog  backlog
	duties   uint8       // see countRoom
	arrivals arrivals    // since mu was taken
	requests int         // connection requests among the singles
	full     bool        // an event was lost because there was no room, and none was taken since
	turn     turn        // of the goroutine that spins
	dropped  uint64      // asynchronous errors that nobody took in time
	raw      []cgo.Event // see scratch

	waiters waiterList
	closing chan struct{} // closed when the EVD is freed

	attachment atomic.Pointer[attachment] // to a CNO, written under mu
	disabled   atomic.Bool                // does not trigger it
}

// nativeEVD is what the library has of an EVD, with the notification object and
// the agent by which the binding waits on it.
type nativeEVD struct {
	handle  cgo.EVDHandle
	cno     cgo.CNOHandle
	agent   cgo.Agent
	agentID uint64
}

func (evd *EVD) object() *object {
	if evd == nil {
		return nil
	}
	return &evd.obj
}

const knownEVDFlags = EVDSoftware | EVDCR | EVDDTO | EVDConnection | EVDRMRBind

// CreateEVD creates an event dispatcher that holds at least minQLen events and
// is fed by the streams in flags.
//
// An EVD for completions can take software events and connection requests too, but not connection events: no provider
// supports that. Any endpoint can use it, whatever its length and the endpoint's attributes. If the attributes allow
// more operations to be outstanding than the EVD holds, each operation takes room when it is posted, and frees it
// when its completion is taken. A post without room fails with ErrInsufficientResources, subtype ResourceTEVD, and
// changes nothing: take completions and post again, or see Resize. A suppressed operation keeps its room until udat
// learns that it is done. A receive of a shared queue has room on each receive EVD of the queue's endpoints.
//
// Connection events are kept in memory, however many come. Connection requests
// beyond the length are rejected.
//
// CreateEVDWithCNO attaches the EVD to a CNO from the start, ModifyCNO later.
//
// Implements:
//
//	DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_COUNT evd_min_qlen,
//	                          IN DAT_CNO_HANDLE cno_handle,
//	                          IN DAT_EVD_FLAGS evd_flags,
//	                          OUT DAT_EVD_HANDLE *evd_handle)
func CreateEVD(ia *IA, minQLen int, flags EVDFlags) (*EVD, error) {
	return CreateEVDWithCNO(ia, minQLen, nil, flags)
}

// CreateEVDWithCNO is CreateEVD for an event dispatcher that is attached to a CNO
// of the same adapter, which may be nil: see EVD.ModifyCNO.
func CreateEVDWithCNO(ia *IA, minQLen int, cno *CNO, flags EVDFlags) (*EVD, error) {
	const op = "dat_evd_create"
	arguments := []argument{{ia.object(), InvalidHandleIA}}
	if cno != nil {
		arguments = append(arguments, argument{&cno.obj, InvalidHandleCNO})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return nil, err
	}
	defer leave()
	if cno != nil && cno.ia != ia {
		return nil, refuse(op, ErrInvalidHandle, InvalidHandleCNO, "the notification object belongs to another adapter: create one on this")
	}
	most := ia.attr.MaxEVDQLen
	switch {
	case minQLen <= 0 || minQLen > most:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg2, "the queue length is %d, make it 1 to %d", minQLen, most)
	case flags == 0 || flags&^knownEVDFlags != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, they must be some of %v", flags, knownEVDFlags)
	case flags&EVDDTO != 0 && flags&EVDConnection != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the flags are %v, but no provider has completions and connection events on one event dispatcher: create another for the connection events", flags)
	}
	evd := &EVD{ia: ia, flags: flags, closing: make(chan struct{})}
	if flags&(EVDDTO|EVDSoftware) != 0 { // spinning in C finds nothing of what is queued in Go
		evd.waiters.setSpin(DefaultWaitSpin)
	}
	if err := evd.createNative(op, minQLen); err != nil {
		return nil, err
	}
	evd.attach(cno) // first: a close of the adapter frees what is born
	evd.obj.born("event dispatcher", InvalidStateEVDInUse, evd.Free, &ia.obj)
	evd.announce()
	return evd, nil
}

// createNative makes the native EVD, armed.
func (evd *EVD) createNative(op string, minQLen int) error {
	if err := evd.createCNO(op); err != nil {
		return err
	}
	handle, r := cgo.EVDCreate(evd.ia.handle, int32(minQLen), evd.cno, cgo.EVDFlags(evd.flags))
	if err := checkMade(op, r); err != nil {
		evd.freeCNO(evd.ia)
		return err
	}
	evd.handle = handle
	if err := evd.complete(op); err != nil {
		evd.discard()
		return err
	}
	return nil
}

// newOwnEVD returns an EVD for a queue of the binding's own.
func newOwnEVD(ia *IA, flags EVDFlags) *EVD {
	evd := &EVD{ia: ia, flags: flags, closing: make(chan struct{})}
	lockorder.As[queueGateRank](&evd.obj.gate)
	lockorder.As[queueRank](&evd.mu)
	return evd
}

// discard gives up the native part of the EVD, which nobody uses. It is freed later.
func (evd *EVD) discard() {
	unused := newOwnEVD(evd.ia, evd.flags)
	unused.nativeEVD = evd.nativeEVD
	unused.obj.born("unused event dispatcher", NoSubtype, unused.Free)
	evd.ia.busy.add(unused)
}

// newAsyncEVD wraps the EVD that comes with the adapter. It is the one EVD that
// gets its CNO after it was made, which breaks only those for completions.
func newAsyncEVD(ia *IA, handle cgo.EVDHandle) (*EVD, error) {
	const op = "dat_ia_open"
	evd := &EVD{ia: ia, flags: EVDAsync, selfEmptying: true, duties: boundBacklog, closing: make(chan struct{})}
	lockorder.Number(&evd.mu, 1)
	evd.handle = handle
	if err := evd.createCNO(op); err != nil {
		return nil, err
	}
	r := cgo.EVDModifyCNO(handle, evd.cno)
	if err := check(op, r); err != nil {
		evd.freeCNO(evd.ia)
		return nil, err
	}
	if err := evd.complete(op); err != nil {
		cgo.EVDModifyCNO(handle, 0)
		evd.freeCNO(evd.ia)
		return nil, err
	}
	return evd, nil
}

// createCNO makes the notification object of this EVD alone: a shared one
// reports only the first of several EVDs.
func (evd *EVD) createCNO(op string) error {
	evd.agent, evd.agentID = evd.ia.notifier.register(evd)
	if evd.agent == 0 {
		return refuse(op, ErrInsufficientResources, ResourceMemory, "no memory for the wait-proxy agent: free other objects first")
	}
	cno, r := cgo.CNOCreate(evd.ia.handle, uintptr(evd.agent), cgo.AgentFunc())
	if err := check(op, r); err != nil {
		evd.ia.notifier.unregister(evd.agent, evd.agentID)
		return err
	}
	evd.cno = cno
	return nil
}

// freeCNO frees the notification object with its agent, or leaves both behind.
func (n *nativeEVD) freeCNO(ia *IA) {
	if cgo.CNOFree(n.cno).OK() {
		ia.notifier.unregister(n.agent, n.agentID)
		return
	}
	ia.orphans.Store(true)
	n.silence(ia)
}

// silence has the agent, which may still be called, wake nobody.
func (n *nativeEVD) silence(ia *IA) {
	n.agent.Disarm()
	ia.notifier.forget(n.agentID)
}

// complete reads the queue length that the library chose, and arms the EVD.
func (evd *EVD) complete(op string) error {
	var param cgo.EVDParam
	if r := cgo.EVDQuery(evd.handle, cgo.EVDFieldAll, &param); !r.OK() {
		return check(op, r)
	}
	evd.room.SetNative(int(param.QLen))
	evd.room.SetLength(int(param.QLen))
	if r := cgo.EVDEnable(evd.handle); !r.OK() {
		return check(op, r)
	}
	evd.open = true
	return nil
}

// length returns how many events the EVD holds, which Resize may be changing.
// It does not wait for mu, which a goroutine that spins holds for long.
func (evd *EVD) length() int { return evd.room.Length() }

// EVDParam holds the parameters of an event dispatcher.
type EVDParam struct {
	IA    *IA
	QLen  int      // events that the queue holds, at least as many as were asked for
	State EVDState // EVDStateEnabled or Disabled, and EVDStateWaitable or Unwaitable
	CNO   *CNO     // nil when it is attached to none
	Flags EVDFlags
	// Dropped is how many asynchronous errors were dropped because nobody took
	// them: see IA.AsyncEVD. It is 0 for any other EVD.
	Dropped uint64
}

// Query returns the parameters of the event dispatcher.
//
// Implements:
//
//	DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
//	                         IN DAT_EVD_PARAM_MASK evd_param_mask,
//	                         OUT DAT_EVD_PARAM *evd_param)
func (evd *EVD) Query() (EVDParam, error) {
	const op = "dat_evd_query"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return EVDParam{}, err
	}
	defer evd.obj.leave()
	var native cgo.EVDParam
	if err := check(op, cgo.EVDQuery(evd.handle, cgo.EVDFieldAll, &native)); err != nil {
		return EVDParam{}, err
	}
	param := EVDParam{IA: evd.ia, QLen: evd.length(), State: EVDState(native.State), Flags: EVDFlags(native.Flags)}
	param.State = param.State&^EVDStateDisabled | EVDStateEnabled // natively it is armed or not: see createCNO
	if evd.disabled.Load() {
		param.State ^= EVDStateEnabled | EVDStateDisabled
	}
	if a := evd.attachment.Load(); a != nil {
		param.CNO = a.cno
	}
	evd.mu.Lock()
	param.Dropped = evd.dropped
	evd.mu.Unlock()
	return param, nil
}

// Free frees the event dispatcher with the events in it. Waiters get ErrClosed.
// It fails with ErrInvalidState, and names them, while endpoints or service
// points use it, and with ErrClosed the second time.
//
// Implements:
//
//	DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Free() error {
	if evd != nil && evd.flags&EVDAsync != 0 {
		return refuse(freeEVDOp, ErrInvalidState, InvalidStateEVDInUse, "the asynchronous event dispatcher belongs to its adapter: close the adapter")
	}
	return whileBusy(evd.tryFree)
}

const freeEVDOp = "dat_evd_free"

// tryFree is Free, but it does not try again if the EVD is busy.
func (evd *EVD) tryFree() error {
	const op = freeEVDOp
	return evd.seal(op, NoSubtype, func() error {
		evd.reap() // the library throws away what it has queued, whether or not it succeeds
		left, err := evd.obj.orphan(evd.ia, check(op, cgo.EVDFree(evd.handle)))
		switch {
		case err != nil:
			evd.survived()
			return err
		case left:
			evd.silence(evd.ia)
		default:
			evd.freeCNO(evd.ia)
		}
		evd.end()
		return nil
	})
}

// seal is that of the object, and ends the taking of events, which does not enter the gate.
func (evd *EVD) seal(op string, invalid ReturnSubtype, release func() error) error {
	return evd.object().seal(op, invalid, func() error {
		evd.setOpen(false)
		err := release()
		if err != nil {
			evd.setOpen(true)
		}
		return err
	})
}

func (evd *EVD) setOpen(open bool) {
	evd.mu.Lock()
	defer evd.mu.Unlock()
	evd.open = open
}

// survived is called if the native part of the EVD could not be freed. It wakes a
// waiter, which arms the EVD again. The caller holds the gate for writing.
func (evd *EVD) survived() {
	evd.agent.Disarm()
	evd.waiters.notify()
	evd.announce()
}

// abandon ends the asynchronous EVD, which the adapter frees when it closes. It
// takes away the CNO: closing an adapter with one alive aborts the process.
func (evd *EVD) abandon(op string) error {
	return evd.seal(op, InvalidHandleEVDAsync, func() error {
		if err := check(op, cgo.EVDModifyCNO(evd.handle, 0)); err != nil {
			return err
		}
		evd.freeCNO(evd.ia)
		evd.end()
		return nil
	})
}

// end ends all waits on the EVD. The caller holds the gate for writing.
func (evd *EVD) end() {
	evd.detach()
	close(evd.closing)
	evd.waiters.end()
}
