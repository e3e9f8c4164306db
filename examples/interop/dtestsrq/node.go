package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// node is one side: an adapter, an endpoint for each connection, and memory.
type node struct {
	o        options
	ia       *udat.IA
	attr     udat.IAAttr
	pz       *udat.PZ
	requests *udat.EVD // for connections
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	srq      *udat.SRQ // nil if each endpoint has its own receives
	eps      []*udat.EP

	// in and out have a slot for each message of a burst, out in the order of the
	// connections. The cookie of a receive is its slot.
	in, out *udat.LMR

	connected int
	last      []uint32 // the number of the message that came last, by connection
}

// newNode opens the adapter and makes everything up to unconnected endpoints with
// receives for a burst. The caller closes the node, also when newNode fails.
func newNode(o options) (*node, error) {
	n := &node{o: o, last: make([]uint32, o.connections)}
	for _, step := range []func() error{n.open, n.register, n.createEVDs, n.createEPs, n.postAll} {
		if err := step(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (n *node) open() (err error) {
	if n.ia, err = adapter.Open(n.o.provider); err != nil {
		return err
	}
	var provider udat.ProviderAttr
	if n.attr, provider, err = n.ia.Query(); err != nil {
		return err
	}
	say("opened %s: %s at %v", n.ia.Name(), n.attr.AdapterName, n.attr.Address)
	if n.o.size == 0 {
		if n.o.size, err = transportMTU(provider); err != nil {
			return err
		}
	}
	queue := "one receive queue"
	if !n.o.srq {
		queue = "receives of their own"
	}
	say("connections: %d, with %s; on each %d bursts of %d messages of %d bytes",
		n.o.connections, queue, n.o.bursts, n.o.messages, n.o.size)
	n.pz, err = udat.CreatePZ(n.ia)
	return err
}

// transportMTU is the size of the messages that fit into a packet.
func transportMTU(provider udat.ProviderAttr) (int, error) {
	mtu, err := strconv.Atoi(provider.ProviderSpecificAttr["DAT_IB_TRANSPORT_MTU"])
	if err != nil {
		err = fmt.Errorf("the provider does not report its MTU, set the size with -b: %w", err)
	}
	return mtu, err
}

func (n *node) register() (err error) {
	const local = udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if n.in, err = udat.AllocMemory(n.pz, n.o.slots()*n.o.size, local); err != nil {
		return err
	}
	n.out, err = udat.AllocMemory(n.pz, n.o.slots()*n.o.size, local)
	return err
}

func (n *node) createEVDs() (err error) {
	completions := n.o.slots()
	for _, evd := range []struct {
		evd   **udat.EVD
		room  int
		flags udat.EVDFlags
	}{
		{&n.requests, n.o.connections, udat.EVDCR},
		{&n.connect, 2 * n.o.connections, udat.EVDConnection},
		{&n.request, completions, udat.EVDDTO},
		{&n.recv, completions, udat.EVDDTO},
	} {
		if *evd.evd, err = udat.CreateEVD(n.ia, evd.room, nil, evd.flags); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) createEPs() (err error) {
	attr := udat.EPAttr{MaxRecvDTOs: n.o.messages, MaxRequestDTOs: n.o.messages, MaxRecvIOV: 1, MaxRequestIOV: 1}
	if n.o.srq {
		n.srq, err = udat.CreateSRQ(n.ia, n.pz, udat.SRQAttr{MaxRecvDTOs: n.o.slots(), MaxRecvIOV: 1})
		if err != nil {
			return err
		}
	}
	for range n.o.connections {
		ep, err := n.createEP(&attr)
		if err != nil {
			return err
		}
		n.eps = append(n.eps, ep)
	}
	return nil
}

func (n *node) createEP(attr *udat.EPAttr) (*udat.EP, error) {
	if n.srq != nil {
		return udat.CreateEPWithSRQ(n.ia, n.pz, n.recv, n.request, n.connect, n.srq, attr)
	}
	return udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, attr)
}

func (n *node) postAll() error {
	for slot := range n.o.slots() {
		if err := n.post(slot); err != nil {
			return fmt.Errorf("receive %d: %w", slot, err)
		}
	}
	return nil
}

// post makes a slot ready for a message: to any connection, or without a shared
// queue to the one that the slot belongs to.
func (n *node) post(slot int) error {
	segment, err := n.in.Segment(slot*n.o.size, n.o.size)
	if err != nil {
		return err
	}
	iov := []udat.Segment{segment}
	if n.srq != nil {
		return n.srq.PostRecv(iov, uint64(slot))
	}
	return n.eps[slot/n.o.messages].PostRecv(iov, uint64(slot), 0)
}

// close frees everything in the order in which it is used. It tries all.
func (n *node) close() error {
	if n.ia == nil {
		return nil
	}
	var freeing testprogram.Freeing
	for _, ep := range n.eps {
		freeing.Free(true, ep.Free)
	}
	freeing.Free(n.srq != nil, n.srq.Free)
	for _, evd := range []*udat.EVD{n.requests, n.connect, n.request, n.recv} {
		freeing.Free(evd != nil, evd.Free)
	}
	for _, lmr := range []*udat.LMR{n.in, n.out} {
		freeing.Free(lmr != nil, lmr.Free)
	}
	freeing.Free(n.pz != nil, n.pz.Free)
	freeing.Free(true, func() error { return n.ia.Close(udat.CloseGraceful) })
	return freeing.Err()
}

func (n *node) sayMore(format string, args ...any) {
	if n.o.verbose {
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
