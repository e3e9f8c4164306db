package udat_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const failureSize = 4096

// transferFailures are operations that the adapters refuse to carry out, each with what both sides
// get. Where there are several statuses, rxe of Linux 6.1 reports the first and other
// adapters may report the others.
var transferFailures = []struct {
	name       string
	privileges udat.MemPriv     // of the peer's memory
	operation  udat.DTO         // of the active side
	offset     int              // of the peer's memory
	freed      bool             // the peer's memory
	forged     bool             // the local memory is not registered
	receive    int              // bytes of the peer's receive, 0 for none
	lost       bool             // the receive is to memory that is not registered
	status     []udat.DTOStatus // of the operation
	received   []udat.DTOStatus // of the receive
	siwAllows  bool             // soft-iWARP of Linux 7.3 does not look at the privilege
}{
	{name: "read without privilege", privileges: udat.MemPrivAll &^ udat.MemPrivRemoteRead, operation: udat.DTORDMARead,
		status: []udat.DTOStatus{udat.DTOErrRemoteAccess}, siwAllows: true},
	{name: "write without privilege", privileges: udat.MemPrivAll &^ udat.MemPrivRemoteWrite, operation: udat.DTORDMAWrite,
		status: []udat.DTOStatus{udat.DTOErrRemoteAccess}},
	{name: "read beyond the end", privileges: udat.MemPrivAll, operation: udat.DTORDMARead, offset: failureSize + 1,
		status: []udat.DTOStatus{udat.DTOErrRemoteAccess}},
	{name: "write to freed memory", privileges: udat.MemPrivAll, operation: udat.DTORDMAWrite, freed: true,
		status: []udat.DTOStatus{udat.DTOErrRemoteAccess}},
	// rxe of Linux 6.12 and 7.3 loses the status of what fails before it is sent.
	{name: "send of memory that is not registered", privileges: udat.MemPrivAll, operation: udat.DTOSend, forged: true,
		status: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalProtection, udat.DTOErrFlushed}},
	{name: "message longer than the receive", privileges: udat.MemPrivAll, operation: udat.DTOSend, receive: failureSize - 1,
		status: []udat.DTOStatus{udat.DTOErrRemoteResponder}, received: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalLength}},
	{name: "receive to memory that is not registered", privileges: udat.MemPrivAll, operation: udat.DTOSend, receive: failureSize, lost: true,
		status:   []udat.DTOStatus{udat.DTOErrRemoteResponder},
		received: []udat.DTOStatus{udat.DTOErrLocalEP, udat.DTOErrLocalProtection, udat.DTOErrTransport}},
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
		for _, c := range transferFailures {
			if iwarp && c.siwAllows {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				// The endpoints are those of the case before.
				udattest.ConnectPair(t, listener, active, passive)
				region := untilEnd(t, must(udat.AllocMemory(passive.PZ, 2*failureSize, c.privileges)))
				fill(region.Bytes(), 1)
				fill(active.Memory.Bytes(), 2)
				remote := must(region.RMRTriplet(0, failureSize))
				remote.VirtualAddress += uint64(c.offset)
				local, into := active.Segment(t, 0, failureSize), passive.Segment(t, 0, c.receive)
				if c.forged {
					local = udat.Forged(local)
				}
				if c.lost {
					into = udat.Forged(into)
				}
				if c.receive > 0 {
					want(t, passive.PostRecv(one(into), 1, 0))
				}
				want(t, passive.PostRecv(one(passive.Segment(t, 8192, 8)), 11, 0))
				want(t, active.PostRecv(one(active.Segment(t, 8192, 8)), 10, 0))
				if c.freed {
					want(t, region.Free())
				}
				postAll(t, active.EP, []udat.Post{
					{Operation: c.operation, Segments: one(local), Cookie: 1, Remote: remote},
					{Operation: udat.DTOSend, Segments: one(active.Segment(t, 0, 8)), Cookie: 2}, // goes down with the first, unless it arrives
				})

				broken, other := active, passive
				if c.receive > 0 {
					broken, other = passive, active
					wantCompletion(t, passive.Recv, 1, c.received...)
				}
				statuses, next := c.status, []udat.DTOStatus{udat.DTOErrFlushed}
				if iwarp {
					next = append(next, udat.DTOSuccess)
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
					n := udattest.Wait(t, e.Connect).Number
					if n != udat.EventConnectionBroken && (e == broken && !iwarp || n != udat.EventConnectionDisconnected) {
						t.Errorf("the connection ended with %v", n)
					}
					wantState(t, e.EP, udat.EPStateDisconnected)
				}

				untouched := make([]byte, 2*failureSize)
				fill(untouched, 1)
				if region.Bytes() != nil && !bytes.Equal(region.Bytes(), untouched) {
					t.Error("the remote memory has changed")
				}

				// What is posted after the end is flushed too.
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 3, 0))
				wantCompletion(t, active.Request, 3, udat.DTOErrFlushed)
				for _, e := range []*udattest.Endpoint{active, passive} {
					want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 4, 0))
					wantCompletion(t, e.Recv, 4, udat.DTOErrFlushed)
					want(t, e.Reset())
					for _, evd := range []*udat.EVD{e.Recv, e.Request, e.Connect} {
						udattest.NoEvent(t, evd)
					}
				}
			})
		}
		udattest.ConnectPair(t, listener, active, passive)
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
