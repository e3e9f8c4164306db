package udat

import (
	"context"
	"runtime/trace"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

// CNO is a consumer notification object: it tells waiters and an agent which of its
// EVDs have events. CreateEVDWithCNO and EVD.ModifyCNO attach EVDs.
type CNO struct {
	obj     object
	ia      *IA
	waiting *notify.CNO

	mu    sync.Mutex
	agent func(*EVD)    // nil when there is none, or it was called
	stop  chan struct{} // closed when the goroutine that waits for the agent's sake is to end; nil without one
}

func (cno *CNO) object() *object {
	if cno == nil {
		return nil
	}
	return &cno.obj
}

// CreateCNO creates a notification object with an agent, which may be nil: see
// ModifyAgent.
//
//	Implements: DAT_RETURN dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_FD *file_descriptor, OUT DAT_CNO_HANDLE *cno_handle)
//	Stands in for: DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent, OUT DAT_CNO_HANDLE *cno_handle)
func CreateCNO(ia *IA, agent func(*EVD)) (*CNO, error) {
	const op = "dat_cno_create"
	if err := ia.object().enter(op, InvalidHandleIA); err != nil {
		return nil, err
	}
	defer ia.obj.Leave()
	cno := &CNO{ia: ia}
	var r cgo.Return
	var err error
	if cno.waiting, r, err = notify.CreateCNO(ia.handle); err != nil || !r.OK() {
		return nil, cannotNotify(op, r, err)
	}
	cno.obj.born("notification object", cgo.Handle(cno.waiting.Handle()), InvalidStateCNOInUse, cno.Free, &ia.obj.Object)
	cno.setAgent(agent)
	return cno, nil
}

// cannotNotify returns why there is no CNO: the library says so, or there was no descriptor.
func cannotNotify(op string, r cgo.Return, err error) error {
	if err != nil {
		return explained(op, classError|Return(ErrInsufficientResources), err)
	}
	return checkMade(op, r)
}

// CNOParam holds the parameters of a notification object.
type CNOParam struct {
	IA    *IA
	Agent func(*EVD) // nil when there is none, or it was called
}

// Query returns the parameters of the notification object.
//
//	Implements: DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_CNO_PARAM_MASK cno_param_mask, OUT DAT_CNO_PARAM *cno_param)
func (cno *CNO) Query() (CNOParam, error) {
	const op = "dat_cno_query"
	if err := cno.object().enter(op, InvalidHandleCNO); err != nil {
		return CNOParam{}, err
	}
	defer cno.obj.Leave()
	var native cgo.CNOParam // which has the adapter and the descriptor
	if err := check(op, cgo.CNOQuery(cno.waiting.Handle(), cgo.CNOFieldAll, &native)); err != nil {
		return CNOParam{}, err
	}
	cno.mu.Lock()
	defer cno.mu.Unlock()
	return CNOParam{IA: cno.ia, Agent: cno.agent}, nil
}

// Free frees the notification object. Waiters get ErrClosed, and the agent is not
// called any more. It fails with ErrInvalidState while EVDs are attached.
//
//	Implements: DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle)
func (cno *CNO) Free() error {
	const op = "dat_cno_free"
	return cno.object().seal(op, InvalidHandleCNO, func() error {
		err := check(op, cno.waiting.Free())
		if err == nil {
			cno.setAgent(nil)
		}
		return err
	})
}

// ModifyAgent replaces the agent: a function that is called once, on a goroutine of its
// own, with an EVD that has events, and then forgotten. An agent that is to be called
// again calls ModifyAgent, best when it has taken the events. nil means none. After
// ModifyAgent the former agent is not called, though a call that has begun goes on.
//
//	Stands in for: DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent)
func (cno *CNO) ModifyAgent(agent func(*EVD)) error {
	if err := cno.object().enter("dat_cno_modify_agent", InvalidHandleCNO); err != nil {
		return err
	}
	defer cno.obj.Leave()
	cno.setAgent(agent)
	return nil
}

// setAgent keeps the goroutine that waits for an agent's sake: were each agent to
// have its own, a program that replaces agents fast would make them faster than they
// end.
func (cno *CNO) setAgent(agent func(*EVD)) {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	cno.agent = agent
	switch {
	case agent != nil && cno.stop == nil:
		cno.stop = make(chan struct{})
		go cno.callAgent(cno.stop)
	case agent == nil && cno.stop != nil:
		close(cno.stop)
		cno.stop = nil
	}
}

// callAgent waits as any program may, and calls the agent that there is then.
func (cno *CNO) callAgent(stop chan struct{}) {
	select {
	case <-stop:
		return // without a wait for others that come and go as fast
	default:
	}
	evd, r := cno.wait(stop)
	if !r.OK() {
		return
	}
	cno.mu.Lock()
	agent := cno.agent
	if cno.stop != stop {
		agent = nil
	} else {
		cno.agent, cno.stop = nil, nil
	}
	cno.mu.Unlock()
	if agent != nil {
		agent(evd)
	}
}

const cnoWaitOp = "dat_cno_wait"

// Wait returns an attached EVD that has got events. It blocks until there is one or ctx
// ends; then the error matches the context's error and its cause. If an EVD has
// triggered the CNO already, Wait returns it even if ctx has ended.
//
// Wait returns the EVDs in the order in which they have got events, each once until
// then: take all events of an EVD, with Poll, before the next Wait. An EVD that is
// attached with events counts as one that has just got them, and so does one with
// events left when the last goroutine that waited on it has gone. Events that come
// before that, or to a disabled EVD, do not count.
//
//	Stands in for: DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
//	    OUT DAT_EVD_HANDLE *evd_handle)
//	Implements: DAT_RETURN dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func (cno *CNO) Wait(ctx context.Context) (*EVD, error) {
	if err := checkContext(cnoWaitOp, ctx); err != nil {
		return nil, cno.object().refused(cnoWaitOp, InvalidHandleCNO, err)
	}
	if cno == nil || cno.waiting == nil {
		return nil, cno.object().enter(cnoWaitOp, InvalidHandleCNO)
	}
	defer trace.StartRegion(ctx, cnoWaitOp).End()
	evd, r := cno.wait(ctx.Done())
	switch {
	case r.OK():
		return evd, nil
	case r.Type() == cgo.TimeoutExpired:
		return nil, interrupted(cnoWaitOp, ctx)
	}
	return nil, cno.obj.refused(cnoWaitOp, InvalidHandleCNO, check(cnoWaitOp, r))
}

// wait returns an EVD that has triggered the CNO: see notify.CNO.Wait.
func (cno *CNO) wait(stop <-chan struct{}) (*EVD, cgo.Return) {
	for {
		handle, r := cno.waiting.Wait(stop)
		evd := cno.ia.evdWithHandle(handle)
		if evd != nil || !r.OK() {
			return evd, r
		}
	}
}

// ModifyCNO attaches the event dispatcher to a CNO of the same adapter, and
// detaches it from the one before; nil only detaches it. Events that are queued
// already count. Free detaches an event dispatcher.
//
//	Implements: DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_CNO_HANDLE cno_handle)
func (evd *EVD) ModifyCNO(cno *CNO) error {
	const op = "dat_evd_modify_cno"
	arguments := []argument{{evd.object(), NoSubtype}}
	if evd != nil && cno != nil { // nothing new uses a CNO of an adapter that is being closed
		arguments = append(arguments, argument{evd.ia.object(), NoSubtype}, argument{&cno.obj, InvalidHandleCNO})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return err
	}
	defer leave()
	var native cgo.CNOHandle
	if cno != nil {
		native = cno.waiting.Handle()
	}
	evd.queue.Enter()
	defer evd.queue.Leave()
	if err := check(op, evd.queue.Attach(native)); err != nil {
		return err
	}
	evd.cno = cno
	evd.obj.SetParents(evd.parents())
	return nil
}

// Enable lets the events of the dispatcher trigger its CNO, those that are there
// already included. That is how an EVD begins.
//
//	Implements: DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Enable() error { return evd.setDisabled("dat_evd_enable", false) }

// Disable keeps the events of the dispatcher from triggering its CNO. It changes
// nothing for Wait, Poll and the others that take events.
//
//	Implements: DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Disable() error { return evd.setDisabled("dat_evd_disable", true) }

func (evd *EVD) setDisabled(op string, disabled bool) error {
	if err := evd.enter(op); err != nil {
		return err
	}
	defer evd.queue.Leave()
	return check(op, evd.queue.SetDisabled(disabled))
}
