package udat

import "cmp"

// The library cannot change its queue for completions while endpoints use it. So the
// first endpoint that comes to an EVD has it made long enough for all that the
// endpoint may have outstanding, for Resize to use, and for shared receives that are
// posted already, which cannot wait for room. The EVD itself keeps its length.

const (
	// mostAhead bounds by how much a queue is made longer for the operations of one
	// endpoint: the program may never post as many as it could.
	mostAhead = 4096

	// usualDTOs is what the providers' default is in each direction.
	usualDTOs = 16
)

// lengthenQueues makes the queues of an endpoint longer that nobody uses yet. They stay so
// long until the caller calls done, when the endpoint uses them, or was not made. It
// fails quietly: they have room for what the program has asked for.
func (p *epParts) lengthenQueues(op string, ia *IA) (done func()) {
	recv, request := p.recv, p.request
	recv.expectStreams(1) // first: Resize may be shortening them
	request.expectStreams(1)
	p.lengthenExpecting(op, ia)
	return func() {
		recv.expectStreams(-1)
		request.expectStreams(-1)
	}
}

func (p *epParts) lengthenExpecting(op string, ia *IA) {
	receives, requests := usualDTOs, usualDTOs
	if p.attr != nil {
		receives = min(cmp.Or(p.attr.MaxRecvDTOs, usualDTOs), mostAhead)
		requests = min(cmp.Or(p.attr.MaxRequestDTOs, usualDTOs), mostAhead)
	}
	if p.srq != nil {
		receives = p.srq.limit()
	}
	if p.recv == p.request {
		p.recv.lengthen(op, ia, receives+requests)
		return
	}
	p.recv.lengthen(op, ia, receives)
	p.request.lengthen(op, ia, requests)
}

func (evd *EVD) lengthen(op string, ia *IA, n int) {
	if evd == nil || ia == nil || !evd.isShorter(min(n, ia.attr.MaxEVDQLen)) {
		return
	}
	_ = whileBusy(func() error { return evd.tryLengthen(op, ia, min(n, ia.attr.MaxEVDQLen)) })
}

func (evd *EVD) tryLengthen(op string, ia *IA, n int) error {
	evd.obj.gate.Lock()
	defer evd.obj.gate.Unlock()
	if evd.obj.state != lifeAlive || evd.ia != ia || evd.flags&EVDDTO == 0 { // which is refused later
		return nil
	}
	evd.streams.mu.Lock() // Modify has an endpoint join without the gate
	defer evd.streams.mu.Unlock()
	if len(evd.streams.list) > 0 || evd.room.Native() >= n {
		return nil
	}
	evd.mu.Lock()
	defer evd.unlock()
	evd.drain()
	length := evd.length()
	err := evd.replace(op, n)
	if err == nil {
		evd.room.SetLength(length)
	}
	return err
}

// isShorter reports whether the library's queue is too short for n completions, and
// no endpoint uses it.
func (evd *EVD) isShorter(n int) bool { return evd.room.Native() < n && !evd.hasStreams() }
