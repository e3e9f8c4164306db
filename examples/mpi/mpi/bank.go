package mpi

import "github.com/goudat/goudat/udat"

// bank has the event dispatchers that several endpoints share.
type bank struct {
	requests    *udat.EVD // completions of sends and of RDMA operations
	connections *udat.EVD
	used        int // endpoints that use it
}

// endpointsPerBank is how many endpoints share a bank. It leaves room for connection attempts that were given up.
const endpointsPerBank = 32

// bank returns a bank with room for another endpoint.
func (w *World) bank() (*bank, error) {
	for _, b := range w.banks {
		if b.used < endpointsPerBank {
			return b, nil
		}
	}
	n := min(endpointsPerBank, 2*len(w.peers)+2)
	b := &bank{}
	var err error
	if b.requests, err = w.dispatcher(n*w.attr.MaxRequestDTOs, udat.EVDDTO); err != nil {
		return nil, err
	}
	if b.connections, err = w.dispatcher(4*n, udat.EVDConnection); err != nil {
		return nil, err
	}
	b.used = endpointsPerBank - n
	w.banks = append(w.banks, b)
	return b, nil
}

// dispatcher creates an event dispatcher whose events wake a rank that sleeps.
func (w *World) dispatcher(length int, flags udat.EVDFlags) (*udat.EVD, error) {
	return udat.CreateEVDWithCNO(w.ia, length, w.cno, flags)
}
