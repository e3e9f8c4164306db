package mpi

import (
	"fmt"

	"github.com/goudat/goudat/udat"
)

// receives are the memory that eager messages of all peers arrive in, posted to
// one shared receive queue. Each peer is granted some of them, and sends no more:
// those that are not granted yet are spare. When few are spare, more are made, up
// to a limit, beyond which peers that ask for a connection are granted none; their
// messages are then short, or offered.
type receives struct {
	srq   *udat.SRQ
	pool  *udat.BufferPool
	slots slots
	first int // what a new connection is granted
	most  int // receives
	spare int
}

const (
	// receivesAtOnce is how many receives are made at a time.
	receivesAtOnce = 16
	// lowWatermark is how many receives should be spare.
	lowWatermark = 8
	// firstGrant is what a new connection is granted, and mostGranted what one that
	// is used grows to.
	firstGrant  = 4
	mostGranted = 16

	// manyRanks is how many may each have some. With more, mostReceives is how many
	// receives there are in all, and a new connection is granted one, while they last.
	manyRanks    = 64
	mostReceives = 128
)

// refill makes more receives when few are spare.
func (r *receives) refill() error {
	if r.spare >= lowWatermark || len(r.slots) >= r.most {
		return nil
	}
	more, err := newSlots(r.pool, receivesAtOnce)
	if err != nil {
		return err
	}
	first := len(r.slots)
	r.slots = append(r.slots, more...)
	for i := range more {
		if err := r.post(first + i); err != nil {
			return err
		}
	}
	r.spare += receivesAtOnce
	return nil
}

func (r *receives) post(slot int) error {
	segment, err := r.slots.segment(slot, slotSize)
	if err != nil {
		return err
	}
	return r.srq.PostRecv([]udat.Segment{segment}, uint64(slot))
}

// bytes returns what has arrived in a receive.
func (r *receives) bytes(slot, length int) ([]byte, error) {
	if slot >= len(r.slots) || length > slotSize {
		return nil, fmt.Errorf("%w: %d bytes in receive %d", errMalformed, length, slot)
	}
	return r.slots.bytes(slot)[:length], nil
}

// grant is what a receiver has granted a peer.
type grant struct {
	total uint32 // since the beginning
	used  uint32 // messages that have come
}

// open is how many messages may still come.
func (g *grant) open() int { return int(g.total - g.used) }

// begin grants a new connection its first receives.
func (r *receives) begin(g *grant) {
	n := min(r.first, r.spare)
	r.spare -= n
	g.total += uint32(n)
}

// renew gives a peer the receive back that its message took, and another one while
// there are many, as it makes use of them.
func (r *receives) renew(g *grant) {
	g.total++
	if g.open() < mostGranted && r.spare > lowWatermark {
		r.spare--
		g.total++
	}
}
