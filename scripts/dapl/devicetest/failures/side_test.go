//go:build linux

package failures

import (
	"errors"
	"maps"
	"strings"

	"github.com/goudat/goudat/udat"
)

// side is an endpoint of the scenario with its event dispatchers.
type side struct {
	*pass
	name             string
	recv, reqs, conn *udat.EVD
	ep               *udat.EP

	phase     phase
	outcome   udat.Event // the last event of the connection
	ending    bool       // operations may be flushed
	failed    bool       // an operation has
	succeeded []string   // operations
}

// phase is what a side has been told of its connection.
type phase int

const (
	idle phase = iota
	begun
	connected
)

const queue = 16 // operations of a side, and events of its dispatchers

// newSide makes an endpoint, with a shared receive queue if there is one. Free it in any case.
func (a *adapter) newSide(name string, srq *udat.SRQ) (*side, bool) {
	p := a.pass
	s := &side{pass: p, name: name}
	for _, evd := range []struct {
		at     **udat.EVD
		what   string
		flags  udat.EVDFlags
		handle func(udat.Event)
	}{
		{&s.recv, "receives", udat.EVDDTO, p.completed},
		{&s.reqs, "requests", udat.EVDDTO, p.completed},
		{&s.conn, "connections", udat.EVDConnection, s.changed},
	} {
		what := name + "'s EVD for " + evd.what
		if !made(p, evd.at, what)(udat.CreateEVD(a.ia, queue/2, nil, evd.flags)) {
			return s, false
		}
		if err := (*evd.at).Resize(queue); !errors.Is(err, udat.ErrModelNotSupported) && !p.ok("resizing the "+what, err) {
			return s, false
		}
		p.watch(*evd.at, evd.handle, (*evd.at).Wait)
	}
	attr := &udat.EPAttr{MaxRequestDTOs: queue}
	if srq != nil {
		return s, made(p, &s.ep, name+"'s endpoint")(udat.CreateEPWithSRQ(a.ia, a.pz, s.recv, s.reqs, s.conn, srq, attr))
	}
	attr.MaxRecvDTOs = queue / 2
	return s, made(p, &s.ep, name+"'s endpoint")(udat.CreateEP(a.ia, a.pz, s.recv, s.reqs, s.conn, attr))
}

// newSides makes two. The server has the shared receive queue. Free both in any case.
func (a *adapter) newSides(srq *udat.SRQ) (server, client *side, ok bool) {
	if server, ok = a.newSide("server", srq); !ok {
		return server, &side{pass: a.pass, name: "client"}, false
	}
	client, ok = a.newSide("client", nil)
	return server, client, ok
}

func (s *side) free() {
	free(s.pass, s.name+"'s endpoint", s.ep)
	s.freeEVD(s.name+"'s EVD for receives", s.recv)
	s.freeEVD(s.name+"'s EVD for requests", s.reqs)
	s.freeEVD(s.name+"'s EVD for connections", s.conn)
	if left := s.outstanding(s); len(left) > 0 {
		s.fault("never completed: %s", strings.Join(left, ", "))
	}
	maps.DeleteFunc(s.ops, func(_ uint64, op *operation) bool { return op.side == s })
}

// changed handles an event of the connection.
func (s *side) changed(e udat.Event) {
	before := s.phase
	s.outcome = e
	switch {
	case before == begun && e.Number == udat.EventConnectionEstablished:
		s.phase = connected
		return
	case before == begun, before == connected && (e.Number == udat.EventConnectionDisconnected || e.Number == udat.EventConnectionBroken):
		s.phase = idle
	default:
		s.fault("the %s gets the event %v, when it is %s", s.name, e.Number, [...]string{"idle", "connecting", "connected"}[before])
	}
	if !s.ending {
		s.notice("the %s gets the event %v", s.name, e.Number)
	}
	s.ending = true
}

// begin notes that the endpoint connects or accepts, unless that has failed at once.
func (s *side) begin(what string, call func() error) bool {
	s.phase, s.ending, s.failed, s.succeeded = begun, false, false, nil
	if !s.ok("the "+s.name+" "+what, call()) {
		s.phase = idle
		return false
	}
	return true
}

// disconnect disconnects a side, at the second attempt if one fails.
func (s *side) disconnect(flags udat.CloseFlags) {
	if s.phase == idle || s.ok("disconnecting the "+s.name, s.ep.Disconnect(flags)) {
		return
	}
	if err := s.ep.Disconnect(udat.CloseAbrupt); err != nil {
		s.fault("the %s cannot disconnect: %v", s.name, err)
	}
}

// reset makes the endpoint unconnected again, at the second attempt if one fails.
func (s *side) reset() {
	if s.ep == nil || s.ok("resetting the "+s.name, s.ep.Reset()) {
		return
	}
	if err := s.ep.Reset(); err != nil {
		s.fault("the %s cannot be reset: %v", s.name, err)
	}
}

// end ends the connection of two sides, in whatever phase it is, and makes their endpoints unconnected again.
func end(flags udat.CloseFlags, s, peer *side) {
	p := s.pass
	s.ending, peer.ending = true, true
	if s.phase == connected && peer.phase == connected {
		s.disconnect(flags)
	} else {
		s.disconnect(udat.CloseAbrupt)
		peer.disconnect(udat.CloseAbrupt)
	}
	p.until("the end of the connection", func() bool { return s.phase == idle && peer.phase == idle })
	s.reset()
	peer.reset()
	p.until("the completion of what is outstanding", func() bool { return len(p.outstanding(s, peer)) == 0 })
}
