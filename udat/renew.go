package udat

import (
	"errors"
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// renew replaces the native endpoint by a new one made of the parts. The EP stays, and
// with it its identity and the cookies. The caller holds control but not the gate, and the
// EP is a user of the parts.
//
// early says whether receives that were posted before a connection are kept or flushed.
// Everything else that is outstanding completes with DTOErrFlushed. becomes is the state
// that the program sees from then on, UNCONNECTED or DISCONNECTED.
func (ep *EP) renew(op string, p epParts, becomes EPState, early fate) error {
	former := ep.native.Load()
	former.settleAttempt()
	n, err := ep.newNative(op, p, former)
	if err != nil {
		return err
	}
	if becomes == EPStateDisconnected {
		n.connection.Do(connphase.Empty)
		n.early.stop()
	}
	former.pausePosts()
	defer former.resumePosts()
	if err := n.replace(op, former, early); err != nil {
		n.withdraw()
		return err
	}
	former.removeStreams()
	return nil
}

// replace makes the EP use the native endpoint instead of former, and frees former. If it fails,
// nothing has changed. It does not fail if former cannot be freed, since the new one is
// there.
func (n *nativeEP) replace(op string, former *nativeEP, early fate) error {
	ep := n.ep
	if err := former.checkPosted(op, n.parts.attr); err != nil {
		return err
	}
	if !former.early.noting {
		early = flushed
	}
	if early == reposted && n.recv.evd != former.recv.evd && n.recv.evd != nil {
		if err := n.recv.reserveRoom(op, int(former.recv.outstanding())); err != nil {
			return err
		}
	}
	if former.inUse() {
		former.disconnectBeforeFree()
	}
	ep.obj.gate.Lock()
	defer ep.obj.gate.Unlock()
	former.free(op, early)
	if early == reposted {
		n.repost(former) // before other receives can be posted
	}
	former.forgetRegions()
	former.report()
	n.publish()
	ep.obj.setParents(n.parts.parents(ep.ia), ep.obj.parents)
	return nil
}

// inUse reports whether the native endpoint is or was connected, as far as the library
// knows.
func (n *nativeEP) inUse() bool {
	state, r := nativeState(n.handle)
	return !r.OK() || state != EPStateUnconnected
}

// disconnectBeforeFree disconnects a native endpoint that is in use and about to be
// freed. The caller holds control, and has paused posts.
func (n *nativeEP) disconnectBeforeFree() {
	n.connection.Unlimit()
	n.reap()
	n.ep.ia.endpoints.removeHandle(n.handle)
	n.disconnectPaused(CloseAbrupt)
	n.settleAttempt()
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

// note keeps a receive that was posted while noting is set.
func (e *earlyReceives) note(iov []Segment, cookie uint64, flags CompletionFlags) {
	e.list = append(e.list, earlyReceive{slices.Clone(iov), cookie, flags})
}

// repost posts receives of the former native endpoint again. A receive fails if its memory
// is not in the protection zone of this one.
func (n *nativeEP) repost(former *nativeEP) {
	k, d := &kinds[opReceive], &n.recv
	former.recv.mu.Lock() // LMR.Free waits for it, and finds the memory in use before and after
	defer former.recv.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takeOver(&former.recv)
	d.reposting = true
	defer func() { d.reposting = false }()
	for _, e := range former.early.list {
		d.iov = d.iov[:0]
		_, err := d.gather(k.call, e.iov, k.needs)
		if err == nil {
			d.reservedRoom--
			d.prepare(&d.single, opReceive, k, len(d.iov), e.cookie, e.flags, nil)
			if r := cgo.EPPost(d.handle, &d.single, d.iov, nil); !r.OK() {
				d.withdraw()
				err = d.refusedByLibrary(k.call, r)
			}
		}
		if err == nil {
			if n.early.noting {
				n.early.note(e.iov, e.cookie, e.flags)
			}
			continue
		}
		status := DTOErrLocalEP
		if errors.Is(err, ErrProtectionViolation) {
			status = DTOErrLocalProtection
		}
		d.evd.add(d.failed(opReceive, e.cookie, status))
	}
	if d.counting {
		d.evd.room.Release(d.reservedRoom)
	}
	d.reservedRoom = 0
}
