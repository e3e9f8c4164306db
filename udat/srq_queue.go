package udat

import "github.com/goudat/goudat/cgo"

// A receive of a shared queue that is posted cannot wait for room. If an endpoint
// comes to an EVD that others use, and whose queue in the library is too short for
// the receives that are posted, its own complete in a queue apart. That has room for
// all receives of the shared queue, and is emptied at all times. From there they go
// to the program's EVD, in whose part of memory that is Go's there is room for any
// number.

// newReceiveEVD makes a queue whose completions go to the program's EVD.
func newReceiveEVD(op string, srq *SRQ, recv *EVD) (*EVD, error) {
	if srq.attr.MaxRecvDTOs > srq.ia.attr.MaxEVDQLen {
		return nil, recv.errNoRoom(op)
	}
	evd := newOwnEVD(srq.ia, EVDDTO)
	evd.kept, evd.onto = true, recv
	if err := evd.createNative(op, srq.attr.MaxRecvDTOs); err != nil {
		return nil, err
	}
	evd.obj.born("queue of shared receives", NoSubtype, evd.Free)
	evd.keepEmpty()
	return evd, nil
}

// adopt brings the completion of a shared receive to the EVD.
func (evd *EVD) adopt(raw *cgo.Event) {
	evd.mu.Lock()
	defer evd.unlock()
	var event Event
	if evd.decodeDTO(raw, &event, false) {
		evd.enqueue(event)
	}
}
