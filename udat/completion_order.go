package udat

// Requests complete in the order of posting: programs may rely on it, and the records of
// a direction do. Soft-iWARP completes an RDMA read when the peer has answered, and
// completes requests that were posted behind it before that. So on iWARP the binding
// keeps such completions until those before them have come.

// completionOrder restores the order of posting. It is guarded by the lock of the
// EVD.
type completionOrder struct {
	early  []earlyCompletion // by slot; nil for a direction whose completions come in order
	end    uint64            // behind the last operation that has completed
	failed bool              // an operation has, so that all behind it do
}

// earlyCompletion is the completion of an operation, which may have to wait.
type earlyCompletion struct {
	event  Event
	here   bool
	silent bool // not for the program
}

// begin starts to put the completions of a direction with the given number of slots in
// order.
func (o *completionOrder) begin(slots int) { o.early = make([]earlyCompletion, slots) }

// at returns the completion of an operation, nil if it has none yet.
func (o *completionOrder) at(sequence uint64) *earlyCompletion {
	if o.early == nil {
		return nil
	}
	if c := &o.early[sequence&uint64(len(o.early)-1)]; c.here {
		return c
	}
	return nil
}

// retireInOrder notes a completion, and queues those that are due with it. The
// caller holds the lock of the EVD.
func (d *direction) retireInOrder(evd *EVD, sequence uint64, event Event, silent bool) {
	o := &d.order
	retired := d.retired.Load()
	full := retired + (sequence-retired)&sequenceMask
	d.posted.Load() // what the poster has noted of these operations is there
	event.Cookie = d.slot(full).cookie
	o.early[full&uint64(len(o.early)-1)] = earlyCompletion{event, true, silent}
	o.end = max(o.end, full+1)
	for ; retired < o.end; retired++ {
		c := o.at(retired)
		if c == nil {
			if d.slot(retired).success != toNobody {
				break
			}
			continue // no read, so that it was done before the next
		}
		if due := o.settle(c); !c.silent {
			evd.enqueue(due) // where it takes room
		}
		*c = earlyCompletion{}
	}
	if d.counting {
		evd.room.Release(int(retired - d.retired.Load()))
	}
	d.retired.Store(retired)
}

// settle returns the completion as the program gets it. A success behind a failure
// only means that the adapter had handed the operation over before.
func (o *completionOrder) settle(c *earlyCompletion) Event {
	event := c.event
	switch {
	case event.Status != DTOSuccess:
		o.failed = true
	case o.failed:
		event.Status, event.Length = DTOErrFlushed, 0
	}
	return event
}
