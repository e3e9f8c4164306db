package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	// qualifier is the connection qualifier that the server listens on.
	qualifier udat.ConnQual = 31112
	// patience bounds what a peer that is there takes for its part: the C program sleeps for some seconds in all.
	patience = time.Minute
	// between is the time from one look at memory to the next.
	between = 10 * time.Millisecond
)

// endpointNumber is the private data: the number of the server's endpoint to connect to. There is only endpoint 0.
var endpointNumber = []byte{0, 0, 0, 0}

// Receives, by their cookies: the note comes first, and the immediate data takes the other one without touching its memory.
const (
	noteReceive = iota
	immediateReceive
	receives
)

// node is one side: an adapter, an endpoint on it, and memory.
type node struct {
	options
	ia       *udat.IA
	attr     udat.IAAttr
	provider udat.ProviderAttr
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	ep       *udat.EP

	in    *udat.LMR // what the peer writes; its first 8 bytes are a word
	out   *udat.LMR // what is written to the peer
	notes *udat.LMR // the peer's note, and behind it this side's
	old   *udat.LMR // where atomic operations and reads put the peer's word

	remote udat.RMRTriplet // the peer's in
	left   bool            // the peer has disconnected
}

// newNode opens the adapter and makes everything up to an unconnected endpoint with its receives.
func newNode(o options) *node {
	n := &node{options: o, ia: must(adapter.Open(o.provider))}
	var err error
	n.attr, n.provider, err = n.ia.Query()
	check(err)
	say("opened %s: %s at %v", n.ia.Name(), n.attr.AdapterName, n.attr.Address)
	if !n.attr.ExtensionSupported {
		check(errors.New("the provider does not have the InfiniBand extensions"))
	}
	if o.verbose {
		printAttributes(n.provider)
	}
	pz := must(udat.CreatePZ(n.ia))
	const local = udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	n.in = must(udat.AllocMemory(pz, o.size, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic))
	n.out = must(udat.AllocMemory(pz, o.size, local))
	n.notes = must(udat.AllocMemory(pz, 2*udat.RMRTripletSize, local))
	n.old = must(udat.AllocMemory(pz, wordSize, local))
	const length = 64 // more than there is outstanding
	n.connect = must(udat.CreateEVD(n.ia, length, nil, udat.EVDConnection))
	n.request = must(udat.CreateEVD(n.ia, length, nil, udat.EVDDTO))
	n.recv = must(udat.CreateEVD(n.ia, length, nil, udat.EVDDTO))
	n.ep = must(udat.CreateEP(n.ia, pz, n.recv, n.request, n.connect, nil))
	n.postReceives()
	return n
}

func (n *node) postReceives() {
	segment := []udat.Segment{must(n.notes.Segment(0, udat.RMRTripletSize))}
	for cookie := range uint64(receives) {
		check(n.ep.PostRecv(segment, cookie, 0))
	}
}

// close ends the connection, if there still is one, and frees everything.
func (n *node) close() { check(n.ia.Close(udat.CloseAbrupt)) }

func (n *node) parameters() dtestparams.Parameters {
	return dtestparams.Parameters{Address: n.attr.Address, Provider: cmp.Or(n.options.provider, n.ia.Name())}
}

// serve is the server, for one client. The service point exists before the client learns the address. The client's
// parameters are for datagrams, for which the server connects, too.
func serve(ctx context.Context, o options) {
	n := newNode(o)
	defer n.close()
	requests := must(udat.CreateEVD(n.ia, 10, nil, udat.EVDCR))
	must(udat.CreatePSP(n.ia, qualifier, requests))
	conn := must(dtestparams.Accept(ctx, func() { say("waiting for a client at port %d", dtestparams.Port) }))
	check(conn.Send(n.parameters()))
	client := must(conn.Receive())
	say("the client has %s at %v", client.Provider, client.Address)
	check(conn.Close())
	cr := must(requests.Wait(ctx)).CR()
	if err := checkPrivateData(must(cr.Query()).PrivateData); err != nil {
		check(errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil)))
	}
	check(cr.AcceptAndWait(ctx, n.ep, endpointNumber))
	say("connected")
	n.test(ctx)
	if !n.left { // the client does more than this side sees
		must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	}
}

// dial is the client: it connects, tests, and disconnects.
func dial(ctx context.Context, o options) {
	conn := must(dtestparams.Dial(ctx, o.host))
	server := must(conn.Receive())
	say("the server has %s at %v", server.Provider, server.Address)
	o.provider = cmp.Or(o.provider, server.Provider)
	n := newNode(o)
	defer n.close()
	check(conn.Send(n.parameters())) // the C server begins to listen when it has this
	check(conn.Close())
	answer := testprogram.Connect(ctx, n.ep, server.Address, qualifier, endpointNumber, func() {
		testprogram.TakeFlushed(ctx, n.recv, receives)
		n.postReceives()
	})
	say("connected")
	check(checkPrivateData(answer))
	n.test(ctx)
	check(n.ep.Disconnect(udat.CloseAbrupt))
	if !n.left {
		must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	}
}

// checkPrivateData checks only the number: providers pad private data.
func checkPrivateData(b []byte) error {
	if !bytes.HasPrefix(b, endpointNumber) {
		return fmt.Errorf("private data % x, want the endpoint's number % x", b, endpointNumber)
	}
	return nil
}

func (n *node) peer() string {
	if n.server() {
		return "client"
	}
	return "server"
}

// exchangePlaces tells the peer where this side's memory is, and learns where the peer's is. An error in the peer's message
// has precedence: it makes the peer leave, perhaps before this side's message is known to have arrived. A side that finds an
// error does not leave before the peer has its message.
func (n *node) exchangePlaces(ctx context.Context) {
	const size, cookie = udat.RMRTripletSize, 0xaaaa
	copy(n.notes.Bytes()[size:], must(must(n.in.RMRTriplet(0, n.size)).AppendBinary(nil)))
	check(n.ep.PostSend([]udat.Segment{must(n.notes.Segment(size, size))}, cookie, udat.CompletionDefault))
	_, wrong := n.collect(ctx, n.recv, noteReceive, size)
	if wrong == nil {
		check(n.remote.UnmarshalBinary(n.notes.Bytes()[:size]))
		say("the %s's memory: %d bytes at %#x, context %#x", n.peer(), n.remote.SegmentLength, n.remote.VirtualAddress, n.remote.RMRContext)
		if int64(n.remote.SegmentLength) != int64(n.size) {
			wrong = fmt.Errorf("the %s has %d bytes and this side %d: give both the same -b", n.peer(), n.remote.SegmentLength, n.size)
		}
	}
	_, err := n.collect(ctx, n.request, cookie, size)
	check(cmp.Or(wrong, err))
}

// collect waits for the next completion. It must be that of the operation that was posted with cookie, with the given number
// of bytes.
func (n *node) collect(ctx context.Context, evd *udat.EVD, cookie uint64, length int) (udat.Event, error) {
	event, err := evd.Wait(ctx)
	if err != nil {
		return event, err
	}
	return event, testprogram.Completed(event, cookie, length, n.connect, "-b")
}

// until looks again and again, until it sees what it waits for. Memory that the peer changes with an RDMA operation does not
// say so.
func (n *node) until(ctx context.Context, what string, look func() bool) {
	for !look() {
		if err := testprogram.Pause(ctx, between); err != nil {
			check(fmt.Errorf("waiting for %s: %w", what, err))
		}
		event, err := n.connect.Dequeue()
		if err == nil {
			n.left = true
			if look() {
				return // the peer has done it and left, all since the last look
			}
			check(fmt.Errorf("waiting for %s: %w", what, event.Number))
		}
		if !errors.Is(err, udat.ErrQueueEmpty) {
			check(err)
		}
	}
}
