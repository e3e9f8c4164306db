package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

// node is one side: an adapter, memory, and the two connections.
type node struct {
	ia      *udat.IA
	pz      *udat.PZ
	control *control
	data    *link
	memory  *udat.LMR // memory to send from, then memory to receive into
	area    int       // bytes of each half
	shape   shape

	provider udat.ProviderAttr
	iwarp    bool // the device speaks it
}

// shape is what both sides must agree on before they connect.
type shape struct {
	largest int  // bytes of the largest message
	window  int  // requests that the client keeps outstanding
	wait    bool // for events
}

// openNode opens the adapter. The caller closes the node, also when it fails.
func openNode(name string) (*node, error) {
	n := &node{}
	var err error
	if n.ia, err = udat.Open(name); err != nil {
		return n, err
	}
	var attr udat.IAAttr
	if attr, n.provider, err = n.ia.Query(); err != nil {
		return n, err
	}
	if n.iwarp, err = adapter.IWARP(attr.AdapterName); err != nil {
		return n, err
	}
	n.pz, err = udat.CreatePZ(n.ia)
	return n, err
}

// equip makes the memory and two unconnected endpoints.
func (n *node) equip(s shape) error {
	n.shape = s
	// Atomic operations need aligned memory for each old value.
	const page = 4096
	n.area = (max(s.largest, atomicSize*s.window) + page - 1) / page * page
	var err error
	privileges := udat.MemPrivAll
	if slices.ContainsFunc(n.operations(), operation.atomic) {
		privileges |= udat.MemPrivIBRemoteAtomic
	}
	if n.memory, err = udat.AllocMemory(n.pz, 2*n.area, privileges); err != nil {
		return err
	}
	if n.control, err = newControl(n.ia, n.pz); err != nil {
		return err
	}
	// With twice as many receives, the sender never waits for one.
	n.data, err = newLink(n.ia, n.pz, s.window, windowsAhead*s.window, s.wait)
	return err
}

// operations returns the operations of the adapter's device.
func (n *node) operations() []operation {
	all := []operation{opSend, opWrite, opRead}
	for op, dto := range map[operation]udat.DTO{opFetchAdd: udat.DTOIBFetchAdd, opCmpSwap: udat.DTOIBCmpSwap} {
		if n.provider.Supports(dto) {
			all = append(all, op)
		}
	}
	slices.Sort(all)
	return all
}

func (n *node) source(size int) []byte { return n.memory.Bytes()[:size] }
func (n *node) target(size int) []byte { return n.memory.Bytes()[n.area:][:size] }

func (n *node) sourceSegment(size int) (udat.Segment, error) { return n.memory.Segment(0, size) }
func (n *node) targetSegment(size int) (udat.Segment, error) { return n.memory.Segment(n.area, size) }

// halfRoundTrip reports whether a latency is half the time until the peer's answer. Otherwise it is the time until the
// completion. A peer that waits for events gets none for an RDMA write.
func (s step) halfRoundTrip(wait bool) bool {
	return s.Measure == measureLatency && (s.Operation == opSend || s.Operation == opWrite && !wait)
}

// lay fills the source and clears the target.
func (n *node) lay(s step, server bool) {
	contents{s, server}.write(n.source(s.Size))
	clear(n.target(s.Size))
}

// arrived checks the data in this side's target.
func (n *node) arrived(s step, server bool) error {
	switch {
	case s.Operation == opRead && server, s.Operation.atomic() && !server:
		return nil
	case s.Operation == opRead, server && !s.Operation.atomic(), s.halfRoundTrip(n.shape.wait):
		last := -1
		if s.Operation == opWrite && s.halfRoundTrip(n.shape.wait) {
			last = int(byte(s.total()))
		}
		return contents{s, !server}.check(n.target(s.Size), last)
	case s.Operation.atomic():
		if got := loadCounter(n.target(atomicSize)); got != uint64(s.total()) {
			return fmt.Errorf("%v: the counter is %d after %d operations", s, got, s.total())
		}
	}
	return nil
}

// closeError is an error of close.
type closeError struct{ error }

func (e closeError) Unwrap() error { return e.error }

// close frees everything, users first. It continues after errors.
func (n *node) close() error {
	var errs []error
	if n.control != nil {
		errs = append(errs, n.control.free())
		if n.control.memory != nil {
			errs = append(errs, n.control.memory.Free())
		}
	}
	errs = append(errs, n.data.free())
	if n.memory != nil {
		errs = append(errs, n.memory.Free())
	}
	if n.pz != nil {
		errs = append(errs, n.pz.Free())
	}
	if n.ia != nil {
		errs = append(errs, n.ia.Close(udat.CloseGraceful))
	}
	if err := errors.Join(errs...); err != nil {
		return closeError{err}
	}
	return nil
}
