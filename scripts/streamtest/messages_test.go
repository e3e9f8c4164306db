//go:build linux && cgo

package streamtest

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// messages measures messages of endpoints.
type messages struct {
	*udattest.Endpoint // whose event dispatchers are those of connections that carry nothing
	peer               netip.Addr
	qual               udat.ConnQual
}

func newMessages(b *testing.B, ia *udat.IA, peer netip.Addr, qual string) *messages {
	number, err := strconv.ParseUint(qual, 10, 16)
	want(b, err)
	return &messages{udattest.NewEndpoint(b, ia, nil), peer, udat.ConnQual(number)}
}

// plan is what the server does on a connection: it answers each group of messages by one message.
type plan struct{ Group, Length, Answer uint32 }

const (
	posted    = 32 // receives, and sends at most
	groupSize = 8  // messages, two of which are on their way
	theEnd    = 1 << 20
)

// endpoint makes an endpoint that is ready to receive messages.
func endpoint(b *testing.B, ia *udat.IA, receive, send int) (e *udattest.Endpoint, into, from []udat.Segment) {
	attr := ia.DefaultEPAttr()
	attr.MaxRequestDTOs, attr.MaxRecvDTOs = posted, posted
	e = udattest.Options{Attr: &attr, MemorySize: receive + send}.NewEndpoint(b, ia)
	into, from = []udat.Segment{e.Segment(b, 0, receive)}, []udat.Segment{e.Segment(b, receive, send)}
	for range posted {
		want(b, e.PostRecv(into, 0, 0))
	}
	return e, into, from
}

// exchange has the server answer groups of messages, at most two of which are on their way.
func (m *messages) exchange(b *testing.B, p plan, groups, ahead int) {
	e, into, from := endpoint(b, m.IA, int(p.Answer), int(p.Length))
	note, err := binary.Append(nil, binary.BigEndian, p)
	want(b, err)
	_, err = e.ConnectAndWait(b.Context(), m.peer, m.qual, note)
	want(b, err)
	b.ResetTimer()
	for g := range groups + ahead - 1 {
		for i := uint32(0); g < groups && i < p.Group; i++ {
			want(b, e.PostSend(from, 0, 0))
		}
		if g < ahead-1 {
			continue
		}
		take(b, e.Recv)
		want(b, e.PostRecv(into, 0, 0))
		for range p.Group {
			take(b, e.Request)
		}
	}
	b.StopTimer()
	part(b, e.EP, e.Connect)
}

func take(b *testing.B, evd *udat.EVD) {
	event, err := evd.Wait(b.Context())
	want(b, err)
	want(b, event.Err())
}

func part(b *testing.B, ep *udat.EP, events *udat.EVD) {
	want(b, ep.Disconnect(udat.CloseGraceful))
	_, err := events.Expect(b.Context(), udat.EventConnectionDisconnected)
	want(b, err)
}

func (m *messages) roundTrip(b *testing.B, length int) {
	m.exchange(b, plan{1, uint32(length), uint32(length)}, b.N, 1)
}

func (m *messages) send(b *testing.B, length int) {
	m.exchange(b, plan{groupSize, uint32(length), 1}, (b.N+groupSize-1)/groupSize, 2)
}

func (m *messages) connect(b *testing.B) { m.connectTimes(b, b.N, plan{}) }

// end tells the server that it was the last.
func (m *messages) end(b *testing.B) { m.connectTimes(b, 1, plan{Group: theEnd}) }

func (m *messages) connectTimes(b *testing.B, n int, p plan) {
	note, err := binary.Append(nil, binary.BigEndian, p)
	want(b, err)
	for range n {
		ep, err := udat.CreateEP(m.IA, m.PZ, m.Recv, m.Request, m.Connect, nil)
		want(b, err)
		_, err = ep.ConnectAndWait(b.Context(), m.peer, m.qual, note)
		want(b, err)
		part(b, ep, m.Connect)
		want(b, ep.Free())
	}
}

// serveMessages serves one connection after the other, until the last.
func serveMessages(b *testing.B, ia *udat.IA, l *udattest.Listener) {
	idle := udattest.NewEndpoint(b, ia, nil)
	for {
		request, err := l.Requests.Wait(b.Context())
		want(b, err)
		param, err := request.CR().Query()
		want(b, err)
		var p plan
		_, err = binary.Decode(param.PrivateData, binary.BigEndian, &p)
		want(b, err)
		if p.Length > 0 {
			p.serve(b, ia, request.CR())
			continue
		}
		ep, err := udat.CreateEP(ia, idle.PZ, idle.Recv, idle.Request, idle.Connect, nil)
		want(b, err)
		want(b, request.CR().AcceptAndWait(b.Context(), ep, nil))
		_, err = idle.Connect.Expect(b.Context(), udat.EventConnectionDisconnected)
		want(b, err)
		want(b, ep.Free())
		if p.Group == theEnd {
			return
		}
	}
}

// serve answers the messages of a connection, until it ends.
func (p plan) serve(b *testing.B, ia *udat.IA, request *udat.CR) {
	e, into, from := endpoint(b, ia, int(p.Length), int(p.Answer))
	want(b, request.AcceptAndWait(b.Context(), e.EP, nil))
	for taken := uint32(0); ; {
		event, err := e.Recv.Wait(b.Context())
		want(b, err)
		if event.Err() != nil { // the connection has ended
			return
		}
		want(b, e.PostRecv(into, 0, 0))
		if taken++; taken%p.Group > 0 {
			continue
		}
		if taken > p.Group { // the answer before this one
			take(b, e.Request)
		}
		want(b, e.PostSend(from, 0, 0))
	}
}
