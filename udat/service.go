package udat

import (
	"fmt"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/logging"
)

// service is what a PSP and an RSP have in common.
type service struct {
	obj  object
	ia   *IA
	evd  *EVD
	qual ConnQual
	ep   *EP // reserved, nil for a PSP

	psp *PSP // the PSP that this is part of, or nil
	rsp *RSP // the RSP that this is part of, or nil
}

func (s *service) object() *object { return &s.obj }

// listen creates the native service point. Goroutines that take its requests wait until it is
// complete. The caller has entered the adapter and the event dispatcher.
func (s *service) listen(op, kind string, free func() error, create func() (cgo.Handle, cgo.Return)) error {
	if s.evd.flags&EVDCR == 0 {
		return refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher was made for %v: create it with EVDCR", s.evd.flags)
	}
	if s.qual != anyConnQual && s.ia.overTCP && uint16(s.qual+tcpOffset) == 0 {
		// The library would listen on a port that the system chooses.
		return refuse(op, ErrConnQualUnavailable, NoSubtype, "the qualifier %d leads to %v, which does not exist: choose another", s.qual, s.ia.place(s.qual))
	}
	s.evd.listening.Lock()
	defer s.evd.listening.Unlock()
	handle, r := create()
	if !r.OK() {
		return s.ia.cannotListen(op, s.qual, r)
	}
	s.obj.born(kind, handle, NoSubtype, free, &s.ia.obj.Object, &s.evd.obj.Object)
	s.ia.addObject(s)
	return nil
}

// free ends the service: no more requests arrive, and those that were not answered are rejected.
func (s *service) free(op string, invalid ReturnSubtype, native func() error) error {
	if err := s.obj.enter(op, invalid); err != nil {
		return err
	}
	s.evd.queue.Lock()   // a request that was taken is among the users by now
	s.ia.removeObject(s) // what comes from here on is rejected
	s.evd.queue.Unlock()
	s.obj.Leave()
	logging.Quiet(func() {
		for _, cr := range s.obj.Users() {
			_ = cr.Free() // it may fail if another call has answered it
		}
	})
	err := s.obj.seal(op, invalid, native)
	if err != nil && s.obj.Enter() {
		s.ia.addObject(s)
		s.obj.Leave()
	}
	return err
}

// cannotListen makes the error for a native service point that was not made.
func (ia *IA) cannotListen(op string, qual ConnQual, r cgo.Return) error {
	if err := ia.addressGone(op); err != nil { // the library says that the port is in use, or invalid
		return err
	}
	switch t := r.Type(); {
	case t == cgo.ConnQualInUse && qual != anyConnQual:
		return refuse(op, ErrConnQualInUse, NoSubtype, "a service point of this program, or something else, has %v, to which the qualifier %d leads: choose another, "+
			"best outside of net.ipv4.ip_local_port_range, from which connections and open adapters take their ports", ia.place(qual), qual)
	case t == cgo.InvalidParameter && ia.overTCP && uint16(qual+tcpOffset) < firstFreePort:
		// The library says only that a bind has failed, and not why.
		return refuse(op, ErrInvalidParameter, InvalidArg2,
			"the qualifier %d leads to %v, and ports below %d take the capability CAP_NET_BIND_SERVICE: choose another qualifier", qual, ia.place(qual), firstFreePort)
	}
	return checkFile(op, r, ia.overTCP)
}

// ConnQual is a connection qualifier: the number on which a service listens. Any number but 0 is
// valid. Providers turn it into a port, as in C, so several qualifiers may mean the same service:
//
//   - CMA uses a qualifier up to 65535 as it is, and q % 32001 + 33534 for a larger one. The port
//     is one of the RDMA connection manager, not of TCP.
//   - Socket CM uses the low 16 bits of q + 1000 as a TCP port. It refuses port 0, and ports below
//     1024 need a privilege to listen.
type ConnQual uint64

func (q ConnQual) check(op string, argument ReturnSubtype) error {
	if q != anyConnQual {
		return nil
	}
	return refuse(op, ErrInvalidParameter, argument, "the connection qualifier is 0: any other number will do, and CreatePSPAny chooses one that is free")
}

const (
	// anyConnQual asks for a qualifier that is free.
	anyConnQual ConnQual = 0
	// tcpOffset is what socket CM adds to a connection qualifier for the TCP port.
	tcpOffset = 1000
	// foldedPorts and firstFoldedPort are how CMA makes a port of a qualifier that is none.
	foldedPorts     = 32001
	firstFoldedPort = 65535 - foldedPorts

	// firstFreePort is the first TCP port that anybody may listen on.
	firstFreePort = 1024
)

// place says where a service point for the qualifier listens.
func (ia *IA) place(q ConnQual) string {
	if ia.overTCP {
		return fmt.Sprintf("TCP port %d", uint16(q+tcpOffset))
	}
	if q > 65535 {
		q = q%foldedPorts + firstFoldedPort
	}
	return fmt.Sprintf("port %d of the RDMA connection manager", q)
}
