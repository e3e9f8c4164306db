package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// connectTimeout bounds the attempts that are made at a time, and patience how long the end of connections may take.
const (
	connectTimeout = 100 * time.Second
	patience       = 20 * time.Second
)

// node is one side: an adapter, an endpoint for each connection, and memory.
type node struct {
	options
	ia       *udat.IA
	requests *udat.EVD // for connections
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	srq      *udat.SRQ // nil if each endpoint has its own receives
	eps      []*udat.EP

	// in and out have a slot for each message of a burst, out in the order of the connections. The cookie of a receive is its
	// slot.
	in, out *udat.LMR

	connected int      // connections whose end has not been seen
	last      []uint32 // the number of the message that came last, by connection
}

// newNode opens the adapter and makes everything up to unconnected endpoints with receives for a burst.
func newNode(o options) *node {
	n := &node{options: o, connected: o.connections, last: make([]uint32, o.connections), ia: must(adapter.Open(o.provider))}
	attr, provider, err := n.ia.Query()
	check(err)
	say("opened %s: %s at %v", n.ia.Name(), attr.AdapterName, attr.Address)
	if n.size == 0 { // as large as fits into a packet
		if n.size, err = strconv.Atoi(provider.ProviderSpecificAttr["DAT_IB_TRANSPORT_MTU"]); err != nil {
			check(fmt.Errorf("the provider does not report its MTU, set the size with -b: %w", err))
		}
	}
	queue := "one receive queue"
	if o.srq == 0 {
		queue = "receives of their own"
	}
	say("connections: %d, with %s; on each %d bursts of %d messages of %d bytes", n.connections, queue, n.bursts, n.messages, n.size)

	pz := must(udat.CreatePZ(n.ia))
	n.in = must(udat.AllocMemory(pz, n.slots()*n.size, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	n.out = must(udat.AllocMemory(pz, n.slots()*n.size, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	n.requests = must(udat.CreateEVD(n.ia, n.connections, nil, udat.EVDCR))
	n.connect = must(udat.CreateEVD(n.ia, 2*n.connections, nil, udat.EVDConnection))
	n.request = must(udat.CreateEVD(n.ia, n.slots(), nil, udat.EVDDTO))
	n.recv = must(udat.CreateEVD(n.ia, n.slots(), nil, udat.EVDDTO))
	if o.srq == 1 {
		n.srq = must(udat.CreateSRQ(n.ia, pz, udat.SRQAttr{MaxRecvDTOs: n.slots(), MaxRecvIOV: 1}))
	}
	ep := udat.EPAttr{MaxRecvDTOs: n.messages, MaxRequestDTOs: n.messages, MaxRecvIOV: 1, MaxRequestIOV: 1}
	for range n.connections {
		if n.srq != nil {
			n.eps = append(n.eps, must(udat.CreateEPWithSRQ(n.ia, pz, n.recv, n.request, n.connect, n.srq, &ep)))
		} else {
			n.eps = append(n.eps, must(udat.CreateEP(n.ia, pz, n.recv, n.request, n.connect, &ep)))
		}
	}
	for slot := range n.slots() {
		n.post(slot)
	}
	return n
}

// close ends the connections, if there still are some, and frees everything.
func (n *node) close() { check(n.ia.Close(udat.CloseAbrupt)) }

// post makes a slot ready for a message: to any connection, or without a shared queue to the one that the slot belongs to.
func (n *node) post(slot int) {
	iov := []udat.Segment{must(n.in.Segment(slot*n.size, n.size))}
	if n.srq != nil {
		check(n.srq.PostRecv(iov, uint64(slot)))
	} else {
		check(n.eps[slot/n.messages].PostRecv(iov, uint64(slot), 0))
	}
}

// dial is the client. It connects the first endpoint by itself, to see that there is a server, and then the others at a time.
func (n *node) dial(ctx context.Context) {
	server, err := adapter.Resolve(ctx, n.ia, n.host)
	if err != nil {
		check(fmt.Errorf("-h: %w", err))
	}
	say("connecting to %v, port %d", server, n.qualifier)
	testprogram.Connect(ctx, n.eps[0], server, n.qualifier, endpointNumber(0), func() {
		if n.srq == nil { // a connection that has failed has taken the receives
			testprogram.TakeFlushed(ctx, n.recv, n.messages)
			for slot := range n.messages {
				n.post(slot)
			}
		}
	})
	for i := 1; i < len(n.eps); i++ {
		check(n.eps[i].Connect(server, n.qualifier, connectTimeout, endpointNumber(i)))
	}
	for range n.eps[1:] {
		must(n.connect.Expect(ctx, udat.EventConnectionEstablished))
	}
	say("all %d connected", len(n.eps))
	n.transfer(ctx)
	for _, ep := range n.eps {
		check(ep.Disconnect(udat.CloseAbrupt))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n.awaitDisconnects(ctx)
}

func (n *node) awaitDisconnects(ctx context.Context) {
	for ; n.connected > 0; n.connected-- {
		must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	}
}

// serve is the server, for one client.
func (n *node) serve(ctx context.Context) {
	must(udat.CreatePSP(n.ia, n.qualifier, n.requests))
	say("waiting for a client at port %d", n.qualifier)
	accepted := make([]bool, len(n.eps))
	event, err := n.requests.Wait(ctx)
	for i := range n.eps {
		if i > 0 {
			event, err = take(ctx, n.requests)
		}
		if err != nil {
			check(fmt.Errorf("waiting for connection %d: %w", i+1, err))
		}
		n.accept(event.CR(), accepted)
	}
	for range n.eps {
		must(n.connect.Expect(ctx, udat.EventConnectionEstablished))
	}
	say("all %d connected", len(n.eps))
	n.transfer(ctx)
	n.awaitDisconnects(ctx)
}

// accept accepts on the endpoint that the client requests.
func (n *node) accept(cr *udat.CR, accepted []bool) {
	var err error
	var number uint32
	b := must(cr.Query()).PrivateData
	if len(b) >= 4 { // providers pad private data
		number = binary.BigEndian.Uint32(b)
	}
	switch {
	case len(b) < 4:
		err = fmt.Errorf("private data % x, want the number of an endpoint, of 4 bytes", b)
	case int64(number) >= int64(len(n.eps)):
		err = fmt.Errorf("there is no endpoint %d: give both sides the same -c", number)
	case accepted[number]:
		err = fmt.Errorf("endpoint %d is connected already: is there another client?", number)
	}
	if err != nil {
		check(errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil)))
	}
	accepted[number] = true
	n.sayMore("accepting on endpoint %d", number)
	check(cr.Accept(n.eps[number], endpointNumber(int(number))))
}

// endpointNumber is the private data: which of the server's endpoints is to be connected.
func endpointNumber(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

func (n *node) sayMore(format string, args ...any) {
	if n.verbose {
		say(format, args...)
	}
}

// answerTime bounds what a peer takes for its next message or connection.
const answerTime = 30 * time.Second

// take waits for the next event, which must not be a failure.
func take(ctx context.Context, evd *udat.EVD) (udat.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	event, err := evd.Wait(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return event, fmt.Errorf("nothing came for %v: do both sides have the same flags?", answerTime)
	}
	if err != nil {
		return event, err
	}
	return event, event.Err()
}
