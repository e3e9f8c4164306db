package main

import (
	"encoding/binary"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// poster returns the function that posts the operations of a step. The cookie is the number of the request on the
// endpoint.
func (n *node) poster(s step, remote udat.RMRTriplet) (poster, error) {
	source, err := n.sourceSegment(s.Size)
	if err != nil {
		return nil, err
	}
	target, err := n.targetSegment(s.Size)
	if err != nil {
		return nil, err
	}
	old := make([]udat.Segment, n.shape.window)
	for i := range old {
		if old[i], err = n.memory.Segment(i*atomicSize, atomicSize); err != nil {
			return nil, err
		}
	}
	remote.SegmentLength = uint32(s.Size)
	l := n.data
	from, into := []udat.Segment{source}, []udat.Segment{target}
	last := &n.source(s.Size)[s.Size-1]
	counts := s.Operation == opWrite && s.halfRoundTrip(n.shape.wait)

	return func(i int) error {
		var err error
		switch s.Operation {
		case opSend:
			err = l.ep.PostSend(from, l.posted, 0)
		case opWrite:
			if counts {
				*last = byte(i + 1)
			}
			err = l.ep.PostRDMAWrite(from, l.posted, remote, 0)
		case opRead:
			err = l.ep.PostRDMARead(into, l.posted, remote, 0)
		case opFetchAdd:
			err = l.ep.PostFetchAndAdd(1, old[i%len(old)], l.posted, remote, 0)
		case opCmpSwap:
			// The adapter performs an endpoint's operations in order: each finds the value of the last one.
			err = l.ep.PostCmpAndSwap(uint64(i), uint64(i+1), old[i%len(old)], l.posted, remote, 0)
		}
		if err == nil {
			l.posted++
		}
		return err
	}, nil
}

// oldValue checks the old value of atomic operation i. For other operations it does nothing.
func (n *node) oldValue(s step, i int) error {
	if !s.Operation.atomic() {
		return nil
	}
	offset := i % n.shape.window * atomicSize
	if got := loadCounter(n.memory.Bytes()[offset:]); got != uint64(i) {
		return fmt.Errorf("operation %d found %d, expected %d", i, got, i)
	}
	return nil
}

// loadCounter reads a number in the byte order of atomic operations.
func loadCounter(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
