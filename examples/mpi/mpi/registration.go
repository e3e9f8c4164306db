package mpi

import "github.com/goudat/goudat/udat"

// registration is memory of the program that is registered for a long message.
type registration struct {
	*udat.Registration
	length int
}

// keptRegistered is how many bytes of the program's memory stay registered for its
// next message. The garbage collector frees none of them before others take their
// place.
const keptRegistered = 64 << 20

func newRegistrations(pz *udat.PZ) (*udat.RegistrationCache, error) {
	return udat.CreateRegistrationCache(pz, udat.RegistrationCacheLimits{IdleBytes: keptRegistered})
}

// register registers memory that a message is in, or is to come to, if it is not
// registered still.
func (w *World) register(memory []byte) (*registration, error) {
	privileges := udat.MemPrivLocalRead | udat.MemPrivLocalWrite | udat.MemPrivRemoteRead
	if w.iwarp {
		privileges |= udat.MemPrivRemoteWrite // adapters may want it of memory that is read into
	}
	r, err := w.registrations.Register(memory, privileges)
	if err != nil {
		return nil, err
	}
	return &registration{r, len(memory)}, nil
}

// triplet names all of the memory for the peer.
func (r *registration) triplet() (udat.RMRTriplet, error) {
	if r == nil {
		return udat.RMRTriplet{}, nil
	}
	return r.RMRTriplet(0, r.length)
}

// segment is a piece of the memory.
func (r *registration) segment(at, length int) (udat.Segment, error) { return r.Segment(at, length) }

// release says that the memory is used no more.
func (r *registration) release() error {
	if r == nil {
		return nil
	}
	return r.Release()
}
