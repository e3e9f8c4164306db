package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	// notes is how many messages come before the pings: the place of the peer's memory, the end of its writes, the end of its
	// reads.
	notes = 3
	// pings is how many messages go back and forth.
	pings = 100

	pdataSize = 48
)

// qualifier is the connection qualifier that the server listens on.
const qualifier udat.ConnQual = 45248

// node is one side: an adapter, an endpoint on it, and memory.
type node struct {
	options
	ia       *udat.IA
	attr     udat.IAAttr
	provider udat.ProviderAttr
	pz       *udat.PZ
	cno      *udat.CNO // nil without -c
	requests *udat.EVD // for connections
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	ep       *udat.EP

	in, out *udat.LMR // what the peer writes and reads, and what is sent and read to
	notes   *udat.LMR // a slot for each of the peer's notes, and one for this side's

	notesSeen int
	remote    udat.RMRTriplet // the peer's in
	times     times
}

// newNode opens the adapter and makes everything up to an unconnected endpoint with receives for the notes. It asks for what
// the C program asks for: the number of reads counts for the peer, the rest is this side's own.
func newNode(o options) *node {
	n := &node{options: o}
	timed(&n.times.open, func() { n.ia = must(adapter.Open(o.provider)) })
	var err error
	n.attr, n.provider, err = n.ia.Query()
	check(err)
	say("opened %s: %s at %v", n.ia.Name(), n.attr.AdapterName, n.attr.Address)
	timed(&n.times.pzCreate, func() { n.pz = must(udat.CreatePZ(n.ia)) })

	receives, requests := notes+pings, notes+reads+max(pings, o.signalRate)
	if o.writeOnly || o.writePingPong {
		receives, requests = 2*notes, notes+reads+o.signalRate
	}
	timed(&n.times.lmrCreate, func() { n.in = must(udat.AllocMemory(n.pz, receives*o.size, udat.MemPrivAll)) })
	n.out = must(udat.AllocMemory(n.pz, receives*o.size, udat.MemPrivAll))
	fill(n.in.Bytes()[:o.size], fillIn)
	fill(n.out.Bytes()[:o.size], fillOut)
	n.notes = must(udat.AllocMemory(n.pz, (notes+1)*udat.RMRTripletSize, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))

	if o.useCNO {
		timed(&n.times.cnoCreate, func() { n.cno = must(udat.CreateCNO(n.ia, nil)) })
	}
	timed(&n.times.evdCreate, func() { n.requests = must(udat.CreateEVD(n.ia, 10, nil, udat.EVDCR)) })
	n.connect = must(udat.CreateEVD(n.ia, 10, nil, udat.EVDConnection))
	n.request = must(udat.CreateEVD(n.ia, 2*requests, n.cno, udat.EVDDTO))
	n.recv = must(udat.CreateEVD(n.ia, 2*receives, n.cno, udat.EVDDTO))
	ep := udat.EPAttr{
		MaxRecvDTOs: receives, MaxRequestDTOs: requests, MaxRecvIOV: 1, MaxRequestIOV: 1, MaxRDMAReadIn: reads, MaxRDMAReadOut: reads,
	}
	timed(&n.times.epCreate, func() { n.ep = must(udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, &ep)) })
	n.postNotes()
	return n
}

// postNotes posts a receive for each note; its number is the cookie.
func (n *node) postNotes() {
	for i := range notes {
		check(n.ep.PostRecv(n.note(i), uint64(i), 0))
	}
}

func (n *node) note(slot int) []udat.Segment {
	return []udat.Segment{must(n.notes.Segment(slot*udat.RMRTripletSize, udat.RMRTripletSize))}
}

// free frees everything, users first.
func (n *node) free() {
	free := func(total *time.Duration, free func() error) { timed(total, func() { check(free()) }) }
	free(&n.times.epFree, n.ep.Free)
	check(errors.Join(n.notes.Free(), n.requests.Free(), n.connect.Free()))
	free(&n.times.evdFree, n.recv.Free)
	free(&n.times.evdFree, n.request.Free)
	if n.cno != nil {
		free(&n.times.cnoFree, n.cno.Free)
	}
	free(&n.times.lmrFree, n.in.Free)
	check(n.out.Free())
	free(&n.times.pzFree, n.pz.Free)
	free(&n.times.close, func() error { return n.ia.Close(udat.CloseGraceful) })
}

// serve is the server, for one client. The service point exists before the client learns the address.
func serve(ctx context.Context, o options) *node {
	n := newNode(o)
	psp := must(udat.CreatePSP(n.ia, qualifier, n.requests))
	conn := must(dtestparams.Accept(ctx, func() { say("waiting for a client at port %d", dtestparams.Port) }))
	check(conn.Send(dtestparams.Parameters{Address: n.attr.Address, Provider: cmp.Or(o.provider, n.ia.Name())}))
	check(conn.Close())
	cr := must(n.requests.Wait(ctx)).CR()
	check(testprogram.Pause(ctx, time.Duration(o.delay)*time.Second))
	if err := checkPrivateData(must(cr.Query()).PrivateData, 1); err != nil {
		check(errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil)))
	}
	check(cr.AcceptAndWait(ctx, n.ep, privateData(2)))
	say("connected")
	n.transfer(ctx)
	must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	n.sayMore("the client has left")
	check(psp.Free())
	return n
}

// dial is the client: it learns the server's address, connects, transfers, and disconnects. The C server tells its address
// first and listens then: it may reject a client that comes in between.
func dial(ctx context.Context, o options) *node {
	conn := must(dtestparams.Dial(ctx, o.host))
	server := must(conn.Receive())
	check(conn.Close())
	say("the server has %s at %v", server.Provider, server.Address)
	o.provider = cmp.Or(o.provider, server.Provider)
	n := newNode(o)
	start := time.Now()
	answer := testprogram.Connect(ctx, n.ep, server.Address, qualifier, privateData(1), func() {
		testprogram.TakeFlushed(ctx, n.recv, notes)
		n.postNotes()
	})
	n.times.connect = time.Since(start)
	say("connected")
	check(checkPrivateData(answer, 2))
	n.transfer(ctx)
	check(n.ep.Disconnect(udat.CloseAbrupt))
	must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	return n
}

// privateData returns a pattern that counts up from first. The client's starts at 1; the server returns it with 1 added to
// each byte.
func privateData(first byte) []byte {
	b := make([]byte, pdataSize)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

// checkPrivateData checks only the pattern: providers pad private data.
func checkPrivateData(b []byte, first byte) error {
	if len(b) < pdataSize || !bytes.Equal(b[:pdataSize], privateData(first)) {
		return fmt.Errorf("private data % x, want the %d bytes from %#02x up", b, pdataSize, first)
	}
	return nil
}

func (n *node) role() string {
	if n.server() {
		return "server"
	}
	return "client"
}

func (n *node) peer() string {
	if n.server() {
		return "client"
	}
	return "server"
}

func (n *node) sayMore(format string, args ...any) {
	if n.verbose {
		say(format, args...)
	}
}

// poll takes the next event of evd and counts how often there was none.
func poll(ctx context.Context, evd *udat.EVD, polls *int) (udat.Event, error) {
	for {
		event, err := evd.Dequeue()
		if !errors.Is(err, udat.ErrQueueEmpty) {
			return event, err
		}
		*polls++
		if err := ctx.Err(); err != nil {
			return event, err
		}
		runtime.Gosched()
	}
}

// take takes the next completion of evd in the way that the flags ask for.
func (n *node) take(ctx context.Context, evd *udat.EVD, polls *int) (udat.Event, error) {
	switch {
	case n.cno != nil:
		for {
			event, err := evd.Dequeue()
			if !errors.Is(err, udat.ErrQueueEmpty) {
				return event, err
			}
			// It may be for the other EVD, whose turn comes later.
			if _, err := n.cno.Wait(ctx); err != nil {
				return event, err
			}
		}
	case n.polling:
		return poll(ctx, evd, polls)
	}
	return evd.Wait(ctx)
}

// collect takes the next completion. It must be that of the operation that was posted with cookie, with the given number of
// bytes.
func (n *node) collect(ctx context.Context, evd *udat.EVD, polls *int, cookie uint64, length int) (udat.Event, error) {
	event, err := n.take(ctx, evd, polls)
	if err != nil {
		return event, err
	}
	return event, n.completed(event, cookie, length)
}

func (n *node) completed(event udat.Event, cookie uint64, length int) error {
	return testprogram.Completed(event, cookie, length, n.connect, "-b and -B")
}
