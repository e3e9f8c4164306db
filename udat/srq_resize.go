package udat

import "github.com/goudat/goudat/cgo"

// Resize changes how many receives may be outstanding: 1 to IAAttr.MaxDTOPerEP. None is lost. It may be called at
// any time, also while endpoints use the queue and receives are posted and complete.
//
// It fails with ErrInvalidState, and changes nothing, if more receives are outstanding, those included whose
// completions were not taken, or if the low watermark is higher; with ErrModelNotSupported if the device cannot do it,
// as soft-iWARP.
//
// Implements:
//
//	DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle,
//	                          IN DAT_COUNT srq_max_recv_dto)
func (srq *SRQ) Resize(maxRecvDTOs int) error {
	const op = "dat_srq_resize"
	leave, err := srq.enterAlone(op)
	if err != nil {
		return err
	}
	defer leave()
	if most := srq.ia.attr.MaxDTOPerEP; maxRecvDTOs < 1 || maxRecvDTOs > most {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the queue is to take %d receives, make it 1 to %d", maxRecvDTOs, most)
	}
	former, err := srq.shrink(op, maxRecvDTOs)
	if err == nil {
		err = srq.resize(op, maxRecvDTOs)
	}
	if err != nil {
		maxRecvDTOs = former
	}
	srq.mu.Lock()
	srq.attr.MaxRecvDTOs = maxRecvDTOs
	srq.mu.Unlock()
	for _, evd := range srq.evds() { // before the receives can be posted that need the room
		evd.setSharedLimit(srq)
	}
	srq.mu.Lock()
	srq.allow(maxRecvDTOs)
	srq.mu.Unlock()
	return err
}

// enterAlone keeps other calls on the queue out, but for posts: nothing else changes its attributes, and no endpoint joins.
func (srq *SRQ) enterAlone(op string) (leave func(), err error) {
	if srq == nil {
		return nil, srq.object().enter(op, InvalidHandleSRQ)
	}
	srq.obj.gate.Lock()
	if srq.obj.state != lifeAlive {
		defer srq.obj.gate.Unlock()
		return nil, srq.obj.unusable(op, InvalidHandleSRQ)
	}
	return srq.obj.gate.Unlock, nil
}

// shrink allows no more receives than the queue will take, and returns how many it takes now.
func (srq *SRQ) shrink(op string, maxRecvDTOs int) (former int, err error) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	switch n, low := srq.outstanding(), srq.attr.LowWatermark; {
	case n > maxRecvDTOs:
		err = refuse(op, ErrInvalidState, NoSubtype, "%d receives of the queue are outstanding, and %d are to be: take completions first", n, maxRecvDTOs)
	case low > maxRecvDTOs:
		err = refuse(op, ErrInvalidState, NoSubtype, "the low watermark is %d, and the queue is to take %d receives: call SetLowWatermark first", low, maxRecvDTOs)
	default:
		srq.most = min(srq.most, maxRecvDTOs)
	}
	return srq.attr.MaxRecvDTOs, err
}

// resize has the library change its queues: those of shared receives first, which may be longer than they need to be.
func (srq *SRQ) resize(op string, maxRecvDTOs int) error {
	for _, evd := range srq.separateQueues() {
		if evd.room.Native() >= maxRecvDTOs {
			continue
		}
		if err := check(op, cgo.EVDResize(evd.handle, int32(maxRecvDTOs))); err != nil {
			return err
		}
		evd.room.SetNative(maxRecvDTOs)
	}
	r := cgo.SRQResize(srq.handle, nativeReceives(srq.ia, maxRecvDTOs))
	if r.Type() == cgo.ModelNotSupported {
		return refuse(op, ErrModelNotSupported, NoSubtype, "the device cannot resize shared receive queues: create another")
	}
	return check(op, r)
}

// separateQueues returns the queues of its own that receives complete in: see newReceiveEVD.
func (srq *SRQ) separateQueues() (queues []*EVD) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	for _, o := range srq.outlets {
		for n := range o.endpoints {
			if evd := n.parts.separateRecv; evd != nil {
				queues = append(queues, evd)
			}
		}
	}
	return queues
}

// allow lets so many receives be outstanding. The caller holds mu, or has the queue alone.
func (srq *SRQ) allow(maxRecvDTOs int) {
	srq.most = maxRecvDTOs
	for i := len(srq.slots); i < maxRecvDTOs; i++ {
		srq.slots = append(srq.slots, sharedSlot{})
		srq.unused = append(srq.unused, uint32(i))
	}
}

// limit returns how many receives may be outstanding, or soon may.
func (srq *SRQ) limit() int {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	return srq.attr.MaxRecvDTOs
}

// setSharedLimit has the EVD reckon with as many receives of a shared queue as may be outstanding now.
func (evd *EVD) setSharedLimit(srq *SRQ) {
	s := &evd.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, former := srq.limit(), 0
	for d, f := range s.list {
		if f.srq == srq {
			former, f.limit = f.limit, limit
			s.list[d] = f
		}
	}
	if former != 0 {
		s.limits += limit - former
		evd.decideCounting(evd.length(), 0)
	}
}

// SetLowWatermark asks for one event when fewer receives than lowWatermark are left that no endpoint has taken: 0 to
// MaxRecvDTOs, 0 for none. It comes to the adapter's AsyncEVD, where Event.LowSRQ returns the queue: at once, when an
// endpoint takes a receive, or when completions that were taken show it. For another one call SetLowWatermark again.
//
// Implements:
//
//	DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle,
//	                          IN DAT_COUNT low_watermark)
func (srq *SRQ) SetLowWatermark(lowWatermark int) error {
	const op = "dat_srq_set_lw"
	leave, err := srq.enterAlone(op)
	if err != nil {
		return err
	}
	defer leave()
	if most := srq.limit(); lowWatermark < 0 || lowWatermark > most {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the low watermark is %d, make it 0 to MaxRecvDTOs, %d", lowWatermark, most)
	}
	if err := check(op, cgo.SRQSetLW(srq.handle, int32(lowWatermark))); err != nil {
		return err
	}
	srq.mu.Lock()
	srq.attr.LowWatermark = lowWatermark
	srq.mu.Unlock()
	return nil
}

// srqWithHandle returns the shared receive queue that an asynchronous event names.
func (ia *IA) srqWithHandle(handle cgo.SRQHandle) *SRQ {
	for _, srq := range ia.srqs.All() {
		if srq.handle == handle {
			return srq
		}
	}
	return nil
}

// LowSRQ returns the shared receive queue of an EventAsyncErrorProviderInternalError that says that it has fewer
// receives than its low watermark, see SRQ.SetLowWatermark; nil for any other event. DAT has no number of its own for
// this event. It is no error: Err returns nil.
func (e Event) LowSRQ() *SRQ {
	if e.more == nil {
		return nil
	}
	return e.more.lowSRQ
}
