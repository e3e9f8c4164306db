package mpi

import (
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// registration is memory of the program that is registered for a long message.
type registration struct {
	*mem.Registration
	length int
}

// keptRegistered is how many bytes of the program's memory stay registered for its next messages. The garbage
// collector cannot free this memory until other memory replaces it.
const keptRegistered = 64 << 20

func newRegistrations(pz *udat.PZ) (*mem.RegistrationCache, error) {
	return mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{IdleBytes: keptRegistered})
}

// register registers memory to send a message from or to receive one in, unless it still is registered.
func (w *World) register(memory []byte) (*registration, error) {
	privileges := udat.MemPrivLocalRead | udat.MemPrivLocalWrite | udat.MemPrivRemoteRead
	if w.iwarp {
		privileges |= udat.MemPrivRemoteWrite // adapters may require it of memory that is read into
	}
	r, err := w.registrations.Register(memory, privileges)
	if err != nil {
		return nil, err
	}
	return &registration{r, len(memory)}, nil
}

// triplet describes all of the memory to the peer.
func (r *registration) triplet() (udat.RMRTriplet, error) {
	if r == nil {
		return udat.RMRTriplet{}, nil
	}
	return r.RMRTriplet(0, r.length)
}

// segment returns a piece of the memory.
func (r *registration) segment(at, length int) (udat.Segment, error) { return r.Segment(at, length) }

// release says that the memory is no longer needed.
func (r *registration) release() error {
	if r == nil {
		return nil
	}
	return r.Release()
}
