package udat

import (
	"cmp"
	"encoding/binary"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/logging"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// Event is one event, a complete copy: it outlasts the objects that it names.
type Event struct {
	// Number says what happened, and which other fields are valid.
	Number EventNumber

	// Of an EventDTOCompletion. Length is in bytes, 0 unless Status is DTOSuccess. An
	// EventRMRBindCompletion has Status and Cookie, an EventSoftware the Cookie of PostSE.
	Operation DTO
	Status    DTOStatus
	Length    uint32
	Cookie    uint64

	// Immediate is the value that came with the operations DTOIBRecvImmed, whose
	// Length is that of the peer's RDMA write, and DTOIBRecvMsgImmed.
	Immediate uint32

	ep   *EP
	rare *rareParts // nil for a completion
}

// rareParts holds what rare events need: the Event of a completion is copied often, and is small.
type rareParts struct {
	about       any // *CR, *EVD, *SRQ or *RMR
	privateData []byte
}

var noRareParts rareParts

func (e Event) parts() *rareParts { return cmp.Or(e.rare, &noRareParts) }

func about[T any](e Event) *T {
	object, _ := e.parts().about.(*T)
	return object
}

// EP returns the endpoint of a completion, a connection event or an asynchronous error. It is nil
// for other events, and for a shared receive that soft-RoCE lost: see SRQ.PostRecv.
func (e Event) EP() *EP { return e.ep }

// CR returns the connection request of an EventConnectionRequest, else nil.
func (e Event) CR() *CR { return about[CR](e) }

// EVD returns the event dispatcher of an EventAsyncErrorEVDOverflow, else nil.
func (e Event) EVD() *EVD { return about[EVD](e) }

// RMR returns the region of an EventRMRBindCompletion, else nil.
func (e Event) RMR() *RMR { return about[RMR](e) }

// SRQ returns the shared receive queue of an EventSRQLowWatermark, else nil.
func (e Event) SRQ() *SRQ { return about[SRQ](e) }

// PrivateData returns what the peer sent with a connection event. Providers pad it: send the exact
// length along if it matters. For an EventConnectionRequest it is empty: see CR.Query.
func (e Event) PrivateData() []byte { return e.parts().privateData }

// Err returns nil for success, the DTOStatus of a failed completion, or the Number of a failure.
// EventConnectionDisconnected is none.
func (e Event) Err() error {
	switch {
	case e.isCompletion() && e.Status != DTOSuccess:
		return e.Status
	case e.Number.failure():
		return e.Number
	}
	return nil
}

// isCompletion reports whether the event is that of a posted operation, which has Status.
func (e *Event) isCompletion() bool {
	return e.Number == EventDTOCompletion || e.Number == EventRMRBindCompletion
}

// decode decodes the library's events, and returns how many there are for the program. It drops
// those of endpoints and service points that no longer use the EVD. The caller has locked it.
//
// It sets fields one by one: copying a whole Event would wait for the stores that made it.
func (evd *EVD) decode(events []Event, raws []cgo.Event) (n int) {
	for i := range raws {
		raw, event := &raws[i], &events[n]
		if raw.Number != cgo.EventDTOCompletion && raw.Number != cgo.EventIBDTO {
			if evd.decodeOther(raw, event) {
				n++
			}
			continue
		}
		dto, ep := raw.DTO(), evd.latest
		if ep == nil || ep.handle != dto.EPHandle {
			if ep = evd.endpoints[dto.EPHandle]; ep != nil {
				evd.latest = ep
			} else if dto.EPHandle != 0 {
				continue
			}
		}
		event.Number = EventDTOCompletion
		event.Operation = DTO(dto.Operation) + 1 // see DTO
		event.Status = DTOStatus(dto.Status)
		evd.ia.counters.Load().completed(event.Status)
		event.Cookie = dto.UserCookie
		event.Length, event.Immediate = dto.TransferredLength, 0
		event.ep, event.rare = ep, nil
		if o := event.Operation; (o == DTOIBRecvImmed || o == DTOIBRecvMsgImmed) && event.Status == DTOSuccess {
			event.Immediate = littleEndian(raw.IBExtension().ImmedData)
		}
		if ep != nil && ep.shadow != nil { // it is nil for a shared receive that soft-RoCE has lost
			shadow.Assert(&evd.queue, ep.shadow.Completion)
		}
		n++
	}
	return n
}

// decodeOther is decode for an event that is no completion of a DTO.
func (evd *EVD) decodeOther(raw *cgo.Event, event *Event) bool {
	n := EventNumber(raw.Number)
	switch {
	case n == EventConnectionRequest:
		return evd.decodeRequest(raw.CRArrival(), event)
	case n >= EventConnectionEstablished && n <= EventConnectionUnreachable:
		return evd.decodeConnection(n, raw.Connection(), event)
	case n == EventSoftware:
		*event = Event{Number: n, Cookie: uint64(raw.Software().Pointer)}
	case n == EventAsyncErrorEVDOverflow:
		*event = Event{Number: n, rare: &rareParts{about: evd.ia.objectWithHandle(cgo.Handle(raw.AsyncError().Handle))}}
	case n == EventRMRBindCompletion:
		data := raw.RMRBind()
		*event = Event{Number: n, Operation: DTOBindMW, Status: DTOStatus(data.Status), Cookie: data.UserCookie,
			rare: &rareParts{about: evd.ia.objectWithHandle(cgo.Handle(data.RMRHandle))}}
		evd.ia.counters.Load().completed(event.Status)
	default:
		*event = Event{Number: n}
		data := raw.AsyncError()
		switch o := evd.ia.objectWithHandle(cgo.Handle(data.Handle)).(type) {
		case *EP:
			event.ep = o
		case *SRQ:
			if data.Reason == cgo.SRQLowWatermarkEvent {
				*event = Event{Number: EventSRQLowWatermark, rare: &rareParts{about: o}}
			}
		}
	}
	return true
}

// decodeConnection copies the private data, which lies in the endpoint's memory.
func (evd *EVD) decodeConnection(number EventNumber, data *cgo.ConnectionEventData, event *Event) bool {
	ep := evd.endpoints[data.EPHandle]
	if ep == nil {
		return false
	}
	*event = Event{Number: number, ep: ep}
	if data.PrivateData != 0 && data.PrivateDataSize > 0 {
		event.rare = &rareParts{privateData: make([]byte, data.PrivateDataSize)}
		cgo.CopyOut(event.rare.privateData, data.PrivateData)
	}
	if ep.shadow != nil {
		shadow.Assert(&evd.queue, func() { ep.shadow.Event(cgo.EventNumber(number)) })
	}
	evd.ia.counters.Load().connection(number, ep)
	logging.Connection(cgo.EventNumber(number), evd.ia.name, ep.obj.Record)
	return true
}

// decodeRequest makes the connection request, or rejects that to a service point freed since.
func (evd *EVD) decodeRequest(data *cgo.CRArrivalEventData, event *Event) bool {
	evd.listening.Lock() // the goroutine that creates the service point may not have its handle yet
	s, _ := evd.ia.objectWithHandle(cgo.Handle(data.SPHandle)).(*service)
	evd.listening.Unlock()
	if s == nil {
		cgo.CRReject(data.CRHandle, nil)
		return false
	}
	*event = Event{Number: EventConnectionRequest, rare: &rareParts{about: newCR(s, data)}}
	evd.ia.counters.Load().connection(EventConnectionRequest, nil)
	logging.Connection(cgo.EventConnectionRequest, evd.ia.name, s.obj.Record)
	if s.ep != nil && s.ep.shadow != nil {
		shadow.Assert(&evd.queue, func() { s.ep.shadow.Event(cgo.EventConnectionRequest) })
	}
	return true
}

// littleEndian returns a value whose bytes in memory are little-endian. The
// library puts an immediate value on the wire as it lies in memory, and the C
// programs that a peer may be are mostly of that order.
func littleEndian(v uint32) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return binary.NativeEndian.Uint32(b[:])
}
