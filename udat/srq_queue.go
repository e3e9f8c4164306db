package udat

import "github.com/goudat/goudat/cgo"

// A receive that is posted to a shared queue cannot wait for room. So if an EVD that
// others use has too little room in the library for the receives that are posted, the
// receives of another endpoint there complete in a separate queue. That queue has room
// for all receives of the shared queue, and is always emptied. The completions go on to
// the backlog of the program's EVD, which has room for any number.

// newReceiveEVD makes a queue whose completions go to the program's EVD.
func newReceiveEVD(op string, srq *SRQ, recv *EVD) (*EVD, error) {
	length := srq.limit()
	if length > srq.ia.attr.MaxEVDQLen {
		return nil, recv.errNoRoom(op)
	}
	evd := newOwnEVD(srq.ia, EVDDTO)
	evd.selfEmptying, evd.onto = true, recv
	if err := evd.createNative(op, length); err != nil {
		return nil, err
	}
	evd.obj.born("queue of shared receives", NoSubtype, evd.Free)
	evd.keepEmpty(cgo.SameSeat)
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
