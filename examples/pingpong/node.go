package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/internal/messagesizes"
	"github.com/goudat/goudat/udat"
)

const (
	receives    = 8        // that each side keeps posted
	exposedSize = 64 << 10 // bytes that are written and read by RDMA
	maxSize     = 1 << 20

	// What the client's connection request says: the round trips for each size, how it will disconnect, and the sizes. Some
	// providers pad private data.
	greeting = "pingpong %d %s %s\n"
)

var errTimeout = errors.New("the run took longer than -timeout")

func parseSizes(list string) ([]int, error) { return messagesizes.Parse(list, 0, maxSize, 12) }

// The contents of messages and of memory follow from numbers: 0 and up for messages, and these for RDMA.
const (
	written  = -1
	readBack = -2
)

// node is one side: an adapter, an endpoint on it, and memory for the messages.
type node struct {
	name                   string
	ia                     *udat.IA
	pz                     *udat.PZ
	connect, request, recv *udat.EVD
	ep                     *udat.EP
	messages               *udat.LMR // slots for receives, then one for sends
	exposed                *udat.LMR // memory that the peer may write and read
	slot                   int       // bytes of a slot
}

// newNode opens the adapter and makes everything up to an endpoint with receives.
func newNode(name, provider string, largest int) *node {
	n := &node{name: name, slot: max(largest, 1)}
	n.ia = must(udat.Open(provider))
	n.pz = must(udat.CreatePZ(n.ia))
	n.connect = must(udat.CreateEVD(n.ia, 8, nil, udat.EVDConnection))
	n.request = must(udat.CreateEVD(n.ia, 32, nil, udat.EVDDTO))
	n.recv = must(udat.CreateEVD(n.ia, 32, nil, udat.EVDDTO))
	n.ep = must(udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, nil))
	n.status("created")
	n.messages = must(udat.AllocMemory(n.pz, (receives+1)*n.slot, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	// Memory of the Go heap works, too; it is pinned while it is registered.
	n.exposed = must(udat.RegisterMemory(n.pz, make([]byte, exposedSize), udat.MemPrivAll))
	for i := range receives {
		n.postReceive(i)
	}
	n.status("receives posted")
	return n
}

// close frees everything, users first.
func (n *node) close() {
	for _, o := range []interface{ Free() error }{n.ep, n.messages, n.exposed, n.pz, n.connect, n.request, n.recv} {
		check(o.Free())
	}
	check(n.ia.Close(udat.CloseGraceful))
	n.say("all was right; freed everything")
}

// dial is the client: it connects, exchanges messages, and disconnects.
func dial(provider, mode string, sizes []int) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), *timeout, errTimeout)
	defer cancel()
	n := newNode("client", provider, slices.Max(sizes))
	address := must(adapter.Resolve(ctx, n.ia, *host))
	request := fmt.Appendf(nil, greeting, *count, mode, strings.ReplaceAll(*sizeList, " ", ""))
	answer, err := n.ep.ConnectAndWait(ctx, address, udat.ConnQual(*qual), request)
	if errors.Is(err, udat.EventConnectionNonPeerRejected) {
		err = fmt.Errorf("nobody listens at %v, qualifier %d: start the server first (%w)", address, *qual, err)
	}
	check(err)
	n.status("established")
	var remote udat.RMRTriplet // of the server's memory
	check(remote.UnmarshalBinary(answer[:min(udat.RMRTripletSize, len(answer))]))

	number := 0
	for _, size := range sizes {
		start := time.Now()
		for range *count {
			n.send(size, number)
			n.receive(ctx, size, number+1)
			n.completion(ctx, n.request)
			number += 2
		}
		n.say("%d round trips of %d bytes, on average %v", *count, size, (time.Since(start) / time.Duration(*count)).Round(100*time.Nanosecond))
	}

	memory := []udat.Segment{must(n.exposed.Segment(0, exposedSize))}
	fill(n.exposed.Bytes(), written)
	check(n.ep.PostRDMAWrite(memory, 0, remote, 0))
	n.status("RDMA write posted")
	n.completion(ctx, n.request)
	n.send(0, number) // arrives after the write: the server checks its memory then
	n.completion(ctx, n.request)
	n.receive(ctx, 0, number+1)
	check(n.ep.PostRDMARead(memory, 0, remote, 0))
	n.status("RDMA read posted")
	n.completion(ctx, n.request)
	check(verify(n.exposed.Bytes(), exposedSize, readBack))
	n.say("RDMA write and RDMA read of %d bytes verified", exposedSize)

	// It disconnects while messages are in flight. Gracefully, they all arrive.
	for range receives {
		n.send(slices.Max(sizes), number)
	}
	flags := map[string]udat.CloseFlags{"graceful": udat.CloseGraceful, "abrupt": udat.CloseAbrupt}
	check(n.ep.Disconnect(flags[mode]))
	n.status(mode + " disconnect")
	n.ended(ctx, n.request, mode == "abrupt", func(udat.Event) {})
	n.close()
}

// serve is the server, for one client. It calls listening when the client can connect.
func serve(provider string, listening func(netip.Addr)) {
	n := newNode("server", provider, maxSize)
	requests := must(udat.CreateEVD(n.ia, 8, nil, udat.EVDCR))
	psp := must(udat.CreatePSP(n.ia, udat.ConnQual(*qual), requests))
	attr, _, err := n.ia.Query()
	check(err)
	n.say("listening at %v with the qualifier %d", attr.Address, *qual)
	listening(attr.Address)
	cr := must(requests.Expect(context.Background(), udat.EventConnectionRequest)).CR()
	ctx, cancel := context.WithTimeoutCause(context.Background(), *timeout, errTimeout)
	defer cancel()
	var count int
	var mode, list string
	if _, err := fmt.Sscanf(string(must(cr.Query()).PrivateData), greeting, &count, &mode, &list); err != nil {
		check(errors.Join(fmt.Errorf("the client is not a pingpong of this version: %w", err), cr.Reject(nil)))
	}
	sizes := must(parseSizes(list))
	place := must(must(n.exposed.RMRTriplet(0, exposedSize)).AppendBinary(nil))
	check(cr.AcceptAndWait(ctx, n.ep, place))
	n.status("established")

	number := 0
	for _, size := range sizes {
		for range count {
			n.receive(ctx, size, number)
			n.send(size, number+1)
			n.completion(ctx, n.request)
			number += 2
		}
	}
	n.receive(ctx, 0, number)
	check(verify(n.exposed.Bytes(), exposedSize, written))
	fill(n.exposed.Bytes(), readBack)
	n.send(0, number+1)
	n.completion(ctx, n.request)

	n.ended(ctx, n.recv, mode == "abrupt", func(event udat.Event) { n.verify(event, slices.Max(sizes), number) })
	check(psp.Free())
	check(requests.Free())
	n.close()
}

// ended waits for the end of the connection, and takes the completions of what was in flight. If the client has left
// abruptly, all operations after the first that fails fail.
func (n *node) ended(ctx context.Context, evd *udat.EVD, abrupt bool, use func(udat.Event)) {
	must(n.connect.Expect(ctx, udat.EventConnectionDisconnected))
	flushed := 0
	for range receives {
		event := must(evd.Wait(ctx))
		switch {
		case event.Status == udat.DTOErrFlushed && abrupt:
			flushed++
		case event.Status != udat.DTOSuccess || flushed > 0:
			check(fmt.Errorf("%v ended with %v after %d were flushed", event.Operation, event.Status, flushed))
		default:
			use(event)
		}
	}
	n.say("disconnected; of %d operations in flight, %d were flushed", receives, flushed)
	n.status("disconnected")
}

// completion waits for an operation to complete. If it fails, the end of the connection says why.
func (n *node) completion(ctx context.Context, evd *udat.EVD) udat.Event {
	event, err := evd.Expect(ctx, udat.EventDTOCompletion)
	if err != nil {
		if end, none := n.connect.Wait(ctx); none == nil {
			err = fmt.Errorf("%w: %v", err, end.Number)
		}
		check(err)
	}
	return event
}

// postReceive posts a receive into slot i. The slot's number is the cookie.
func (n *node) postReceive(i int) {
	check(n.ep.PostRecv([]udat.Segment{must(n.messages.Segment(i*n.slot, n.slot))}, uint64(i), 0))
}

// send posts a message from the send slot, which is free again when that has completed.
func (n *node) send(size, number int) {
	fill(n.messages.Bytes()[receives*n.slot:][:size], number)
	check(n.ep.PostSend([]udat.Segment{must(n.messages.Segment(receives*n.slot, size))}, uint64(number), 0))
}

// receive waits for a message, checks it, and posts its receive again.
func (n *node) receive(ctx context.Context, size, number int) {
	event := n.completion(ctx, n.recv)
	n.verify(event, size, number)
	n.postReceive(int(event.Cookie))
}

func (n *node) verify(event udat.Event, size, number int) {
	check(verify(n.messages.Bytes()[int(event.Cookie)*n.slot:][:event.Length], size, number))
}

func fill(b []byte, number int) {
	for i := range b {
		b[i] = byte(number*31 + i*7 + i>>8*3)
	}
}

func verify(b []byte, size, number int) error {
	want := make([]byte, size)
	fill(want, number)
	if !bytes.Equal(b, want) {
		return fmt.Errorf("message %d: %d bytes came that are not the %d that were sent", number, len(b), size)
	}
	return nil
}

func (n *node) say(format string, args ...any) {
	fmt.Printf("%s: %s\n", n.name, fmt.Sprintf(format, args...))
}

func (n *node) status(step string) {
	if s := must(n.ep.GetStatus()); *verbose {
		n.say("%-18s %-22s recv idle %-5t request idle %t", step, strings.TrimPrefix(s.State.String(), "DAT_EP_STATE_"), s.RecvIdle, s.RequestIdle)
	}
}
