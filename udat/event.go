package udat

import "github.com/goudat/goudat/cgo"

// Event is one event, copied out of the library whole: nothing in it changes
// or dangles when the objects that it names are freed.
type Event struct {
	// Number says what happened, and which of the other fields have a meaning.
	Number EventNumber

	// Cookie, Operation, Status and Length describe the completion of a data
	// transfer operation, EventDTOCompletion. Length is the number of bytes
	// transferred, 0 unless Status is DTOSuccess.
	Cookie    uint64
	Operation DTO
	Status    DTOStatus
	Length    uint32

	ep          *EP
	cr          *CR
	privateData []byte
}

// EP gives the endpoint of a completion, of a connection event, or of an
// asynchronous error that concerns one; nil for any other.
func (e *Event) EP() *EP { return e.ep }

// CR gives the connection request of an EventConnectionRequest, nil for any
// other. It must be accepted or rejected.
func (e *Event) CR() *CR { return e.cr }

// PrivateData gives what the peer sent along with a connection event. The
// providers pad it: a program that needs the exact length sends it along.
func (e *Event) PrivateData() []byte { return e.privateData }

// Err gives nil for an event of success, the DTOStatus of a failed completion,
// and the EventNumber of a connection that failed or of an asynchronous error.
// The peer's orderly EventConnectionDisconnected is no error.
func (e *Event) Err() error {
	switch {
	case e.Number == EventDTOCompletion && e.Status != DTOSuccess:
		return e.Status
	case e.Number.Failure():
		return e.Number
	}
	return nil
}

// decode makes an Event of what the library gave, and brings the records of the
// endpoint up to date. It reports false for an event that the program must not
// see, of a freed endpoint for example. The caller holds mu.
func (evd *EVD) decode(raw *cgo.Event, event *Event) bool {
	switch n := raw.Number; {
	case n == EventDTOCompletion || n == cgo.EventIBExtensionRangeBase:
		return evd.decodeDTO(raw.DTO(), event)
	case n == EventConnectionRequest:
		return evd.decodeCRArrival(raw.CRArrival(), event)
	case n >= EventConnectionEstablished && n <= EventConnectionUnreachable:
		return evd.decodeConnection(n, raw.Connection(), event)
	default:
		*event = Event{Number: n, ep: evd.ia.endpoints.withHandle(cgo.EPHandle(raw.AsyncError().Handle))}
		return true
	}
}

// decodeDTO takes everything but status and length from our own record: the
// library leaves the operation unwritten and may name an endpoint that is gone.
func (evd *EVD) decodeDTO(dto *cgo.DTOCompletionEventData, event *Event) bool {
	native := dto.UserCookie
	ep := evd.ia.endpoints.numbered(uint32(native >> endpointShift))
	if ep == nil {
		return false
	}
	op := DTO(native >> operationShift & operationMask)
	d := ep.direction(op)
	*event = Event{
		Number:    EventDTOCompletion,
		Cookie:    d.retire(native & sequenceMask),
		Operation: op,
		Status:    dto.Status,
		ep:        ep,
	}
	if dto.Status == DTOSuccess {
		event.Length = dto.TransferredLength
	}
	if d == &ep.request && d.outstanding() == 0 {
		ep.idleReached()
	}
	return true
}

func (evd *EVD) decodeConnection(n EventNumber, data *cgo.ConnectionEventData, event *Event) bool {
	ep := evd.ia.endpoints.withHandle(data.EPHandle)
	if ep == nil {
		return false
	}
	n, ok := ep.connectionEvent(n)
	if !ok {
		return false
	}
	*event = Event{Number: n, ep: ep}
	if data.PrivateData != 0 && data.PrivateDataSize > 0 {
		event.privateData = make([]byte, data.PrivateDataSize)
		cgo.CopyOut(event.privateData, data.PrivateData)
	}
	return true
}

func (evd *EVD) decodeCRArrival(data *cgo.CRArrivalEventData, event *Event) bool {
	evd.ia.mu.Lock()
	psp := evd.ia.psps[cgo.PSPHandle(data.SPHandle)]
	evd.ia.mu.Unlock()
	if psp == nil {
		cgo.CRReject(data.CRHandle, nil)
		return false
	}
	*event = Event{Number: EventConnectionRequest, cr: newCR(psp, data)}
	return true
}
