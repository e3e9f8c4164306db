//go:build linux

package failures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// The memory of the adapter, in pieces of this size: one for each operation.
const piece = 512

const (
	clientRecv = iota * 4 // and the next ones
	serverRecv
	clientData
	serverData
	landing
	pieces
)

// adapter is an open adapter with what both sides of connections share.
type adapter struct {
	*pass
	ia       *udat.IA
	address  netip.Addr
	pz       *udat.PZ
	memory   *udat.LMR // outside the Go heap
	pinned   *udat.LMR // in it
	cno      *udat.CNO
	requests *udat.EVD
	psp      *udat.PSP
	qual     udat.ConnQual
	arrived  []udat.Event // connection requests that are not answered
}

// run is the scenario. If a step of it fails, something must report that.
func (p *pass) run(name string) {
	const steps = 6
	defer func() {
		if p.steps < steps && len(p.noticed)+len(p.faults) == 0 {
			p.fault("only %d of %d steps have succeeded, and nothing reports why", p.steps, steps)
		}
	}()
	a := &adapter{pass: p}
	var err error
	if a.ia, err = udat.Open(name); !p.ok("opening", err) {
		return
	}
	defer a.close()
	if a.setUp() {
		a.transfers()
		a.refusals()
		a.reserved()
	}
}

func (a *adapter) setUp() bool {
	attr, _, err := a.ia.Query()
	if !a.ok("querying the adapter", err) {
		return false
	}
	a.address = attr.Address
	a.watch(a.ia.AsyncEVD(), func(e udat.Event) {
		if e.Number != udat.EventAsyncErrorEPBroken { // that comes at the end of each connection with a shared queue
			a.notice("the asynchronous event %v", e.Number)
		}
	}, a.ia.AsyncEVD().Wait)
	if !made(a.pass, &a.pz, "protection zone")(udat.CreatePZ(a.ia)) ||
		!made(a.pass, &a.memory, "memory region")(udat.AllocMemory(a.pz, pieces*piece, udat.MemPrivAll)) ||
		!made(a.pass, &a.pinned, "memory region of a slice")(udat.RegisterMemory(a.pz, make([]byte, pieces*piece), udat.MemPrivAll)) ||
		!made(a.pass, &a.cno, "CNO")(udat.CreateCNO(a.ia, nil)) ||
		!made(a.pass, &a.requests, "EVD for connection requests")(udat.CreateEVD(a.ia, queue, a.cno, udat.EVDCR)) {
		return false
	}
	a.watch(a.requests, func(e udat.Event) { a.arrived = append(a.arrived, e) }, func(ctx context.Context) (udat.Event, error) {
		for {
			evd, err := a.cno.Wait(ctx)
			if err != nil {
				return udat.Event{}, err
			}
			if event, err := evd.Dequeue(); !errors.Is(err, udat.ErrQueueEmpty) {
				return event, err
			}
		}
	})
	if !made(a.pass, &a.psp, "service point")(udat.CreatePSPAny(a.ia, a.requests)) {
		return false
	}
	param, err := a.psp.Query()
	a.qual = param.ConnQual
	return a.ok("querying the service point", err)
}

func (a *adapter) close() {
	free(a.pass, "service point", a.psp)
	a.rejectAll()
	a.freeEVD("EVD for connection requests", a.requests)
	free(a.pass, "CNO", a.cno)
	free(a.pass, "memory region of a slice", a.pinned)
	free(a.pass, "memory region", a.memory)
	free(a.pass, "protection zone", a.pz)
	if pump := a.pumps[a.ia.AsyncEVD()]; pump != nil {
		pump.stop()
		pump.done.Wait()
	}
	if err := a.ia.Close(udat.CloseGraceful); !a.ok("closing", err) && !errors.Is(err, udat.ErrClosed) {
		if err := a.ia.Close(udat.CloseAbrupt); err != nil && !errors.Is(err, udat.ErrClosed) {
			a.fault("the adapter cannot be closed: %v", err)
		}
	}
	for _, o := range udat.Living() {
		a.fault("left alive: %v", o)
	}
}

func (a *adapter) rejectAll() {
	a.handleThose()
	for _, e := range a.arrived {
		a.ok("rejecting a request", e.CR().Reject(nil))
	}
	a.arrived = nil
}

// connect asks for a connection, and returns the request if it arrives.
func (a *adapter) connect(client *side, qual udat.ConnQual, timeout time.Duration, data string) *udat.CR {
	if !client.begin("connects", func() error { return client.ep.Connect(a.address, qual, timeout, []byte(data)) }) {
		return nil
	}
	for a.until("a connection request, or the failure to connect", func() bool { return len(a.arrived) > 0 || client.phase == idle }) && len(a.arrived) > 0 {
		cr := a.arrived[0].CR()
		a.arrived = a.arrived[1:]
		param, err := cr.Query()
		if !a.ok("querying the request", err) || bytes.HasPrefix(param.PrivateData, []byte(data)) {
			return cr
		}
		// It is of an earlier attempt, which has failed.
		a.notice("the request comes with the private data %q, want %q", param.PrivateData, data)
		a.ok("rejecting a late request", cr.Reject(nil))
	}
	return nil
}

// establish connects two sides. The server accepts on ep.
func (a *adapter) establish(client, server *side, qual udat.ConnQual, ep *udat.EP) bool {
	cr := a.connect(client, qual, connectTimeout, "may I?")
	if cr == nil || !server.begin("accepts", func() error { return cr.Accept(ep, []byte("you may")) }) {
		return false
	}
	// If the one has failed, the other may wait for long.
	a.until("the establishment of the connection", func() bool {
		return client.phase != begun && server.phase != begun || client.phase == idle || server.phase == idle
	})
	if client.phase != connected || server.phase != connected {
		return false
	}
	if data := client.outcome.PrivateData(); !bytes.HasPrefix(data, []byte("you may")) {
		a.fault("the acceptance comes with the private data %q", data)
	}
	return true
}

// segment returns a piece of memory. The server's is in the Go heap.
func (a *adapter) segment(s *side, n int) []udat.Segment {
	return []udat.Segment{must(a.of(s).Segment(n*piece, piece))}
}

func (a *adapter) remote(s *side, n int) udat.RMRTriplet {
	return must(a.of(s).RMRTriplet(n*piece, piece))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (a *adapter) of(s *side) *udat.LMR {
	if s.name == "server" {
		return a.pinned
	}
	return a.memory
}

func (a *adapter) bytes(s *side, n int) []byte { return a.of(s).Bytes()[n*piece:][:piece] }

func (a *adapter) send(s *side, n int, flags udat.CompletionFlags) bool {
	op := operation{what: fmt.Sprintf("%s's send %d", s.name, n), side: s, silent: flags == udat.CompletionSuppress}
	return a.posted(op, func(cookie uint64) error { return s.ep.PostSend(a.segment(s, n), cookie, flags) })
}

func (a *adapter) recv(s *side, srq *udat.SRQ, n int) bool {
	op := operation{what: fmt.Sprintf("%s's receive %d", s.name, n), side: s, shared: srq != nil}
	return a.posted(op, func(cookie uint64) error {
		if srq != nil {
			return srq.PostRecv(a.segment(s, n), cookie)
		}
		return s.ep.PostRecv(a.segment(s, n), cookie, 0)
	})
}

// transfers connects twice, and moves data in all ways.
func (a *adapter) transfers() {
	var srq *udat.SRQ
	if !made(a.pass, &srq, "shared receive queue")(udat.CreateSRQ(a.ia, a.pz, udat.SRQAttr{MaxRecvDTOs: queue, MaxRecvIOV: 1})) {
		return
	}
	defer free(a.pass, "shared receive queue", srq)
	server, client, ok := a.newSides(srq)
	defer server.free()
	defer client.free()
	if !ok {
		return
	}
	window := a.window()
	defer free(a.pass, "memory window", window)
	all := true
	for n := range 4 {
		all = a.recv(client, nil, clientRecv+n) && a.recv(server, srq, serverRecv+n) && all
	}
	noticed := len(a.noticed)
	if all && a.establish(client, server, a.qual, server.ep) {
		for n := range 4 {
			for _, s := range []*side{client, server} {
				copy(a.bytes(s, clientData+n), bytes.Repeat([]byte{byte(0x10 + n)}, piece))
				copy(a.bytes(s, serverData+n), bytes.Repeat([]byte{byte(0x20 + n)}, piece))
			}
		}
		a.bind(client, window)
		a.exchange(client, server)
		if len(a.noticed) == noticed {
			a.compare(client, server)
			a.steps++
		}
	}
	end(udat.CloseGraceful, server, client)

	// A connection that ends while receives and a suppressed request are outstanding.
	if a.recv(client, nil, clientRecv) && a.establish(client, server, a.qual, server.ep) {
		if a.posted(operation{what: "client's last write", side: client, silent: true}, func(cookie uint64) error {
			return client.ep.PostRDMAWrite(a.segment(client, clientData), cookie, a.remote(server, landing), udat.CompletionSuppress)
		}) {
			a.steps++
		}
	}
	end(udat.CloseAbrupt, client, server)
}

// window makes a memory window. It returns nil where the device has none.
func (a *adapter) window() *udat.RMR {
	window, err := udat.CreateRMR(a.pz)
	if !errors.Is(err, udat.ErrModelNotSupported) {
		a.ok("creating the memory window", err)
	}
	return window
}

// bind binds a window to memory, and waits until that is done.
func (a *adapter) bind(s *side, window *udat.RMR) {
	op := operation{what: s.name + "'s bind", side: s}
	if window != nil && a.posted(op, func(cookie uint64) error {
		_, err := window.Bind(a.segment(s, landing+3)[0], udat.MemPrivRemoteRead, s.ep, cookie, 0)
		return err
	}) {
		a.until("the completion of a bind", func() bool { return !slices.Contains(a.outstanding(s), op.what) })
	}
}

// exchange transfers in both directions, and waits until it is done.
func (a *adapter) exchange(client, server *side) {
	if !a.send(client, clientData, 0) ||
		!a.until("a message", func() bool {
			return len(server.succeeded) > 0 || client.failed || client.phase == idle || server.phase == idle
		}) || len(server.succeeded) == 0 {
		return
	}
	a.send(server, serverData, 0)
	a.posted(operation{what: "server's read", side: server}, func(cookie uint64) error {
		return server.ep.PostRDMARead(a.segment(server, landing), cookie, a.remote(client, clientData+1), 0)
	})
	a.posted(operation{what: "server's suppressed write", side: server, silent: true}, func(cookie uint64) error {
		return server.ep.PostRDMAWrite(a.segment(server, serverData+1), cookie, a.remote(client, landing+1), udat.CompletionSuppress)
	})
	a.batch(server, client)
	a.send(client, clientData+1, udat.CompletionSuppress)
	a.send(client, clientData+2, 0)
	a.until("the completion of requests", func() bool {
		for _, what := range a.outstanding(client, server) {
			if !strings.HasPrefix(what, "client's receive") {
				return false
			}
		}
		return true
	})
}

// batch posts a write and a send together.
func (a *adapter) batch(s, peer *side) {
	batch := []udat.Post{
		{Operation: udat.DTORDMAWrite, Segments: a.segment(s, serverData+2), Remote: a.remote(peer, landing+2)},
		{Operation: udat.DTOSend, Segments: a.segment(s, serverData+3)},
	}
	for i := range batch {
		a.cookie++
		batch[i].Cookie = a.cookie
		a.ops[a.cookie] = &operation{what: fmt.Sprintf("%s's request %d of a batch", s.name, i), side: s}
	}
	accepted, err := s.ep.PostBatch(batch)
	a.ok("posting a batch", err)
	for _, post := range batch[accepted:] {
		delete(a.ops, post.Cookie)
	}
}

// compare checks what the transfers have moved.
func (a *adapter) compare(client, server *side) {
	for _, moved := range []struct {
		to, from *side
		at, what int
	}{
		{server, client, serverRecv, clientData},
		{server, client, landing, clientData + 1},
		{client, server, clientRecv, serverData},
		{client, server, landing + 1, serverData + 1},
		{client, server, landing + 2, serverData + 2},
	} {
		if !bytes.Equal(a.bytes(moved.to, moved.at), a.bytes(moved.from, moved.what)) {
			a.fault("piece %d of the %s is not piece %d of the %s, though the transfers have succeeded", moved.at, moved.to.name, moved.what, moved.from.name)
		}
	}
}

// refusals has attempts rejected, timed out, and made where nobody listens, on an endpoint that is modified first.
func (a *adapter) refusals() {
	client, ok := a.newSide("client", nil)
	defer client.free()
	if !ok {
		return
	}
	param := &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: queue / 2, MaxRequestDTOs: queue / 2}}
	a.ok("modifying", client.ep.Modify(udat.EPFieldMaxRequestDTOs, param))
	if cr := a.connect(client, a.qual, connectTimeout, "reject me"); cr != nil {
		client.ending = true // what comes now is as it should be
		if a.ok("rejecting", cr.Reject([]byte("no"))) {
			// Socket CM asks again if it has lost the answer.
			a.awaitEnd(client, udat.EventConnectionPeerRejected, a.rejectAll)
		}
	}
	a.endAlone(client)
	if cr := a.connect(client, a.qual, 100*time.Millisecond, "let me wait"); cr != nil {
		a.awaitEnd(client, udat.EventConnectionTimedOut, func() {})
		a.ok("rejecting late", cr.Reject(nil))
	}
	a.endAlone(client)
	if client.begin("connects", func() error { return client.ep.Connect(a.address, nobody(), connectTimeout, nil) }) {
		a.awaitEnd(client, udat.EventConnectionNonPeerRejected, func() {})
	}
	a.endAlone(client)
}

// awaitEnd waits until an attempt ends as it should, and does something meanwhile.
func (a *adapter) awaitEnd(s *side, with udat.EventNumber, meanwhile func()) {
	s.ending = true
	a.until("the "+with.String(), func() bool {
		meanwhile()
		return s.phase == idle
	})
	if s.outcome.Number == with {
		a.steps++
	} else {
		a.notice("the %s gets the event %v instead of %v", s.name, s.outcome.Number, with)
	}
}

// nobody returns a qualifier that nothing listens on.
func nobody() udat.ConnQual { return udat.ConnQual(9000 + os.Getpid()%1000) }

// endAlone ends an attempt of a side.
func (a *adapter) endAlone(s *side) {
	s.ending = true
	s.disconnect(udat.CloseAbrupt)
	a.until("the end of the attempt", func() bool { return s.phase == idle })
	s.reset()
	a.rejectAll()
}

// reserved connects through a reserved service point, and frees an endpoint that is connected.
func (a *adapter) reserved() {
	server, client, ok := a.newSides(nil)
	defer server.free()
	defer client.free()
	if !ok {
		return
	}
	qual := nobody() + 1000
	var rsp *udat.RSP
	if !made(a.pass, &rsp, "reserved service point")(udat.CreateRSP(a.ia, qual, server.ep, a.requests)) {
		return
	}
	established := a.establish(client, server, qual, nil)
	a.rejectAll()
	free(a.pass, "reserved service point", rsp)
	if !established || !a.recv(client, nil, clientRecv) {
		end(udat.CloseAbrupt, client, server)
		return
	}
	client.ending, server.ending = true, true
	free(a.pass, "server's endpoint", server.ep)
	server.ep, server.phase = nil, idle
	if a.until("the end of the connection of a freed endpoint", func() bool { return client.phase == idle }) {
		a.steps++
	}
	end(udat.CloseAbrupt, client, server)
}
