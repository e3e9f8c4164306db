package udat

import (
	"errors"
	"math"
	"runtime"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// post posts an operation of any kind. remote is nil for one without remote memory,
// operands are those of the extension's operations: see cgo.EPPost.
func (ep *EP) post(op operation, iov []Segment, cookie uint64, flags CompletionFlags, remote *RMRTriplet, operands *[2]uint64) error {
	k := &kinds[op]
	if ep == nil {
		return ep.object().enter(k.call, InvalidHandleEP)
	}
	for {
		d := ep.direction(op)
		if d == nil {
			return ep.explain(k.call, errNotReady)
		}
		d.mu.Lock()
		err := d.post(op, k, iov, cookie, flags, remote, operands)
		d.mu.Unlock() // without a defer: see shadow.posted
		if d.longPosts && turnOver() {
			runtime.Gosched()
		}
		switch {
		case err == nil || err == errFlushed:
			return nil
		case err != errPaused || !d.awaitPosts():
			return ep.explain(k.call, err)
		}
	}
}

// direction returns the queue that an operation is posted to, nil for an endpoint
// that was not made by this package.
func (ep *EP) direction(op operation) *direction {
	n := ep.native.Load()
	switch {
	case n == nil:
		return nil
	case op == opReceive:
		return &n.recv
	}
	return &n.request
}

// post posts one operation. The caller holds mu.
func (d *direction) post(op operation, k *kind, iov []Segment, cookie uint64, flags CompletionFlags, remote *RMRTriplet, operands *[2]uint64) error {
	d.iov = d.iov[:0]
	if err := d.examine(op, k, iov, flags, remote); err != nil {
		return err
	}
	if err := d.flushIfEnding(op, cookie); err != nil {
		return err
	}
	d.prepare(&d.single, op, k, len(d.iov), cookie, flags, remote)
	if r := cgo.EPPost(d.handle, &d.single, d.iov, operands); !r.OK() && !d.refusedAtEnd(r) {
		d.withdraw()
		return d.refusedByLibrary(k.call, r)
	}
	if op == opReceive && d.n.early.noting {
		d.n.early.note(iov, cookie, flags)
	}
	if d.shadow != nil {
		d.shadow.posted(d, k.call)
	}
	return nil
}

// examine checks an operation, takes its room, and adds its native segments to d.iov. The
// caller holds mu.
func (d *direction) examine(op operation, k *kind, iov []Segment, flags CompletionFlags, remote *RMRTriplet) error {
	switch {
	case d.handle == 0:
		return errPaused
	case flags&^k.flags != 0:
		return refuse(k.call, ErrInvalidParameter, k.flagsArg, "the completion flags are %v, they may have %v: leave CompletionDefault", flags, k.flags)
	case d.shared:
		return refuse(k.call, ErrInvalidState, InvalidStateSRQInUse, "the endpoint receives through a shared receive queue: post to that")
	case d.limit == 0:
		return refuse(k.call, ErrInvalidState, InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions: give it one with CreateEP or Modify")
	case d.closed:
		return refuse(k.call, ErrInvalidState, InvalidStateEPDiscPending, "the endpoint is being disconnected: wait for EventConnectionDisconnected, Reset it and connect it again")
	case len(iov) > d.maxIOV:
		return refuse(k.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxRecvIOV and MaxRequestIOV", len(iov), d.maxIOV)
	case d.outstanding() >= d.uncountedLimit && !d.admit():
		return d.errFull(k.call)
	}
	before := len(d.iov)
	total, err := d.gather(k.call, iov, k.needs)
	if most := d.mostBytes(k); err == nil && total > uint64(most) {
		err = refuse(k.call, ErrInvalidParameter, InvalidArg3, "the operation has %d bytes, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxMessageSize and MaxRDMASize", total, most)
	}
	if err == nil && remote != nil {
		err = d.checkRemote(op, k, len(d.iov)-before, total, remote)
	}
	if err != nil {
		d.giveRoom()
	}
	return err
}

// mostBytes returns how many bytes an operation may have.
func (d *direction) mostBytes(k *kind) uint32 {
	switch k.sized {
	case asRDMA:
		return d.maxRDMASize
	case asMemory:
		return math.MaxUint32
	}
	return d.maxMessageSize
}

// checkRemote checks the remote memory of an operation, and what else only operations with
// remote memory need.
func (d *direction) checkRemote(op operation, k *kind, segments int, total uint64, remote *RMRTriplet) error {
	ia := d.n.ep.ia
	switch {
	case total > uint64(remote.SegmentLength):
		return refuse(k.call, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d: shorten the segments, or have the peer give more of its memory", total, remote.SegmentLength)
	case op == opRDMARead && segments > ia.attr.MaxIOVSegmentsPerRead:
		// The library takes them, and soft-iWARP then reads into the first segment alone.
		return refuse(k.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, an RDMA read of the adapter takes at most %d: post several reads", segments, ia.attr.MaxIOVSegmentsPerRead)
	case op == opRDMARead && d.misread(total, remote):
		return refuse(k.call, ErrInvalidParameter, InvalidArg5, "the operation reads %d bytes across two pages of the peer's memory, and soft-iWARP returns wrong bytes for such a read of at most %d: read each page's part by itself, or read more", total, mostMisread)
	case d.lacks.has(op):
		return refuse(k.call, ErrNotImplemented, NoSubtype, "the device %s does not have the operation: ask ProviderAttr.Supports before you use it", ia.attr.AdapterName)
	case op == opRDMARead && readsOf(d.n.parts.attr.MaxRDMAReadOut) == 0:
		return refuse(k.call, ErrInvalidParameter, NoSubtype, "the endpoint was made without RDMA reads: leave EPAttr.MaxRDMAReadOut 0 for the default, or give it a number")
	}
	return nil
}

// prepare records an operation that was examined, and fills in its native form. The caller
// holds mu.
func (d *direction) prepare(to *cgo.Post, op operation, k *kind, segments int, cookie uint64, flags CompletionFlags, remote *RMRTriplet) {
	native := d.record(op, cookie)
	if op == opRDMARead {
		flags = d.readFlags(flags)
	}
	if op != opReceive {
		native, flags = d.suppress(native, flags, d.iov[len(d.iov)-segments:])
	}
	to.Operation, to.Segments = k.dto.native(), uint32(segments)
	to.Cookie, to.Flags = native, cgo.CompletionFlags(flags)
	if remote != nil {
		to.Remote = cgo.RMRTriplet(*remote)
	}
}

// flushIfEnding returns nil for an operation that is to be posted. While a connection ends,
// others complete without that: the error is errFlushed, or says that the completion has no
// room.
func (d *direction) flushIfEnding(op operation, cookie uint64) error {
	switch {
	case !d.n.connection.Phase().Ending():
		return nil
	case d.flushes(op):
		return d.flushPost(op, cookie)
	case d.completesAtEnd(op, cookie):
		return errFlushed
	}
	return nil
}

// flushes reports whether an operation completes at once instead of being posted.
func (d *direction) flushes(op operation) bool {
	phase := d.n.connection.Phase()
	return phase.Empty() || phase.Ending() && (op == opReceive || d.iwarp || phase.Failed()) && d.idle()
}

// awaitsConnection reports whether requests cannot be posted because there is only an
// attempt to connect, which may have failed.
func (d *direction) awaitsConnection() bool {
	phase := d.n.connection.Phase()
	return d == &d.n.request && (phase == connphase.Attempting || phase.Failed())
}

// errFlushed says that an operation needs no posting: it has completed already, or
// does so with the end of the connection.
var errFlushed = errors.New("operation flushed")

// flushPost completes an operation on an endpoint whose connection, or attempt, has ended.
// The library does not complete it, or leaves that to the adapter; but soft-RoCE ignores
// receives that are posted after the end, and iWARP ignores requests. After an attempt that
// has failed, the socket CM provider refuses requests, and the adapter completes them even
// so, when the library has forgotten them. Completions that nobody takes fill the event
// dispatcher, as they would in the library.
func (d *direction) flushPost(op operation, cookie uint64) error {
	event := d.failed(op, cookie, DTOErrFlushed)
	switch {
	case d.counting:
		d.giveRoom() // to the event
		d.evd.add(event)
	case !d.evd.addWithin(event):
		return d.evd.errNoRoom(kinds[op].call)
	}
	return errFlushed
}

// refusedByLibrary returns the error of an operation that the library has refused.
func (d *direction) refusedByLibrary(op string, r cgo.Return) error {
	if r.Type() != cgo.InvalidState && d.awaitsConnection() {
		return errNotReady // the attempt is failing: the library shows that before it posts the event
	}
	return check(op, r)
}

// gathering collects the native segments of operations.
type gathering struct {
	pz      *PZ
	owner   regionUser
	iov     []cgo.LMRTriplet
	regions []*LMR // of the latest operation
	known   knownRegions

	reposting bool // receives that were outstanding are posted again: a Free of their memory that is under way will be refused

	iwarp bool // the device misreads segments of no bytes: see gather
}

// gather checks the segments of an operation, and adds their native form to iov.
func (g *gathering) gather(op string, iov []Segment, needs MemPriv) (total uint64, err error) {
	g.regions = g.regions[:0]
	for i := range iov {
		s := &iov[i]
		if s.lmr != nil {
			g.known.meet(s.lmr, g.owner)
			if s.lmr.gone.Load() && !g.reposting {
				return 0, s.lmr.obj.freed(op, InvalidHandleLMR)
			}
			if s.lmr.pz != g.pz || s.lmr.privileges&needs == 0 {
				return 0, s.refusal(op, i, g.pz, needs)
			}
			g.regions = append(g.regions, s.lmr)
		}
		if s.triplet.SegmentLength == 0 && g.iwarp {
			continue // the kernel's soft-iWARP takes it for the end of the list
		}
		total += uint64(s.triplet.SegmentLength)
		g.iov = append(g.iov, s.triplet)
	}
	// Soft-iWARP refuses a receive without segments. For an RDMA read without segments it
	// uses the segment of an earlier operation.
	if g.iwarp && needs == MemPrivLocalWrite && total == 0 {
		g.iov = append(g.iov, cgo.LMRTriplet{})
	}
	return total, nil
}

// refusal returns the error of segment i, which the operation may not use.
func (s *Segment) refusal(op string, i int, pz *PZ, needs MemPriv) error {
	if s.lmr.pz != pz {
		return refuse(op, ErrProtectionViolation, protectionSubtype(needs), "segment %d is not in the endpoint's protection zone: register its memory there", i)
	}
	return refuse(op, ErrPrivilegesViolation, privilegesSubtype(needs), "segment %d has the privileges %v, the operation needs %v: register its memory with that", i, s.lmr.privileges, needs)
}

func protectionSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return ProtectionWrite
	}
	return ProtectionRead
}

func privilegesSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return PrivilegesWrite
	}
	return PrivilegesRead
}

// errPaused says that the direction takes no posts at the moment, or never again: see
// awaitPosts.
var errPaused = errors.New("posts paused")

// errNotReady says that there is no native endpoint, or that it is not connected. explain
// finds out more once the direction's lock is released.
var errNotReady = errors.New("endpoint not ready")

// explain adds the endpoint's state to the error of a post, which takes the gate: the
// library's error names UNCONNECTED whatever the state is.
func (ep *EP) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	e, isError := err.(*Error)
	if err != errNotReady && err != errPaused && !(isError && e.Detail == "" && e.Return.Type() == ErrInvalidState) {
		return err
	}
	if gone := ep.obj.enter(op, InvalidHandleEP); gone != nil {
		return gone
	}
	defer ep.obj.leave()
	if required := ep.requireState(op, EPStateConnected); required != nil {
		return required
	}
	return refuse(op, ErrInvalidState, NoSubtype, "the endpoint was not connected when the operation was posted: wait for EventConnectionEstablished first")
}
