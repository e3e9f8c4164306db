package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	// patience bounds what a peer that is there takes for its part: the C program
	// sleeps for some seconds in all.
	patience = time.Minute
	// between is the time from one look at memory to the next.
	between = 10 * time.Millisecond
)

// Receives, by their cookies: the note comes first, and the immediate data takes
// the other one without touching its memory.
const (
	noteReceive = iota
	immediateReceive
	receives
)

// node is one side: an adapter, an endpoint on it, and memory.
type node struct {
	o        options
	ia       *udat.IA
	attr     udat.IAAttr
	provider udat.ProviderAttr
	pz       *udat.PZ
	requests *udat.EVD // for connections
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	ep       *udat.EP

	in    *udat.LMR // what the peer writes; its first 8 bytes are a word
	out   *udat.LMR // what is written to the peer
	notes *udat.LMR // the peer's note, and behind it this side's
	old   *udat.LMR // where atomic operations and reads put the peer's word

	remote    udat.RMRTriplet // the peer's in
	connected bool
}

// prepare makes everything up to an unconnected endpoint with its receives. The
// adapter is open. The caller closes the node, also when prepare fails.
func (n *node) prepare() error {
	for _, step := range []func() error{n.register, n.createEP, n.postReceives} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) open() (err error) {
	if n.ia, err = adapter.Open(n.o.provider); err != nil {
		return err
	}
	if n.attr, n.provider, err = n.ia.Query(); err != nil {
		return err
	}
	say("opened %s: %s at %v", n.ia.Name(), n.attr.AdapterName, n.attr.Address)
	if !n.attr.ExtensionSupported {
		return errors.New("the provider does not have the InfiniBand extensions")
	}
	if n.o.verbose {
		printAttributes(n.provider)
	}
	return nil
}

func (n *node) register() (err error) {
	if n.pz, err = udat.CreatePZ(n.ia); err != nil {
		return err
	}
	if n.in, err = udat.AllocMemory(n.pz, n.o.size, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic); err != nil {
		return err
	}
	const local = udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if n.out, err = udat.AllocMemory(n.pz, n.o.size, local); err != nil {
		return err
	}
	if n.notes, err = udat.AllocMemory(n.pz, 2*tripletSize, local); err != nil {
		return err
	}
	n.old, err = udat.AllocMemory(n.pz, wordSize, local)
	return err
}

func (n *node) createEP() (err error) {
	for _, evd := range []struct {
		evd   **udat.EVD
		flags udat.EVDFlags
	}{
		{&n.requests, udat.EVDCR},
		{&n.connect, udat.EVDConnection},
		{&n.request, udat.EVDDTO},
		{&n.recv, udat.EVDDTO},
	} {
		const length = 64 // more than there is outstanding
		if *evd.evd, err = udat.CreateEVD(n.ia, length, nil, evd.flags); err != nil {
			return err
		}
	}
	n.ep, err = udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, nil)
	return err
}

func (n *node) postReceives() error {
	segment, err := n.notes.Segment(0, tripletSize)
	if err != nil {
		return err
	}
	for cookie := range uint64(receives) {
		if err := n.ep.PostRecv([]udat.Segment{segment}, cookie, 0); err != nil {
			return err
		}
	}
	return nil
}

// close frees everything in the order in which it is used. It tries all.
func (n *node) close() error {
	if n.ia == nil {
		return nil
	}
	var freeing testprogram.Freeing
	freeing.Free(n.ep != nil, n.ep.Free)
	for _, evd := range []*udat.EVD{n.requests, n.connect, n.request, n.recv} {
		freeing.Free(evd != nil, evd.Free)
	}
	for _, lmr := range []*udat.LMR{n.in, n.out, n.notes, n.old} {
		freeing.Free(lmr != nil, lmr.Free)
	}
	freeing.Free(n.pz != nil, n.pz.Free)
	freeing.Free(true, func() error { return n.ia.Close(udat.CloseGraceful) })
	return freeing.Err()
}

func (n *node) peer() string {
	if n.o.server() {
		return "client"
	}
	return "server"
}

// can looks up what the provider says of an operation.
func (n *node) can(name string) bool {
	return n.provider.ProviderSpecificAttr[name] == "TRUE"
}

// collect waits for the next completion. It must be that of the operation that was posted with cookie, with the given
// number of bytes.
func (n *node) collect(ctx context.Context, evd *udat.EVD, cookie uint64, length int) (udat.Event, error) {
	event, err := evd.Wait(ctx)
	if err != nil {
		return event, err
	}
	ended, err := testprogram.CheckCompletion(event, cookie, length, n.connect, "-b")
	n.connected = n.connected && !ended
	return event, err
}

// until looks again and again, until it sees what it waits for. Memory that the
// peer changes with an RDMA operation does not say so.
func (n *node) until(ctx context.Context, what string, look func() (bool, error)) error {
	again := time.NewTicker(between)
	defer again.Stop()
	for {
		if seen, err := look(); seen || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-again.C:
		}
		event, err := n.connect.Dequeue()
		if err == nil {
			n.connected = false
			if seen, err := look(); seen && err == nil {
				return nil // the peer has done it and left, all since the last look
			}
			return fmt.Errorf("waiting for %s: %w", what, event.Number)
		}
		if !errors.Is(err, udat.ErrQueueEmpty) {
			return err
		}
	}
}
