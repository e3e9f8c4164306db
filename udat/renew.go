package udat

import (
	"errors"
	"slices"

	"github.com/goudat/goudat/cgo"
)

// renew replaces the native endpoint by a new one made of the parts; the Go
// object, and with it identity and cookies, stays. The caller holds control and
// not the gate, and what the parts name is kept alive.
//
// Receives that were posted since the endpoint was last unconnected are posted
// again, if early says so. What else is outstanding completes with DTOErrFlushed.
// becomes is the state that the program sees from then on, UNCONNECTED or
// DISCONNECTED.
func (ep *EP) renew(op string, p epParts, becomes EPState, early earlyFate) error {
	ep.settleAttempt() // before anything is locked that others wait for
	old := ep.parts()
	held := ep.claims(&old)
	handle, err := ep.create(op, &p, held)
	if err != nil {
		return err
	}
	if err := ep.exchange(op, p, handle, becomes, early); err != nil {
		leaveClaims(ep.claims(&p), held)
		p.discard(ep.ia, handle)
		return err
	}
	leaveClaims(held, ep.claims(&p))
	return nil
}

// earlyFate is what becomes of the receives that were posted since the endpoint was
// last unconnected.
type earlyFate bool

const (
	earlyKept    earlyFate = true
	earlyFlushed earlyFate = false
)

// exchange puts the new native endpoint in the place of the old one, which it
// frees. When it fails, nothing has changed, and the new one is the caller's still.
// That the old one cannot be freed is no reason to fail: it is of no use any more,
// and the new one is there.
func (ep *EP) exchange(op string, p epParts, handle cgo.EPHandle, becomes EPState, fate earlyFate) error {
	ep.obj.gate.Lock()
	defer ep.obj.gate.Unlock()
	if ep.obj.state != lifeAlive {
		return ep.obj.unusable(op, InvalidHandleEP)
	}
	ep.lockDirections()
	defer ep.unlockDirections()
	if err := ep.checkPosted(op, p.attr); err != nil {
		return err
	}
	newNumber, err := ep.newNumber(op)
	if err != nil {
		return err
	}
	if fate == earlyFlushed {
		ep.early.stop() // from here on, nothing fails
	}
	repost, since, err := ep.takeRepostRoom(op, p.recv)
	if err != nil {
		ep.ia.endpoints.hide(newNumber)
		ep.ia.endpoints.release(newNumber)
		return err
	}
	ep.connection.cancel()
	ep.reap()
	number, early := ep.number, ep.early.take()
	if early != nil {
		// The old endpoint's flushing of receives that live on is no news.
		ep.ia.endpoints.hide(number)
	}
	failure := ep.freeNative(op)
	ep.reap()
	if early == nil {
		ep.flush()
		ep.ia.endpoints.hide(number)
	}
	if failure == nil {
		ep.ia.endpoints.release(number)
		old := ep.parts()
		old.leaveQueues(ep.ia)
	}
	ep.detach()
	ep.reportEnd()
	ep.reportFailure()
	ep.install(p, handle, newNumber, repost, since)
	if becomes == EPStateDisconnected {
		ep.end()
	}
	ep.obj.setParents(p.parents(ep.ia)...)
	ep.repost(op, early)
	return nil
}

// takeRepostRoom takes room for the receives that are to be posted again, if they
// are to complete on another EVD than so far. It returns their number, and the
// epoch in which they have room there. The caller holds the lock of the receives.
func (ep *EP) takeRepostRoom(op string, evd *EVD) (repost int, since epoch, err error) {
	if !ep.early.noting || evd == nil || ep.recv.shared {
		return 0, 0, nil
	}
	repost = int(ep.recv.outstanding())
	if evd == ep.recvEVD {
		return repost, 0, nil
	}
	evd.mu.Lock()
	defer evd.unlock()
	if evd.attention&attendCounting == 0 {
		return repost, 0, nil
	}
	if s := evd.room.shares[&ep.recv]; s != nil {
		evd.uncharge(s) // nothing of it completes here yet
	}
	since = evd.room.tally.epoch()
	if !evd.room.take(since, repost) {
		return 0, 0, evd.errNoRoom(op)
	}
	return repost, since, nil
}

// end makes an endpoint whose native counterpart is new look like one that was
// disconnected: what is posted completes at once with DTOErrFlushed. The caller
// holds the gate for writing and both directions.
func (ep *EP) end() {
	ep.connection.over.Store(true)
	ep.connection.ended.Store(true)
	ep.early.stop()
}

// flush completes what the library has lost.
func (ep *EP) flush() {
	ep.flushReceives()
	for _, event := range ep.request.flush() {
		ep.requestEVD.add(event)
	}
}

// earlyReceives notes the receives that are posted before a connection, since a
// Modify has to post them again. It is guarded by the receive direction's lock.
type earlyReceives struct {
	noting bool
	list   []earlyReceive
}

type earlyReceive struct {
	iov    []Segment
	cookie uint64
	flags  CompletionFlags
}

func (e *earlyReceives) start() { e.noting, e.list = true, nil }
func (e *earlyReceives) stop()  { e.noting, e.list = false, nil }

func (e *earlyReceives) note(iov []Segment, cookie uint64, flags CompletionFlags) {
	if e.noting {
		e.list = append(e.list, earlyReceive{slices.Clone(iov), cookie, flags})
	}
}

// take gives the receives to post again; nil when they are not noted any more.
func (e *earlyReceives) take() []earlyReceive {
	if !e.noting {
		return nil
	}
	if e.list == nil {
		return []earlyReceive{}
	}
	return e.list
}

// repost posts the receives on the new native endpoint. Those that it does not
// take, because their memory is not in its protection zone, fail.
func (ep *EP) repost(op string, early []earlyReceive) {
	d := &ep.recv
	for _, e := range early {
		native, err := d.prepare(op, opReceive, e.iov, e.cookie, MemPrivLocalWrite)
		if err == nil {
			err = d.finish(op, cgo.EPPostRecv(d.handle, d.iov, native, cgo.CompletionFlags(e.flags)))
		}
		if err == nil {
			ep.early.note(e.iov, e.cookie, e.flags)
			continue
		}
		status := DTOErrLocalEP
		if errors.Is(err, ErrProtectionViolation) {
			status = DTOErrLocalProtection
		}
		d.evd.add(d.failed(opReceive, e.cookie, status))
	}
	if d.prepaid > 0 {
		d.evd.room.tally.add(d.epoch, -d.prepaid)
		d.prepaid = 0
	}
}
