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
// again. What else is outstanding completes with DTOErrFlushed.
func (ep *EP) renew(op string, p epParts) error {
	old := ep.parts()
	// Freed first, the old endpoint's room on the EVDs can serve the new one.
	old.release()
	handle, err := p.create(op, ep.ia)
	if err != nil {
		old.mustReserve()
		return err
	}
	if err := ep.exchange(op, p, handle); err != nil {
		p.release()
		old.mustReserve()
		cgo.EPFree(handle)
		return err
	}
	return nil
}

// exchange puts the new native endpoint in the place of the old one, which it
// frees. When it fails, the new one is the caller's still.
func (ep *EP) exchange(op string, p epParts, handle cgo.EPHandle) error {
	ep.obj.gate.Lock()
	defer ep.obj.gate.Unlock()
	if ep.obj.state != lifeAlive {
		return ep.obj.unusable(op, InvalidHandleEP)
	}
	ep.lockDirections()
	defer ep.unlockDirections()
	newNumber, err := ep.newNumber(op)
	if err != nil {
		return err
	}
	ep.connection.cancel()
	ep.reap()
	number, early := ep.number, ep.early.take()
	if early != nil {
		// The old endpoint's flushing of receives that live on is no news.
		ep.ia.endpoints.remove(number)
	}
	if err := ep.freeNative(op); err != nil {
		ep.request.broken, ep.recv.broken = true, true
		ep.ia.endpoints.remove(newNumber)
		return err
	}
	ep.reap()
	if early == nil {
		ep.flush()
		ep.ia.endpoints.remove(number)
	}
	ep.install(p, handle, newNumber)
	ep.obj.setParents(p.parents(ep.ia)...)
	ep.repost(op, early)
	return nil
}

// mustReserve takes back room that was released a moment ago. Should another
// endpoint have taken it meanwhile, the account is overdrawn until one goes.
func (p *epParts) mustReserve() {
	for _, c := range p.claims() {
		c.evd.capacity.release(-c.n)
	}
}

// flush completes what the library has lost.
func (ep *EP) flush() {
	ep.flushReceives()
	for _, event := range ep.request.flush(ep) {
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
		native, err := d.prepare(op, DTOReceive, e.iov, e.cookie, MemPrivLocalWrite)
		if err == nil {
			err = d.finish(op, cgo.EPPostRecv(d.handle, d.iov, native, e.flags))
		}
		if err == nil {
			ep.early.note(e.iov, e.cookie, e.flags)
			continue
		}
		status := DTOErrLocalEP
		if errors.Is(err, ErrProtectionViolation) {
			status = DTOErrLocalProtection
		}
		ep.recvEVD.add(Event{Number: EventDTOCompletion, Cookie: e.cookie, Operation: DTOReceive, Status: status, ep: ep})
	}
}
