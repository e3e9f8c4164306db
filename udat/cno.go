package udat

import (
	"cmp"
	"context"
	"errors"
	"runtime/trace"
	"syscall"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

// CNO is a consumer notification object: it reports which of the EVDs attached to it have events.
type CNO struct {
	obj    object
	ia     *IA
	native *notify.CNO[EVD]
}

func (cno *CNO) object() *object { return &cno.obj }

// CreateCNO creates a notification object. For agent see CNO.ModifyAgent.
//
//	Implements: DAT_RETURN dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_FD *file_descriptor, OUT DAT_CNO_HANDLE *cno_handle)
//	Stands in for: DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent, OUT DAT_CNO_HANDLE *cno_handle)
func CreateCNO(ia *IA, agent func(*EVD)) (*CNO, error) {
	const op = "dat_cno_create"
	if err := objectOf(ia).enter(op, InvalidHandleIA); err != nil {
		return nil, err
	}
	defer ia.obj.Leave()
	cno := &CNO{ia: ia}
	var r cgo.Return
	var err error
	if cno.native, r, err = notify.CreateCNO(ia.handle, ia.evdWithHandle); err != nil || !r.OK() {
		return nil, cannotNotify(op, r, err)
	}
	cno.obj.born("notification object", cgo.Handle(cno.native.Handle()), InvalidStateCNOInUse, cno.Free, &ia.obj.Object)
	cno.native.SetAgent(agent)
	return cno, nil
}

// cannotNotify returns why there is no CNO: r, or why its descriptor could not be duplicated.
func cannotNotify(op string, r cgo.Return, err error) error {
	if err != nil || r.Type() == cgo.InsufficientResources {
		if err := fileLimit(op, 2); err != nil { // both descriptors
			return err
		}
	}
	if err != nil {
		return withProblem(op, classError|Return(ErrInsufficientResources), err)
	}
	return checkCreate(op, r)
}

// CNOParam holds the parameters of a notification object.
type CNOParam struct {
	IA    *IA
	Agent func(*EVD) // nil when there is none, or it was called
}

const cnoQueryOp = "dat_cno_query"

// Query returns the parameters of the notification object.
//
//	Implements: DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_CNO_PARAM_MASK cno_param_mask, OUT DAT_CNO_PARAM *cno_param)
func (cno *CNO) Query() (CNOParam, error) {
	return query(objectOf(cno), cnoQueryOp, InvalidHandleCNO, func() (CNOParam, cgo.Return) {
		r := cgo.CNOQuery(cno.native.Handle(), cgo.CNOFieldAll, new(cgo.CNOParam)) // only checks that the object is alive in C
		return CNOParam{IA: cno.ia, Agent: cno.native.Agent()}, r
	})
}

// Free frees the notification object. Waiters get ErrClosed. The agent is not called any more. Free
// fails with ErrInvalidState if EVDs are attached.
//
//	Implements: DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle)
func (cno *CNO) Free() error {
	const op = "dat_cno_free"
	return objectOf(cno).seal(op, InvalidHandleCNO, func() error { return check(op, cno.native.Free()) })
}

// ModifyAgent replaces the agent; nil removes it. When an EVD has events, the agent is removed and
// called with the EVD, on a goroutine of its own. To be called again, the agent takes the events
// and then calls ModifyAgent. A replaced agent is not called any more, but a call that has begun
// continues.
//
//	Stands in for: DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent)
func (cno *CNO) ModifyAgent(agent func(*EVD)) error {
	if err := objectOf(cno).enter("dat_cno_modify_agent", InvalidHandleCNO); err != nil {
		return err
	}
	defer cno.obj.Leave()
	cno.native.SetAgent(agent)
	return nil
}

const cnoWaitOp = "dat_cno_wait"

// Wait reports an EVD once each time it becomes non-empty, in order: drain the EVD with Poll before
// the next Wait. Wait blocks until there is one or ctx ends; then the error matches the context's
// error and its cause. An EVD that is there by then is returned even if ctx has ended.
//
// An EVD with events also counts when it is attached or enabled, and when the last goroutine in
// EVD.Wait leaves events. Events for a goroutine there, or of a disabled EVD, do not count.
//
//	Stands in for: DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func (cno *CNO) Wait(ctx context.Context) (*EVD, error) {
	if err := checkContext(cnoWaitOp, ctx); err != nil {
		return nil, cmp.Or(objectOf(cno).usable(cnoWaitOp, InvalidHandleCNO), err)
	}
	if cno == nil || cno.native == nil {
		return nil, objectOf(cno).enter(cnoWaitOp, InvalidHandleCNO)
	}
	defer trace.StartRegion(ctx, cnoWaitOp).End()
	evd, r := cno.native.Wait(ctx.Done())
	switch {
	case r.OK():
		return evd, nil
	case r.Type() == cgo.TimeoutExpired:
		return nil, interrupted(cnoWaitOp, ctx)
	}
	return nil, cno.obj.check(cnoWaitOp, InvalidHandleCNO, r)
}

// Trigger is Wait that fails with ErrQueueEmpty instead of waiting.
//
//	Implements: DAT_RETURN dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func (cno *CNO) Trigger() (*EVD, error) {
	return query(objectOf(cno), "dat_cno_trigger", InvalidHandleCNO, func() (*EVD, cgo.Return) { return cno.native.Trigger() })
}

// SyscallConn returns the descriptor of the notification object, for event loops such as epoll.
// Only Control works; Read and Write fail with errors.ErrUnsupported. The descriptor is readable
// while an EVD has triggered the notification object and neither Wait, Trigger nor an agent has
// taken it. Then call Trigger until it fails with ErrQueueEmpty, and drain each EVD with Poll, in
// level-triggered and edge-triggered loops alike. Do not read, write or close the descriptor. Free
// closes it, which removes it from an epoll set.
func (cno *CNO) SyscallConn() (syscall.RawConn, error) {
	if err := objectOf(cno).enter(cnoQueryOp, InvalidHandleCNO); err != nil {
		return nil, err
	}
	defer cno.obj.Leave()
	return descriptor{cno}, nil
}

// descriptor is a RawConn without the parts that wait in Go's poller, which waits there already.
type descriptor struct{ cno *CNO }

func (d descriptor) Control(f func(fd uintptr)) error {
	if err := d.cno.native.Control(f); err != nil {
		return cmp.Or(d.cno.obj.usable(cnoQueryOp, InvalidHandleCNO), err)
	}
	return nil
}
func (descriptor) Read(func(uintptr) bool) error  { return errors.ErrUnsupported }
func (descriptor) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

// ModifyCNO attaches the event dispatcher to another CNO of the same adapter; nil only detaches it.
// Queued events trigger the new CNO. Free detaches, too.
//
//	Implements: DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_CNO_HANDLE cno_handle)
func (evd *EVD) ModifyCNO(cno *CNO) error {
	const op = "dat_evd_modify_cno"
	arguments := []argument{{objectOf(evd), NoSubtype}}
	if evd != nil && cno != nil { // nothing new uses a CNO of an adapter that is being closed
		arguments = append(arguments, argument{objectOf(evd.ia), NoSubtype}, argument{&cno.obj, InvalidHandleCNO})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return err
	}
	defer leave()
	var native cgo.CNOHandle
	if cno != nil {
		native = cno.native.Handle()
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

// Enable lets events, even queued ones, trigger the CNO. EVDs start enabled.
//
//	Implements: DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Enable() error {
	return evd.set("dat_evd_enable", (*notify.Queue).SetDisabled, false)
}

// Disable keeps events from triggering the CNO. Calls that take events work as before.
//
//	Implements: DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) Disable() error {
	return evd.set("dat_evd_disable", (*notify.Queue).SetDisabled, true)
}
