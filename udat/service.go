package udat

import (
	"cmp"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// services holds the native service points of an adapter, on which PSPs and
// RSPs stand.
//
// All requests come to one long queue of the binding's own, which a goroutine
// always empties.
type services struct {
	mu     lockorder.Mutex[servicesRank]
	points map[port]*servicePoint
	queue  *EVD          // nil until the first service point
	done   chan struct{} // closed when the goroutine has ended

	overTCP bool // the provider listens on TCP
}

// servicePoint is a native service point.
type servicePoint struct {
	handle cgo.PSPHandle
	qual   ConnQual // that it was made for
	owner  *service // nil once its owner is being freed: it rejects what arrives
}

// requestQLen is the length of the queue that all requests come to. The
// goroutine empties it faster than the library's thread can fill it.
const requestQLen = 16384

// service is what a PSP and an RSP have in common.
type service struct {
	obj  object
	ia   *IA
	evd  *EVD
	qual ConnQual

	psp *PSP // or
	rsp *RSP // the one whose part this is
}

// listen makes the owner's native service point. The caller holds mu, and the
// gates of the adapter and of the event dispatcher.
func (s *services) listen(op string, owner *service) error {
	if s.queue == nil {
		if err := s.start(op, owner.ia); err != nil {
			return err
		}
	}
	if owner.qual == anyConnQual {
		return s.listenAnywhere(op, owner)
	}
	return s.take(op, owner.qual, owner)
}

// portOf returns the port that the provider makes of a qualifier.
func (s *services) portOf(qual ConnQual) port {
	if s.overTCP {
		return portOnTCP(qual)
	}
	return portOnCMA(qual)
}

// placeOf returns the place of a port of the adapter.
func (s *services) placeOf(ia *IA, port port) place {
	return place{s.overTCP, ia.attr.Address, port}
}

// take makes owner the owner of the native service point for the qualifier. The native
// service point may exist already, without an owner. The caller holds mu.
func (s *services) take(op string, qual ConnQual, owner *service) error {
	port := s.portOf(qual)
	place := s.placeOf(owner.ia, port)
	if port == 0 {
		// The library would listen on a port that the system chooses.
		return refuse(op, ErrConnQualUnavailable, NoSubtype, "the qualifier %d leads to %v, which does not exist: choose another", qual, place)
	}
	point := s.points[port]
	switch {
	case point == nil:
		// A request may arrive before this returns: the goroutine needs mu.
		psp, r := cgo.PSPCreate(owner.ia.handle, uint64(qual), s.queue.handle, cgo.PSPConsumer)
		if !r.OK() {
			return place.cannotListen(op, owner.ia, qual, r)
		}
		point = &servicePoint{handle: psp, qual: qual}
		s.points[port] = point
	case point.owner != nil || point.qual != qual:
		return place.inUse(op, qual, point.qual)
	}
	point.owner = owner
	listening.Store(place, qual)
	return nil
}

// listenAnywhere makes a native service point for a qualifier that the library chooses. The
// caller holds mu.
func (s *services) listenAnywhere(op string, owner *service) error {
	psp, qual, r := cgo.PSPCreateAny(owner.ia.handle, s.queue.handle, cgo.PSPConsumer)
	if err := check(op, r); err != nil {
		if r.Type() == cgo.ConnQualUnavailable {
			err = refuse(op, ErrConnQualUnavailable, NoSubtype, "something listens on every qualifier: free a service point")
		}
		return cmp.Or(owner.ia.addressGone(op), err)
	}
	owner.qual = ConnQual(qual)
	port := s.portOf(owner.qual)
	s.points[port] = &servicePoint{handle: psp, qual: owner.qual, owner: owner}
	listening.Store(s.placeOf(owner.ia, port), owner.qual)
	return nil
}

// onPoint calls the library for the native service point, which lives until the call returns.
func (s *service) onPoint(op string, invalid ReturnSubtype, native func(cgo.PSPHandle) cgo.Return) error {
	services := &s.ia.services
	services.mu.Lock()
	defer services.mu.Unlock()
	point := services.points[services.portOf(s.qual)]
	if point == nil || point.owner != s {
		return s.obj.closed(op, invalid, "is being freed")
	}
	return check(op, native(point.handle))
}

func (s *services) owners() []*service {
	s.mu.Lock()
	defer s.mu.Unlock()
	var owners []*service
	for _, point := range s.points {
		if point.owner != nil {
			owners = append(owners, point.owner)
		}
	}
	return owners
}

// leave takes the native service point from its owner: it rejects what arrives.
func (s *services) leave(owner *service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := s.portOf(owner.qual)
	if point := s.points[port]; point != nil && point.owner == owner {
		point.owner = nil
	}
}

// giveBack frees the native service point of a former owner, if nobody has taken it since.
// The requests that came to it are answered: the library keeps the record of a service
// point for them.
func (s *services) giveBack(former *service) {
	s.rejectArrived()
	s.mu.Lock()
	defer s.mu.Unlock()
	port := s.portOf(former.qual)
	if point := s.points[port]; point != nil && point.owner == nil && cgo.PSPFree(point.handle).OK() {
		delete(s.points, port)
		listening.CompareAndDelete(s.placeOf(former.ia, port), former.qual) // another adapter may listen there by now
	}
}

// rejectArrived answers what has come to service points without owner.
func (s *services) rejectArrived() {
	if s.queue == nil {
		return
	}
	s.queue.obj.gate.RLock()
	defer s.queue.obj.gate.RUnlock()
	s.queue.reap()
}

func (s *services) start(op string, ia *IA) error {
	queue, err := newRequestEVD(op, ia)
	if err != nil {
		return err
	}
	s.queue, s.done = queue, make(chan struct{})
	s.points = make(map[port]*servicePoint)
	go s.run(queue, s.done)
	return nil
}

// requests returns the queue that all requests come to, nil if there is none.
func (s *services) requests() *EVD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue
}

// run empties the queue until it is freed. Taking is dispatching: see decode.
func (s *services) run(queue *EVD, done chan struct{}) {
	defer close(done)
	for queue.await("dat_evd_wait", nil, nil) == nil {
	}
}

// stop ends the goroutine. It reports whether there is something native for the
// library to free when it closes the adapter: the queue, at least. The caller has
// the adapter to itself.
func (s *services) stop(op string) (remains bool, err error) {
	if s.queue == nil {
		return s.done != nil, nil
	}
	if err := s.queue.abandon(op); err != nil {
		return true, err
	}
	<-s.done
	s.queue = nil
	return true, nil
}

// newRequestEVD makes the queue that all connection requests come to. It is
// freed by the library when the adapter closes.
func newRequestEVD(op string, ia *IA) (*EVD, error) {
	evd := newOwnEVD(ia, EVDCR)
	if err := evd.createNative(op, min(requestQLen, ia.attr.MaxEVDQLen)); err != nil {
		return nil, err
	}
	evd.obj.born("queue of connection requests", NoSubtype, evd.Free)
	return evd, nil
}

// dispatch brings a request to the service point that owns its port, and
// rejects it when there is none or when that has no room. The caller holds the
// lock of the queue.
func (s *services) dispatch(data *cgo.CRArrivalEventData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	point := s.points[s.portOf(ConnQual(data.ConnQual))]
	if point == nil || point.owner == nil || !point.owner.arrived(data) {
		cgo.CRReject(data.CRHandle, nil)
	}
}

// arrived queues a request on the event dispatcher of the service point. It
// reports false when the request must be rejected.
func (s *service) arrived(data *cgo.CRArrivalEventData) bool {
	if !s.evd.reserveSingle() {
		s.evd.overflowed()
		return false
	}
	if s.rsp != nil && s.rsp.requested.Swap(true) {
		s.evd.releaseSingle()
		return false
	}
	if s.rsp != nil {
		s.rsp.ep.shadow.event(EventConnectionRequest)
	}
	s.evd.add(Event{Number: EventConnectionRequest, more: &moreOfEvent{cr: newCR(s, data)}})
	return true
}

// overflowed reports an event that was lost for lack of room, once until there is room
// again.
func (evd *EVD) overflowed() {
	evd.mu.Lock()
	first := !evd.full
	evd.full = true
	evd.unlock()
	if first {
		evd.ia.async.add(Event{Number: EventAsyncErrorEVDOverflow, more: &moreOfEvent{evd: evd}})
	}
}

// listen begins the service. The object is complete when the first request comes.
func (s *service) listen(op, kind string, free func() error) error {
	switch {
	case s.evd.ia != s.ia:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher belongs to another adapter: create one on this")
	case s.evd.flags&EVDCR == 0:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher was made for %v: create it with %v", s.evd.flags, EVDCR)
	}
	services := &s.ia.services
	services.mu.Lock()
	defer services.mu.Unlock()
	if err := services.listen(op, s); err != nil {
		return err
	}
	if s.rsp != nil { // before its request can come, and only if the service point is made
		s.rsp.ep.reserved.Store(s.rsp)
	}
	s.obj.born(kind, NoSubtype, free, &s.ia.obj, &s.evd.obj)
	return nil
}

// free ends the service: no more requests arrive, and those that were not
// answered are rejected.
func (s *service) free(op string, invalid ReturnSubtype, release func()) error {
	if err := s.obj.enter(op, invalid); err != nil {
		return err
	}
	s.ia.services.leave(s)
	s.evd.forget(func(e *Event) bool {
		cr := e.CR()
		return cr != nil && cr.service == s
	})
	s.obj.leave()
	for _, cr := range s.obj.living() {
		_ = cr.free() // it may fail if another call has answered it
	}
	if err := s.obj.enter(op, invalid); err != nil {
		return err
	}
	s.ia.services.giveBack(s)
	s.obj.leave()
	return s.obj.seal(op, invalid, func() error {
		release()
		return nil
	})
}
