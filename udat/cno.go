package udat

import (
	"context"
	"errors"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/fifo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// CNO is a consumer notification object: it tells waiters and an agent which of its EVDs have
// events. CreateEVDWithCNO and EVD.ModifyCNO attach EVDs. Its methods may be called from any
// goroutine.
//
// The library's own CNO reports only the first of several EVDs, and breaks EVDs
// that are attached later. This one uses the notifications by which udat waits
// on each EVD.
//
// There is no file descriptor to poll: the library lacks dat_cno_fd_create. A
// goroutine in Wait holds no thread.
type CNO struct {
	obj     object
	ia      *IA
	closing chan struct{} // closed when the CNO is freed

	mu      lockorder.Mutex[lockorder.Last]
	ready   fifo.Queue[*attachment] // may have events; the others are armed
	waiters fifo.Queue[*waiter]
	agent   *agentCall // nil when there is none, or it was called
}

// attachment is an EVD that is, or was, attached to a CNO.
type attachment struct {
	evd   *EVD
	cno   *CNO
	place fifo.Link[*attachment]
	over  bool // guarded by the CNO's mu, as is place
}

// agentCall is an agent that is to be called.
type agentCall struct {
	agent func(*EVD)    // guarded by the CNO's mu
	stop  chan struct{} // closed when there is none any more
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
// Stands in for:
//
//	DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_OS_WAIT_PROXY_AGENT agent,
//	                          OUT DAT_CNO_HANDLE *cno_handle)
func CreateCNO(ia *IA, agent func(*EVD)) (*CNO, error) {
	const op = "dat_cno_create"
	if err := ia.object().enter(op, InvalidHandleIA); err != nil {
		return nil, err
	}
	defer ia.obj.leave()
	cno := &CNO{ia: ia, closing: make(chan struct{})}
	cno.obj.born("notification object", InvalidStateCNOInUse, cno.Free, &ia.obj)
	cno.setAgent(agent)
	return cno, nil
}

// CNOParam holds the parameters of a notification object.
type CNOParam struct {
	IA    *IA
	Agent func(*EVD) // nil when there is none, or it was called
}

// Query returns the parameters of the notification object.
//
// Stands in for:
//
//	DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
//	                         IN DAT_CNO_PARAM_MASK cno_param_mask,
//	                         OUT DAT_CNO_PARAM *cno_param)
func (cno *CNO) Query() (CNOParam, error) {
	if err := cno.object().enter("dat_cno_query", InvalidHandleCNO); err != nil {
		return CNOParam{}, err
	}
	defer cno.obj.leave()
	param := CNOParam{IA: cno.ia}
	cno.mu.Lock()
	if cno.agent != nil {
		param.Agent = cno.agent.agent
	}
	cno.mu.Unlock()
	return param, nil
}

// Free frees the notification object. Waiters get ErrClosed, and the agent is
// not called any more. It fails with ErrInvalidState, and names them, while EVDs
// are attached, and with ErrClosed the second time.
//
// Stands in for:
//
//	DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle)
func (cno *CNO) Free() error {
	return cno.object().seal("dat_cno_free", InvalidHandleCNO, func() error {
		cno.setAgent(nil)
		close(cno.closing)
		return nil
	})
}

// ModifyAgent replaces the agent: a function that is called once, on a goroutine
// of udat, with an EVD that has events, and then forgotten. An agent that
// is to be called again calls ModifyAgent, best when it has taken the events.
// nil means none. After ModifyAgent the former agent is not called any more,
// though a call that has begun goes on.
//
// Stands in for:
//
//	DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
//	                                IN DAT_OS_WAIT_PROXY_AGENT agent)
func (cno *CNO) ModifyAgent(agent func(*EVD)) error {
	if err := cno.object().enter("dat_cno_modify_agent", InvalidHandleCNO); err != nil {
		return err
	}
	defer cno.obj.leave()
	cno.setAgent(agent)
	return nil
}

// setAgent keeps the goroutine that waits for an agent's sake: were each agent to
// have its own, a program that replaces agents fast would make them faster than they
// end.
func (cno *CNO) setAgent(agent func(*EVD)) {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	switch c := cno.agent; {
	case c != nil && agent != nil:
		c.agent = agent
	case c != nil:
		close(c.stop)
		cno.agent = nil
	case agent != nil:
		cno.agent = &agentCall{agent: agent, stop: make(chan struct{})}
		go cno.callAgent(cno.agent)
	}
}

// callAgent waits as any program may, and calls the agent that there is then.
func (cno *CNO) callAgent(c *agentCall) {
	if isClosed(c.stop) {
		return // without a wait for others that come and go as fast
	}
	evd, err := cno.wait(c.stop)
	for ; err != nil; evd, err = cno.wait(c.stop) {
		if err == errStopped || errors.Is(err, ErrClosed) {
			return
		}
		select { // the library cannot notify of events now
		case <-time.After(armAgainAfter):
		case <-c.stop:
		case <-cno.closing:
		}
	}
	cno.mu.Lock()
	mine, agent := cno.agent == c, c.agent
	if mine {
		cno.agent = nil
	}
	cno.mu.Unlock()
	if mine {
		agent(evd)
	}
}

const cnoWaitOp = "dat_cno_wait"

// Wait returns an attached EVD that has events. It blocks until there is one or
// ctx ends; then the error matches the context's error and its cause. If an EVD
// has events already, and the provider's thread has reported them, Wait returns it
// even if ctx has ended.
//
// Wait returns EVDs with events in turn, each again while it has events, so
// that none is missed and none starves. Several goroutines may get the same
// EVD, and find that its events are gone. Wait does not return a disabled EVD.
// If the library cannot notify of an EVD's events, Wait returns its error, and
// the next Wait looks at that EVD again.
//
// Stands in for:
//
//	DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle,
//	                        IN DAT_TIMEOUT timeout,
//	                        OUT DAT_EVD_HANDLE *evd_handle)
func (cno *CNO) Wait(ctx context.Context) (*EVD, error) {
	if err := cno.object().enter(cnoWaitOp, InvalidHandleCNO); err != nil {
		return nil, err
	}
	cno.obj.leave()
	if err := checkContext(cnoWaitOp, ctx); err != nil {
		return nil, err
	}
	evd, err := cno.wait(ctx.Done())
	if err == errStopped {
		err = interrupted(cnoWaitOp, ctx)
	}
	return evd, err
}

// wait returns an EVD that has events, errStopped when stop is closed, and
// ErrClosed when the CNO is freed.
func (cno *CNO) wait(stop <-chan struct{}) (*EVD, error) {
	for stopped := false; ; {
		a := cno.next()
		if a == nil {
			if stopped {
				return nil, errStopped
			}
			if err := cno.block(stop); err == errStopped {
				// Look again: a notification of what is there may be on its way,
				// or be one that has woken this waiter and no other.
				stopped = true
				cno.ia.notifier.dispatch()
			} else if err != nil {
				return nil, err
			}
			continue
		}
		if has, err := a.evd.hasEvents(); err != nil {
			// It is not armed: whoever waits next has to look at it again.
			if !cno.offer(a) {
				cno.handOn()
			}
			return nil, err
		} else if has && cno.offer(a) {
			return a.evd, nil
		}
	}
}

// next returns the EVD that is to be looked at next, nil when there is none.
func (cno *CNO) next() *attachment {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	if place := cno.ready.Pop(); place != nil {
		return place.Member
	}
	return nil
}

// block returns nil when there may be an EVD to look at.
func (cno *CNO) block(stop <-chan struct{}) (err error) {
	w := newWaiter(1)
	defer w.release()
	cno.mu.Lock()
	if cno.ready.Len() > 0 {
		cno.mu.Unlock()
		return nil
	}
	cno.waiters.Push(&w.place)
	cno.mu.Unlock()
	select {
	case <-w.wake:
		return nil
	case <-stop:
		err = errStopped
	case <-cno.closing:
		err = cno.obj.freed(cnoWaitOp, InvalidHandleCNO)
	}
	cno.mu.Lock()
	cno.waiters.Remove(&w.place)
	cno.mu.Unlock()
	return err
}

// offer queues an EVD that has events, or is not armed, behind the others, for
// whoever asks next.
// It reports false when the EVD was detached meanwhile, or disabled: its events
// may be such as came only then.
func (cno *CNO) offer(a *attachment) bool {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	if a.over || a.evd.disabled.Load() {
		return false
	}
	if !a.place.Queued() {
		cno.ready.Push(&a.place)
	}
	wakeFirst(&cno.waiters)
	return true
}

// handOn wakes another goroutine for the EVDs that one leaves that was woken.
func (cno *CNO) handOn() {
	cno.mu.Lock()
	defer cno.mu.Unlock()
	if cno.ready.Len() > 0 {
		wakeFirst(&cno.waiters)
	}
}

// announce tells the CNO that the EVD may have events.
func (evd *EVD) announce() {
	a := evd.attachment.Load()
	if a == nil || evd.disabled.Load() {
		return
	}
	cno := a.cno
	cno.mu.Lock()
	defer cno.mu.Unlock()
	if !a.over && !a.place.Queued() {
		cno.ready.Push(&a.place)
		wakeFirst(&cno.waiters)
	}
}

// hasEvents reports whether the EVD has events. When not, it is armed, and
// announced when that changes, unless there is an error.
func (evd *EVD) hasEvents() (bool, error) {
	if evd.obj.enter(cnoWaitOp, NoSubtype) != nil {
		return false, nil // freed, and so detached
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.unlock()
	if err := evd.arm(cnoWaitOp, cgo.SameSeat); evd.backlog.len() == 0 {
		return false, err
	}
	return true, nil
}

// ModifyCNO attaches the event dispatcher to a CNO of the same adapter, and
// detaches it from the one before; nil only detaches it. Events that are queued
// already count. Free detaches an event dispatcher.
//
// Stands in for:
//
//	DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
//	                              IN DAT_CNO_HANDLE cno_handle)
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
	if cno != nil && cno.ia != evd.ia {
		return refuse(op, ErrInvalidHandle, InvalidHandleCNO, "the notification object belongs to another adapter: create one on this")
	}
	evd.mu.Lock()
	defer evd.unlock()
	evd.detach()
	evd.attach(cno)
	evd.announce()
	return nil
}

// attach begins the attachment to a CNO, unless that is nil. The caller holds mu,
// unless the EVD is new, and announces it.
func (evd *EVD) attach(cno *CNO) {
	if cno == nil {
		return
	}
	a := &attachment{evd: evd, cno: cno}
	a.place.Member = a
	cno.obj.addUser(&evd.obj)
	evd.attachment.Store(a)
}

// detach ends the attachment to a CNO. The caller holds mu, or the gate for writing.
func (evd *EVD) detach() {
	a := evd.attachment.Swap(nil)
	if a == nil {
		return
	}
	a.cno.mu.Lock()
	a.over = true
	a.cno.ready.Remove(&a.place)
	a.cno.mu.Unlock()
	a.cno.obj.removeUser(&evd.obj)
}

// Enable lets the events of the dispatcher trigger its CNO, those that are there
// already included. That is how an EVD begins.
//
// Enable and Disable are udat's own: it uses those of the library for all
// waiting.
//
// Stands in for:
//
//	DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Enable() error {
	if err := evd.object().enter("dat_evd_enable", NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	evd.disabled.Store(false)
	evd.announce()
	return nil
}

// Disable keeps the events of the dispatcher from triggering its CNO. It changes
// nothing for Wait, Poll and the others that take events.
//
// Stands in for:
//
//	DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Disable() error {
	if err := evd.object().enter("dat_evd_disable", NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	evd.disabled.Store(true)
	return nil
}
