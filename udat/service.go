package udat

import (
	"github.com/goudat/goudat/cgo"
)

// service is what a PSP and an RSP have in common.
type service struct {
	obj    object
	ia     *IA
	evd    *EVD
	qual   ConnQual
	handle uintptr

	psp *PSP // or
	rsp *RSP // the one whose part this is
}

// listen makes the native service point. Nobody takes its requests before it is complete.
// The caller holds the gates of the adapter and of the event dispatcher.
func (s *service) listen(op, kind string, free func() error, create func() (uintptr, cgo.Return)) error {
	switch {
	case s.evd.ia != s.ia:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher belongs to another adapter: create one on this")
	case s.evd.flags&EVDCR == 0:
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher was made for %v: create it with %v", s.evd.flags, EVDCR)
	}
	if s.qual != anyConnQual && s.ia.overTCP && uint16(s.qual+tcpOffset) == 0 {
		// The library would listen on a port that the system chooses.
		return refuse(op, ErrConnQualUnavailable, NoSubtype, "the qualifier %d leads to %v, which does not exist: choose another", s.qual, s.ia.place(s.qual))
	}
	s.evd.lock()
	defer s.evd.mu.Unlock()
	handle, r := create()
	if !r.OK() {
		return s.ia.cannotListen(op, s.qual, r)
	}
	s.handle = handle
	if s.evd.services == nil {
		s.evd.services = make(map[uintptr]*service)
	}
	s.evd.services[handle] = s
	s.obj.born(kind, NoSubtype, free, &s.ia.obj, &s.evd.obj)
	return nil
}

// free ends the service: no more requests arrive, and those that were not
// answered are rejected.
func (s *service) free(op string, invalid ReturnSubtype, native func(uintptr) cgo.Return) error {
	if err := s.obj.enter(op, invalid); err != nil {
		return err
	}
	s.evd.lock()
	delete(s.evd.services, s.handle) // what comes from here on is rejected
	s.evd.mu.Unlock()
	s.obj.leave()
	for _, cr := range s.obj.living() {
		_ = cr.free() // it may fail if another call has answered it
	}
	return s.obj.seal(op, invalid, func() error { return check(op, native(s.handle)) })
}
