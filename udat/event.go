package udat

import "github.com/goudat/goudat/cgo"

// Event is one event, copied out of the library whole: nothing in it changes
// or dangles when the objects that it names are freed.
type Event struct {
	// Number says what happened, and which of the other fields have a meaning.
	Number EventNumber

	// Operation, Status, Length and Cookie describe the completion of a data
	// transfer operation, EventDTOCompletion. Length is the number of bytes
	// transferred, 0 unless Status is DTOSuccess. An EventRMRBindCompletion has
	// Status and Cookie. An EventSoftware has Cookie, as PostSE was given it.
	Operation DTO
	Status    DTOStatus
	Length    uint32
	Cookie    uint64

	// Immediate is the value that came with the operations DTOIBRecvImmed, whose
	// Length is that of the peer's RDMA write, and DTOIBRecvMsgImmed.
	Immediate uint32

	native *nativeEP
	more   *moreOfEvent // nil for the completion of a data transfer operation
}

// moreOfEvent is what only rare events have. It is apart so that a completion, which is
// copied for each that a program takes, stays small.
type moreOfEvent struct {
	cr          *CR
	evd         *EVD
	lowSRQ      *SRQ
	rmr         *RMR
	privateData []byte
}

// EP returns the endpoint of a completion, of a connection event, or of an asynchronous error that concerns one; nil
// for any other. A receive of an SRQ names its endpoint only when that has its receive EVD for itself: the library does
// not say which of several it was.
func (e Event) EP() *EP {
	if e.native == nil {
		return nil
	}
	return e.native.ep
}

// CR returns the connection request of an EventConnectionRequest, nil for any
// other. It must be accepted or rejected.
func (e Event) CR() *CR {
	if e.more == nil {
		return nil
	}
	return e.more.cr
}

// ConnQual returns the qualifier that the request of an EventConnectionRequest
// came to, as the service point was given it, 0 for any other event.
func (e Event) ConnQual() ConnQual {
	if cr := e.CR(); cr != nil {
		return cr.param.ConnQual
	}
	return 0
}

// EVD returns the event dispatcher that an EventAsyncErrorEVDOverflow is about,
// nil for any other event.
func (e Event) EVD() *EVD {
	if e.more == nil {
		return nil
	}
	return e.more.evd
}

// RMR returns the region that an EventRMRBindCompletion is about, nil for any other
// event.
func (e Event) RMR() *RMR {
	if e.more == nil {
		return nil
	}
	return e.more.rmr
}

// PrivateData returns what the peer sent along with a connection event. The
// providers pad it: a program that needs the exact length sends it along. It is
// empty for an EventConnectionRequest, whose private data CR.Query returns.
func (e Event) PrivateData() []byte {
	if e.more == nil {
		return nil
	}
	return e.more.privateData
}

// Err returns nil for an event of success, the DTOStatus of a failed
// completion, the ConnectionEvent of a connection that failed, and the
// AsyncEvent of an asynchronous error. The peer's orderly
// EventConnectionDisconnected is no error.
func (e Event) Err() error {
	switch connection, async := ConnectionEvent(e.Number), AsyncEvent(e.Number); {
	case e.isCompletion() && e.Status != DTOSuccess:
		return e.Status
	case connection.Failure():
		return connection
	case async.Failure() && e.LowSRQ() == nil:
		return async
	}
	return nil
}

// isCompletion reports whether the event is that of a posted operation, which has Status.
func (e *Event) isCompletion() bool {
	return e.Number == EventDTOCompletion || e.Number == EventRMRBindCompletion
}

// decode makes an Event of what the library gave, and brings the records of the
// endpoint up to date. It reports false for an event that the program must not
// see, of a freed endpoint for example. queued says that the event goes to the
// backlog. The caller holds mu.
func (evd *EVD) decode(raw *cgo.Event, event *Event, queued bool) bool {
	switch n := EventNumber(raw.Number); {
	case n == EventDTOCompletion || raw.Number == cgo.EventIBExtensionRangeBase || n == EventRMRBindCompletion:
		return evd.decodeDTO(raw, event, queued)
	case n == EventConnectionRequest:
		evd.ia.services.dispatch(raw.CRArrival())
		return false
	case n >= EventConnectionEstablished && n <= EventConnectionUnreachable:
		evd.decodeConnection(n, raw.Connection())
		return false
	case n == EventSoftware:
		*event = Event{Number: n, Cookie: uint64(raw.Software().Pointer)}
		if !queued && evd.duties&countRoom != 0 {
			evd.room.Release(1)
		}
		return true
	default:
		data := raw.AsyncError()
		*event = Event{Number: n, native: evd.ia.endpoints.withHandle(cgo.EPHandle(data.Handle))}
		if srq := evd.ia.srqWithHandle(cgo.SRQHandle(data.Handle)); srq != nil && data.Reason == cgo.SRQLowWatermarkEvent {
			event.more = &moreOfEvent{lowSRQ: srq}
		}
		if n == EventAsyncErrorEPBroken && event.native != nil {
			event.native.broken()
		}
		return true
	}
}

// decodeDTO takes everything but status and length from our own record: the
// library leaves the operation unwritten and may name an endpoint that is gone.
func (evd *EVD) decodeDTO(raw *cgo.Event, event *Event, queued bool) bool {
	dto := raw.DTO()
	native := dto.UserCookie
	number, op, sequence := uint32(native>>numberShift), operation(native>>operationShift&operationMask), native&sequenceMask
	status := DTOStatus(dto.Status)
	*event = Event{Number: EventDTOCompletion, Operation: op.dto(), Status: status}
	if op == opBind {
		evd.ia.binds.complete(native, event)
	}
	if op == opSharedReceive {
		if evd.onto != nil {
			evd.onto.adopt(raw)
			return false
		}
		srq := evd.ia.srqs.Numbered(number)
		if srq == nil {
			return false
		}
		var lost int
		event.Cookie, event.native, lost = srq.retire(sequence, evd)
		if queued && evd.duties&countRoom != 0 {
			evd.room.Force(1)
		}
		for range lost {
			if flushed, ok := srq.takeLost(); ok {
				evd.enqueue(flushed)
			}
		}
	} else {
		n := evd.ia.endpoints.Numbered(number)
		if n == nil {
			return false
		}
		d := n.direction(op)
		hidden := native&hiddenBit != 0
		own := hidden && status == DTOSuccess || op == opReport // the program does not see it
		event.native = n
		ordered := d.order.early == nil
		if ordered {
			if evd.duties&countRoom != 0 {
				given := d.retires(sequence)
				if queued && !own {
					given--
				}
				evd.room.Release(given)
			}
			if queued && !own {
				d.inBacklog.Add(1) // before it retires: see idleForProgram
			}
			event.Cookie = d.retire(sequence)
		}
		evd.arrivals |= recordedArrivals
		n.ep.shadow.completion()
		if status != DTOSuccess {
			n.operationFailed(status)
		}
		if hidden {
			d.hidden.Add(-1)
		}
		if d.order.early != nil {
			event.setLength(raw)
			d.retireInOrder(evd, sequence, *event, own)
			return false
		}
		if own {
			return false
		}
	}
	event.setLength(raw)
	return true
}

// setLength completes the event of an operation that has succeeded.
func (event *Event) setLength(raw *cgo.Event) {
	if event.Status == DTOSuccess && event.Number == EventDTOCompletion {
		event.Length = raw.DTO().TransferredLength
		if raw.Number == cgo.EventIBExtensionRangeBase && event.Operation == DTOReceive {
			event.decodeImmediate(raw)
		}
	}
}

// decodeImmediate completes the event of a receive that came with an immediate
// value: only for those does the library use an extended event and tell the
// operation.
func (event *Event) decodeImmediate(raw *cgo.Event) {
	event.Operation = DTOIBRecvImmed
	if raw.DTO().Operation == cgo.DTOIBRecvMsgImmed {
		event.Operation = DTOIBRecvMsgImmed
	}
	event.Immediate = littleEndian(raw.IBExtension().ImmedData)
}

// decodeConnection delivers a connection event to the connect EVD of its endpoint. Freeing
// the endpoint waits for mu, which the caller holds.
func (evd *EVD) decodeConnection(number EventNumber, data *cgo.ConnectionEventData) {
	n, privateData := evd.ia.endpoints.connecting(data, evd)
	if n == nil {
		return
	}
	event := Event{Number: number, native: n}
	if privateData != nil {
		event.more = &moreOfEvent{privateData: privateData}
	}
	if n.handleEvent(&event) {
		n.deliver(event)
	}
}
