package mpi

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
)

// Comm is a communicator: some of the ranks, numbered from 0, whose messages are separate from those of all other
// communicators. All ranks of a communicator must call Split and the collective operations in the same order, each
// from one goroutine at a time. Any goroutine may make the other calls.
type Comm struct {
	world *World
	id    uint32
	group []int // ranks in the world
	rank  int
	freed atomic.Bool

	// The world's mu guards the fields below, except scratch.
	sequence int    // of the next collective operation, or of the one under way
	running  string // its name, "" if none is under way
	tag      int    // its tag
	scratch  []uint64
}

// Rank returns the number of this process in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size returns how many ranks the communicator has.
func (c *Comm) Size() int { return len(c.group) }

// Collective operations have a context of their own, so that their messages do not match the program's receives.
func (c *Comm) userContext() uint32       { return 2 * c.id }
func (c *Comm) collectiveContext() uint32 { return 2*c.id + 1 }

// status describes a message to the program.
func (c *Comm) status(element elementKind, length, source, tag int) Status {
	return Status{Source: c.rankOf(source), Tag: tag, Count: length / max(element.size(), 1)}
}

// rankOf returns the rank in the communicator of a rank in the world.
func (c *Comm) rankOf(rank int) int {
	if c.id == 0 {
		return rank
	}
	return slices.Index(c.group, rank)
}

// Undefined is a color for Split.
const Undefined = -1

// Split divides the ranks of c into new communicators: one for each color. Within one, ranks are in the order of
// their keys; ranks with equal keys are in the order that they have in c. A rank with the color Undefined gets nil.
// All ranks of c must call it.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if color < Undefined {
		return nil, badArgument("the color is %d; it must be 0 or more, or Undefined", color)
	}
	w := c.world
	w.mu.Lock()
	id := w.commID()
	w.mu.Unlock()
	mine := []int64{int64(color), int64(key), int64(id)}
	all := make([]int64, len(mine)*c.Size())
	if err := Allgather(c, mine, all); err != nil {
		return nil, err
	}
	type member struct {
		rank int // in c
		key  int64
		id   uint32
	}
	var members []member
	for rank := range c.Size() {
		theirs := all[rank*len(mine):][:len(mine)]
		if theirs[0] == int64(color) {
			members = append(members, member{rank, theirs[1], uint32(theirs[2])})
		}
	}
	if color == Undefined {
		return nil, nil
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	var group []int
	for _, m := range members {
		group = append(group, c.group[m.rank])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.comm(members[0].id, group), nil
}

// Free frees the communicator. All ranks must call it, and must have received all messages before. Calls on a communicator
// that was freed fail with ErrFreed. The World's own communicator cannot be freed.
func (c *Comm) Free() error {
	if c.id == 0 {
		return badArgument("the communicator of the World stays")
	}
	if err := Barrier(c); err != nil {
		return err
	}
	c.forget()
	return nil
}

// forget frees the communicator on this rank.
func (c *Comm) forget() {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	c.freed.Store(true)
	delete(w.comms, c.id)
	for _, context := range []uint32{c.userContext(), c.collectiveContext()} {
		delete(w.handlers, context)
		for _, m := range w.matcher.messages(context) {
			w.matcher.forget(m)
			w.release(m)
			w.discard(m)
		}
	}
}

// commID returns an id for a communicator whose first rank is this one. No other rank returns the same id, so that ranks
// can create several communicators at the same time. The caller holds mu.
func (w *World) commID() uint32 {
	const mostID = math.MaxUint32 / 2 // see userContext
	for {
		if w.made++; w.made > (mostID-w.rank)/len(w.peers) {
			w.made = 1 // ids of communicators that were freed
		}
		if id := uint32(w.made*len(w.peers) + w.rank); w.comms[id] == nil {
			return id
		}
	}
}

// Dup returns another communicator of the same ranks, whose messages are separate from those of c. All ranks of c
// must call it.
func (c *Comm) Dup() (*Comm, error) { return c.Split(0, c.rank) }

// comm creates a communicator. The caller holds mu.
func (w *World) comm(id uint32, group []int) *Comm {
	c := &Comm{world: w, id: id, group: group, rank: slices.Index(group, w.rank)}
	w.comms[id] = c
	return c
}
