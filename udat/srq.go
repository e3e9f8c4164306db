package udat

import (
	"fmt"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
)

// SRQ is a shared receive queue: its receives serve all of its endpoints.
type SRQ struct {
	obj    object
	ia     *IA
	handle cgo.SRQHandle
	queue  workQueue
}

func (srq *SRQ) object() *object { return &srq.obj }

// SRQAttr holds the attributes of a shared receive queue.
type SRQAttr struct {
	MaxRecvDTOs  int // receives outstanding, 1 to IAAttr.MaxRecvPerSRQ
	MaxRecvIOV   int // segments of a receive, 1 to IAAttr.MaxIOVSegmentsPerDTO; a device may take fewer here
	LowWatermark int // see SetLowWatermark; any but 0 is reported at once, as there are no receives yet
}

// CreateSRQ creates a shared receive queue in a protection zone. Only memory of that zone can be
// posted, whatever the zone of the endpoints. It fails with ErrModelNotSupported if IAAttr.MaxSRQs
// is 0.
//
//	Implements: DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
//	    IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle)
func CreateSRQ(ia *IA, pz *PZ, attr SRQAttr) (*SRQ, error) {
	const op = "dat_srq_create"
	leave, err := enterAll(op, argument{objectOf(ia), InvalidHandleIA}, argument{objectOf(pz), InvalidHandlePZ})
	if err != nil {
		return nil, err
	}
	defer leave()
	if attr.LowWatermark < 0 || attr.LowWatermark > attr.MaxRecvDTOs {
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "LowWatermark is %d, make it 0 to MaxRecvDTOs, %d", attr.LowWatermark, attr.MaxRecvDTOs)
	}
	native := cgo.SRQAttr{MaxRecvDTOs: count(attr.MaxRecvDTOs), MaxRecvIOV: count(attr.MaxRecvIOV), LowWatermark: cgo.SRQLWDefault}
	handle, r := cgo.SRQCreate(ia.handle, pz.handle, &native)
	switch most := &ia.attr; {
	case r.Type() == cgo.ModelNotSupported:
		return nil, refuse(op, ErrModelNotSupported, NoSubtype, "the device %s has no shared receive queues: post receives to each endpoint instead", most.AdapterName)
	case r.Type() == cgo.InvalidParameter && r.Subtype() == cgo.InvalidArg3:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "MaxRecvDTOs is %d, make it 1 to %d, and MaxRecvIOV %d, make it 1 to %d, the limits of %s",
			attr.MaxRecvDTOs, most.MaxRecvPerSRQ, attr.MaxRecvIOV, most.MaxIOVSegmentsPerDTO, most.AdapterName)
	case r.Type() == cgo.InvalidParameter:
		return nil, withProblem(op, Return(r), fmt.Errorf("%w: MaxRecvDTOs %d and MaxRecvIOV %d, though each is within the limits of %s: ask for fewer segments, or fewer receives",
			device.ProblemRefusedAttributes, attr.MaxRecvDTOs, attr.MaxRecvIOV, ia.attr.AdapterName))
	}
	if err := checkCreate(op, r); err != nil {
		return nil, err
	}
	srq := &SRQ{ia: ia, handle: handle}
	srq.queue.handle, srq.queue.pz = cgo.Handle(handle), pz
	srq.obj.born("shared receive queue", cgo.Handle(handle), InvalidStateSRQInUse, srq.Free, &ia.obj.Object, &pz.obj.Object)
	ia.addObject(srq)
	if attr.LowWatermark > 0 { // now that its event finds the queue
		if err := srq.SetLowWatermark(attr.LowWatermark); err != nil {
			_ = srq.Free()
			return nil, err
		}
	}
	return srq, nil
}

// PostRecv posts memory for one message to any endpoint of the queue. Messages use receives in
// order of posting, which complete in any order. The memory belongs to the adapter until the
// completion, which carries cookie and goes to the receive EVD of the endpoint with the message.
// MaxRecvDTOs receives may be outstanding; see CreateEVD for the room that they take. For errors
// see EP.PostRecv. PostRecv does not allocate.
//
// If the connection ends within a message, its receive completes with DTOErrFlushed. Take that
// before EP.Free, which drops the completions of the endpoint. Soft-RoCE loses such a receive since
// Linux 6.3. It completes without an endpoint once every endpoint was created, reset or freed
// since, or has completed a later receive. If all receives are lost, free the queue and create
// another.
//
//	Implements: DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie)
func (srq *SRQ) PostRecv(iov []Segment, cookie uint64) error {
	const op = "dat_srq_post_recv"
	if srq == nil {
		return objectOf(srq).unusable(op, InvalidHandleSRQ)
	}
	q := &srq.queue
	q.mu.Lock()
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	err := q.add(&opSharedReceive, &Post{Segments: iov, Cookie: cookie}, argument{&srq.obj, InvalidHandleSRQ})
	if err == nil {
		if r := cgo.SRQPostRecv(srq.handle, q.iov, cookie); !r.OK() {
			err = q.refused(&opSharedReceive, len(q.iov), r)
		}
	}
	q.mu.Unlock()
	if err == nil {
		srq.ia.counters.Load().posted(1)
	}
	srq.ia.refusedPost(err)
	return err
}

// SRQParam holds the parameters of a shared receive queue.
type SRQParam struct {
	IA          *IA
	PZ          *PZ
	Attr        SRQAttr
	Outstanding int // receives that are posted and have not completed
}

// Query returns the parameters of the queue.
//
//	Implements: DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_SRQ_PARAM_MASK srq_param_mask, OUT DAT_SRQ_PARAM *srq_param)
func (srq *SRQ) Query() (SRQParam, error) {
	return query(objectOf(srq), "dat_srq_query", InvalidHandleSRQ, func() (SRQParam, cgo.Return) {
		var native cgo.SRQParam
		r := cgo.SRQQuery(srq.handle, cgo.SRQFieldAll, &native)
		attr := SRQAttr{MaxRecvDTOs: int(native.MaxRecvDTOs), MaxRecvIOV: int(native.MaxRecvIOV), LowWatermark: max(int(native.LowWatermark), 0)}
		return SRQParam{IA: srq.ia, PZ: srq.queue.pz, Attr: attr, Outstanding: int(native.OutstandingDTOCount)}, r
	})
}

// Resize changes how many receives may be outstanding: 1 to IAAttr.MaxRecvPerSRQ. It loses no
// receive. It changes nothing and fails with ErrInvalidState if more receives are outstanding,
// including those whose completions were not taken, or if the low watermark is higher; with
// ErrModelNotSupported if the device cannot, such as soft-iWARP.
//
//	Implements: DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle,
//	    IN DAT_COUNT srq_max_recv_dto)
func (srq *SRQ) Resize(maxRecvDTOs int) error {
	const op = "dat_srq_resize"
	if err := objectOf(srq).enter(op, InvalidHandleSRQ); err != nil {
		return err
	}
	defer srq.obj.Leave()
	srq.queue.mu.Lock()
	defer srq.queue.mu.Unlock()
	r := cgo.SRQResize(srq.handle, count(maxRecvDTOs))
	switch most := &srq.ia.attr; r.Type() {
	case cgo.InvalidParameter:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the queue is to take %d receives, make it 1 to %d, the limit of %s", maxRecvDTOs, most.MaxRecvPerSRQ, most.AdapterName)
	case cgo.ModelNotSupported:
		return refuse(op, ErrModelNotSupported, NoSubtype, "the device %s cannot resize shared receive queues: create another", most.AdapterName)
	}
	return checkState(op, r, "more receives are outstanding, or the low watermark is higher: take completions, or call SetLowWatermark")
}

// SetLowWatermark asks for one EventSRQLowWatermark on IA.AsyncEVD when fewer than lowWatermark
// receives are left for the endpoints: 0 (no event) to MaxRecvDTOs. The event comes at once, when
// an endpoint takes a receive, or when completions are taken. For another event call
// SetLowWatermark again.
//
//	Implements: DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark)
func (srq *SRQ) SetLowWatermark(lowWatermark int) error {
	const op = "dat_srq_set_lw"
	if err := objectOf(srq).enter(op, InvalidHandleSRQ); err != nil {
		return err
	}
	defer srq.obj.Leave()
	srq.queue.mu.Lock()
	defer srq.queue.mu.Unlock()
	r := cgo.SRQSetLW(srq.handle, count(lowWatermark))
	if r.Type() == cgo.InvalidParameter {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the low watermark is %d, make it 0 to MaxRecvDTOs", lowWatermark)
	}
	return check(op, r)
}

// Free frees the queue and its receives, which do not complete. It fails with ErrInvalidState while
// endpoints use the queue.
//
//	Implements: DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle)
func (srq *SRQ) Free() error {
	const op = "dat_srq_free"
	return objectOf(srq).seal(op, InvalidHandleSRQ, func() error {
		srq.queue.mu.Lock()
		defer srq.queue.mu.Unlock()
		err := check(op, cgo.SRQFree(srq.handle))
		if err == nil {
			srq.ia.removeObject(srq)
			srq.queue.handle = 0
		}
		return err
	})
}
