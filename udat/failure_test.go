package udat_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const failureSize = 4096

// failing is what a case of TestTransferFailure works with. Cookies 1 and up
// are for its operations.
type failing struct {
	t               *testing.T
	active, passive *udattest.Endpoint
	local           udat.Segment // failureSize bytes
	region          *udat.LMR    // twice failureSize bytes, on the passive side
	remote          udat.RMRTriplet
}

func (f *failing) read()  { want(f.t, f.active.PostRDMARead(one(f.local), 1, f.remote, 0)) }
func (f *failing) write() { want(f.t, f.active.PostRDMAWrite(one(f.local), 1, f.remote, 0)) }
func (f *failing) send()  { want(f.t, f.active.PostSend(one(f.local), 1, 0)) }

// moved is the operation on memory that begins a number of bytes further on.
func moved(by int, operate func(f *failing)) func(f *failing) {
	return func(f *failing) {
		f.remote.VirtualAddress += uint64(by)
		operate(f)
	}
}

// forged is the operation with local memory that is not registered.
func forged(operate func(f *failing)) func(f *failing) {
	return func(f *failing) {
		f.local = udat.Forged(f.local)
		operate(f)
	}
}

const all = udat.MemPrivAll

var remoteAccess = []udat.DTOStatus{udat.DTOErrRemoteAccess}

// Operations that the adapters refuse to carry out, each with what both sides
// get. Where there are several statuses, rxe of Linux 6.1 reports the first and other
// adapters may report the others.
var transferFailures = []struct {
	name       string
	privileges udat.MemPriv                  // of the region
	otherZone  bool                          // that the region is in
	receive    func(f *failing) udat.Segment // that the peer receives the message to
	cause      func(f *failing)
	status     []udat.DTOStatus // of the operation
	received   []udat.DTOStatus // of the receive
	// nextArrives is set where the peer has done its part before the operation fails,
	// so that it may also get the message behind it: rxe of Linux 6.12 sends that
	// before it looks at what the peer has answered. The message completes with success
	// where the adapter has seen it acknowledged.
	nextArrives bool
	siwAllows   bool // soft-iWARP of Linux 7.3 does not look at the privilege
}{
	{name: "read without privilege", privileges: all &^ udat.MemPrivRemoteRead, cause: (*failing).read, status: remoteAccess, siwAllows: true},
	{name: "write without privilege", privileges: all &^ udat.MemPrivRemoteWrite, cause: (*failing).write, status: remoteAccess},
	{name: "write to local memory", privileges: udat.MemPrivLocalRead | udat.MemPrivLocalWrite, cause: (*failing).write, status: remoteAccess},
	{name: "read beyond the end", privileges: all, cause: moved(failureSize+1, (*failing).read), status: remoteAccess},
	{name: "write beyond the end", privileges: all, cause: moved(failureSize+1, (*failing).write), status: remoteAccess},
	{name: "write before the start", privileges: all, cause: moved(-1, (*failing).write), status: remoteAccess},
	{name: "write with a key of nobody's", privileges: all, status: remoteAccess, cause: func(f *failing) {
		f.remote.RMRContext ^= 0xff
		f.write()
	}},
	{name: "read from another protection zone", privileges: all, otherZone: true, cause: (*failing).read, status: remoteAccess},
	{name: "write to freed memory", privileges: all, status: remoteAccess, cause: func(f *failing) {
		want(f.t, f.region.Free())
		f.write()
	}},
	{name: "read to memory that is not registered", privileges: all, cause: forged((*failing).read),
		status: []udat.DTOStatus{udat.DTOErrLocalProtection}, nextArrives: true},
	// rxe of Linux 6.12 and 7.3 loses the status of what fails before it is sent.
	{name: "send of memory that is not registered", privileges: all, cause: forged((*failing).send),
		status: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalProtection, udat.DTOErrFlushed}},
	{name: "message longer than the receive", privileges: all, cause: (*failing).send,
		receive: func(f *failing) udat.Segment { return f.passive.Segment(f.t, 0, failureSize-1) },
		status:  []udat.DTOStatus{udat.DTOErrRemoteResponder}, received: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalLength}},
	{name: "receive to memory that is not registered", privileges: all, cause: (*failing).send,
		receive: func(f *failing) udat.Segment { return udat.Forged(f.passive.Segment(f.t, 0, failureSize)) },
		status:  []udat.DTOStatus{udat.DTOErrRemoteResponder}, received: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalProtection, udat.DTOErrTransport}},
}

// An operation that fails says why, on every side that takes part in it; it
// flushes what is behind it, breaks the connection and changes no memory. The
// endpoints are as good as new after a reset.
//
// On iWARP only the side that refuses knows why, and not always before it hears
// that the connection has ended. The other's operation may have succeeded before, as
// far as it was handed to the connection, or is flushed.
func TestTransferFailure(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		iwarp := udattest.IWARP(t, ia)
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		otherZone, err := udat.CreatePZ(ia)
		want(t, err)
		defer otherZone.Free()
		for _, c := range transferFailures {
			if iwarp && c.siwAllows {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				// The endpoints are those of the case before.
				udattest.ConnectPair(t, listener, active, passive)
				pz := passive.PZ
				if c.otherZone {
					pz = otherZone
				}
				region, err := udat.AllocMemory(pz, 2*failureSize, c.privileges)
				want(t, err)
				defer region.Free()
				fill(region.Bytes(), 1)
				fill(active.Memory.Bytes(), 2)
				remote, err := region.RMRTriplet(0, failureSize)
				want(t, err)
				f := &failing{t, active, passive, active.Segment(t, 0, failureSize), region, remote}
				if c.receive != nil {
					want(t, passive.PostRecv(one(c.receive(f)), 1, 0))
				}
				want(t, passive.PostRecv(one(passive.Segment(t, 8192, 8)), 11, 0))
				want(t, active.PostRecv(one(active.Segment(t, 8192, 8)), 10, 0))

				c.cause(f)
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0)) // goes down with the first, unless it arrives

				// The passive side goes first: the library frees its connection
				// request twice when it takes a failed completion in the moment in
				// which the peer disconnects.
				broken, other := active, passive
				if c.receive != nil {
					broken, other = passive, active
					wantCompletion(t, passive.Recv, 1, c.received...)
				}
				statuses, next := c.status, []udat.DTOStatus{udat.DTOErrFlushed}
				if c.nextArrives || iwarp {
					next = append(next, udat.DTOSuccess)
				}
				if iwarp {
					statuses = slices.Concat(statuses, next)
				}
				failed := wantCompletion(t, active.Request, 1, statuses...)
				if failed.Operation == udat.DTORDMARead && failed.Err() == nil {
					t.Error("the read has succeeded")
				}
				wantCompletion(t, active.Request, 2, next...)
				wantCompletion(t, active.Recv, 10, udat.DTOErrFlushed)
				if failed.Status != udat.DTOErrFlushed && !iwarp {
					// With the socket CM provider the passive side would hear no more.
					want(t, passive.Disconnect(udat.CloseAbrupt))
				} // else only this side's end can show that it was no disconnect
				wantCompletion(t, passive.Recv, 11, next...)
				for _, e := range []*udattest.Endpoint{broken, other} {
					event := udattest.Wait(t, e.Connect)
					if n := event.Number; n != udat.EventConnectionBroken && (e == broken && !iwarp || n != udat.EventConnectionDisconnected) {
						t.Errorf("the connection ended with %v", n)
					}
				}
				wantState(t, active.EP, udat.EPStateDisconnected)
				wantState(t, passive.EP, udat.EPStateDisconnected)

				untouched := make([]byte, 2*failureSize)
				fill(untouched, 1)
				if region.Bytes() != nil && !bytes.Equal(region.Bytes(), untouched) {
					t.Error("the remote memory has changed")
				}
				fill(untouched, 2)
				if !bytes.Equal(active.Memory.Bytes()[:2*failureSize], untouched) {
					t.Error("the local memory has changed")
				}

				// What is posted after the end is flushed too.
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 3, 0))
				wantCompletion(t, active.Request, 3, udat.DTOErrFlushed)
				for _, e := range []*udattest.Endpoint{active, passive} {
					want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 4, 0))
					wantFlushed(t, e.Recv, 4)
				}
				want(t, active.Reset())
				want(t, passive.Reset())
				for _, evd := range []*udat.EVD{active.Recv, active.Request, active.Connect, passive.Recv, passive.Request, passive.Connect} {
					wantNoEvent(t, evd)
				}
			})
		}
		udattest.ConnectPair(t, listener, active, passive)
		remote, err := passive.Memory.RMRTriplet(0, failureSize)
		want(t, err)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, failureSize)), 1, remote, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
	})
}

// wantCompletion takes the next completion, which must be that of cookie.
func wantCompletion(t *testing.T, evd *udat.EVD, cookie uint64, statuses ...udat.DTOStatus) udat.Event {
	t.Helper()
	event := udattest.Expect(t, evd, udat.EventDTOCompletion)
	if event.Cookie != cookie || !slices.Contains(statuses, event.Status) {
		t.Errorf("got operation %d, %v, %v; want operation %d, one of %v", event.Cookie, event.Operation, event.Status, cookie, statuses)
	}
	if event.Status != udat.DTOSuccess {
		want(t, event.Err(), event.Status)
		if event.Length != 0 {
			t.Errorf("operation %d failed, yet has transferred %d bytes", event.Cookie, event.Length)
		}
	}
	return event
}
