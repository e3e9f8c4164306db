package mpi

import "github.com/goudat/goudat/udat"

// registration is memory of the program that is registered for a long message.
type registration struct {
	lmr *udat.LMR
}

// register registers memory that a message is in, or is to come to.
func (w *World) register(memory []byte) (*registration, error) {
	lmr, err := udat.RegisterMemory(w.pz, memory, udat.MemPrivLocalRead|udat.MemPrivLocalWrite|udat.MemPrivRemoteRead)
	if err != nil {
		return nil, err
	}
	return &registration{lmr}, nil
}

// triplet names all of the memory for the peer.
func (r *registration) triplet() (udat.RMRTriplet, error) {
	if r == nil {
		return udat.RMRTriplet{}, nil
	}
	return r.lmr.RMRTriplet(0, len(r.lmr.Bytes()))
}

// segment is a piece of the memory.
func (r *registration) segment(at, length int) (udat.Segment, error) {
	return r.lmr.Segment(at, length)
}

// release says that the memory is used no more.
func (r *registration) release() error {
	if r == nil {
		return nil
	}
	return r.lmr.Free()
}
