package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

// patience bounds each step before and after the transfers: the time in which a peer answers, connects, or notices the
// end of a connection.
const patience = 30 * time.Second

// node is an open adapter with its attributes.
type node struct {
	ia       *udat.IA
	attr     udat.IAAttr
	provider udat.ProviderAttr
}

func openNode(name string, t trace) (*node, error) {
	ia, err := adapter.Open(name)
	if err != nil {
		return nil, err
	}
	n := &node{ia: ia}
	if n.attr, n.provider, err = ia.Query(); err != nil {
		return nil, errors.Join(err, n.Free())
	}
	t.say(1, "opened %s: %s at %v, by provider %s %d.%d", ia.Name(), n.attr.AdapterName, n.attr.Address,
		n.provider.ProviderName, n.provider.ProviderVersionMajor, n.provider.ProviderVersionMinor)
	t.say(1, "at most %d endpoints with %d operations and %d RDMA reads each, %d event dispatchers of %d events, %d segments",
		n.attr.MaxEPs, n.attr.MaxDTOPerEP, n.attr.MaxRDMAReadPerEPOut, n.attr.MaxEVDs, n.attr.MaxEVDQLen, n.attr.MaxIOVSegmentsPerDTO)
	return n, nil
}

// Free closes the adapter. Objects that still exist on it are a fault; the error names them.
func (n *node) Free() error {
	if n == nil {
		return nil
	}
	err := n.ia.Close(udat.CloseGraceful)
	if err != nil && !errors.Is(err, udat.ErrClosed) {
		err = errors.Join(err, n.ia.Close(udat.CloseAbrupt))
	}
	return err
}

// buffers is registered memory in pieces of one size.
type buffers struct {
	lmr  *udat.LMR
	size int
}

func newBuffers(pz *udat.PZ, size, count int) (*buffers, error) {
	lmr, err := udat.AllocMemory(pz, size*count, udat.MemPrivAll)
	if err != nil {
		return nil, err
	}
	return &buffers{lmr, size}, nil
}

func (b *buffers) bytes(i int) []byte { return b.lmr.Bytes()[i*b.size:][:b.size] }

// segments returns the first pieces.
func (b *buffers) segments(count int) ([]udat.Segment, error) {
	iov := make([]udat.Segment, count)
	for i := range iov {
		var err error
		if iov[i], err = b.lmr.Segment(i*b.size, b.size); err != nil {
			return nil, err
		}
	}
	return iov, nil
}

// Free frees the memory.
func (b *buffers) Free() error {
	if b == nil {
		return nil
	}
	return b.lmr.Free()
}

// object is anything that can be freed.
type object interface{ Free() error }

// free frees objects in that order, if they exist. It continues after errors.
func free(objects ...object) error {
	var errs []error
	for _, o := range objects {
		if o == nil {
			continue
		}
		if err := o.Free(); !errors.Is(err, udat.ErrInvalidHandle) || errors.Is(err, udat.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// take takes the next event, which must not be a failure.
func take(ctx context.Context, evd *udat.EVD) (udat.Event, error) {
	event, err := evd.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		// The end of a connection can be reported before the last completion.
		if last, lastErr := evd.Dequeue(); lastErr == nil {
			event, err = last, nil
		}
	}
	if err != nil {
		return event, err
	}
	return event, event.Err()
}

// pollBudget is how long a program polls for an event before it lets others run.
const pollBudget = 50 * time.Microsecond

// poll is take with polling.
func poll(ctx context.Context, evd *udat.EVD) (udat.Event, error) {
	var events [1]udat.Event
	for {
		n, err := evd.SpinPoll(events[:], pollBudget)
		switch {
		case err != nil:
			return events[0], err
		case n == 1:
			return events[0], events[0].Err()
		case ctx.Err() != nil:
			return events[0], context.Cause(ctx)
		}
	}
}

// errSilent is the cause of a context that bounds a wait for a peer.
var errSilent = fmt.Errorf("the peer has sent nothing for %v", patience)

func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, errSilent)
}
