package mpi

import (
	"fmt"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// receives is the memory that eager messages of all peers arrive in, posted to one shared receive queue. Each peer is
// granted some of the receives, and sends no more messages than that; the others are spare. When few are spare, more
// are added, up to a limit. Beyond that, peers that connect are granted none; their messages are then short, or
// offered.
type receives struct {
	srq   *udat.SRQ
	pool  *mem.BufferPool
	slots slots
	first int // what a new connection is granted
	most  int // receives
	spare int
}

const (
	// receivesAtOnce is how many receives are added at a time.
	receivesAtOnce = 16
	// lowWatermark is how many receives should be spare.
	lowWatermark = 8
	// firstGrant is how many receives a new connection is granted, and mostGranted how many one that is used can get.
	firstGrant  = 4
	mostGranted = 16

	// manyRanks is up to how many ranks the number of receives grows with them. With more ranks, there are
	// mostReceives in all, and a new connection is granted one while they last.
	manyRanks    = 64
	mostReceives = 128
)

// refill adds receives when few are spare.
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
	segment, err := r.slots[slot].Segment(0, slotSize)
	if err != nil {
		return err
	}
	return r.srq.PostRecv([]udat.Segment{segment}, uint64(slot))
}

// bytes returns the message that has arrived in a receive.
func (r *receives) bytes(slot, length int) ([]byte, error) {
	if slot >= len(r.slots) || length > slotSize {
		return nil, fmt.Errorf("%w: %d bytes in receive %d", errMalformed, length, slot)
	}
	return r.slots[slot].Bytes()[:length], nil
}

// grant is what a receiver has granted a peer.
type grant struct {
	total uint32 // since the connection began
	used  uint32 // messages that have arrived
}

// open returns how many messages the peer may still send.
func (g *grant) open() int { return int(g.total - g.used) }

// begin grants a new connection its first receives.
func (r *receives) begin(g *grant) {
	n := min(r.first, r.spare)
	r.spare -= n
	g.total += uint32(n)
}

// renew returns to a peer the receive that its message has used, and grants another one while there are many.
func (r *receives) renew(g *grant) {
	g.total++
	if g.open() < mostGranted && r.spare > lowWatermark {
		r.spare--
		g.total++
	}
}
