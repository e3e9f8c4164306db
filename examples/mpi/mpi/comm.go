package mpi

import "math"

// Comm is a communicator: all ranks, with messages that are separate from those of all other communicators. All ranks
// must call Dup and the collective operations in the same order, each from one goroutine at a time. Any goroutine may
// make the other calls.
type Comm struct {
	world *World
	id    uint32

	// The world's mu guards the fields below, except scratch.
	sequence int    // of the next collective operation, or of the one under way
	running  string // its name, "" if none is under way
	tag      int    // its tag
	scratch  []uint64
}

// Rank returns the number of this process.
func (c *Comm) Rank() int { return c.world.rank }

// Size returns how many ranks there are.
func (c *Comm) Size() int { return len(c.world.peers) }

// Collective operations have a context of their own, so that their messages do not match the program's receives.
func (c *Comm) userContext() uint32       { return 2 * c.id }
func (c *Comm) collectiveContext() uint32 { return 2*c.id + 1 }

// Dup returns another communicator. All ranks must call it.
func (c *Comm) Dup() (*Comm, error) {
	w, id := c.world, []uint32{0}
	if w.rank == 0 { // so that goroutines can create several at the same time
		id[0] = w.commID()
	}
	if err := Bcast(c, id, 0); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.comm(id[0]), nil
}

// commID returns an id that no communicator has.
func (w *World) commID() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.made++; w.made > math.MaxUint32/2 { // see userContext
			w.made = 1 // ids of windows that were freed
		}
		if w.comms[w.made] == nil {
			return w.made
		}
	}
}

// comm creates a communicator. The caller holds mu.
func (w *World) comm(id uint32) *Comm {
	c := &Comm{world: w, id: id}
	w.comms[id] = c
	return c
}

// forget frees the communicator of a window.
func (c *Comm) forget() {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.comms, c.id)
	delete(w.handlers, c.userContext())
	for _, context := range []uint32{c.userContext(), c.collectiveContext()} {
		for _, m := range w.matcher.messages(context) {
			w.matcher.forget(m)
			w.release(m)
			if m.from != nil {
				m.from.acknowledge(m.offer)
			}
		}
	}
}
