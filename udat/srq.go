package udat

import (
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
	"github.com/goudat/goudat/udat/internal/sharedreceives"
)

// SRQ is a shared receive queue: receives that are posted there serve whichever
// of its endpoints a message comes to. Its methods may be called from any goroutine.
type SRQ struct {
	obj    object
	ia     *IA
	pz     *PZ
	attr   SRQAttr
	number uint32 // in the adapter's table

	// mu is taken after the locks of EVDs.
	mu       lockorder.Mutex[srqRank]
	handle   cgo.SRQHandle // 0 once freed
	most     int           // receives that may be outstanding; attr.MaxRecvDTOs is more while Resize makes room for them
	slots    []sharedSlot
	unused   []uint32 // slots that hold no receive
	tracker  sharedreceives.Tracker
	lookAt   uint64   // look for lost receives when this one completes
	lost     []uint64 // cookies of those that were found, to be reported
	everLost int      // how many were found
	gathering
	outlets map[*EVD]*outlet
	counted []*EVD // EVDs that count their room; each outstanding receive has room on all of them
}

// sharedSlot is the record of a receive. Unlike those of an endpoint, they do
// not complete in the order of posting.
type sharedSlot struct {
	slot
	posted bool
	number uint64 // in the order of posting
}

// outlet is an EVD that completions of the queue come to.
type outlet struct {
	endpoints map[*nativeEP]*sharedreceives.Holder
	only      *nativeEP // the only endpoint, nil if there are several
}

func (srq *SRQ) object() *object {
	if srq == nil {
		return nil
	}
	return &srq.obj
}

// SRQAttr holds the attributes of a shared receive queue.
type SRQAttr struct {
	MaxRecvDTOs int // receives outstanding, 1 to IAAttr.MaxDTOPerEP
	MaxRecvIOV  int // segments of a receive, 1 to IAAttr.MaxIOVSegmentsPerDTO
	// LowWatermark is that of SetLowWatermark. The queue has no receives at first, so
	// that any but 0 is reported at once.
	LowWatermark int
}

// CreateSRQ creates a shared receive queue in a protection zone. Only memory of
// that zone can be posted, whatever the zone of the endpoints.
//
// Implements:
//
//	DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_PZ_HANDLE pz_handle,
//	                          IN DAT_SRQ_ATTR *srq_attr,
//	                          OUT DAT_SRQ_HANDLE *srq_handle)
func CreateSRQ(ia *IA, pz *PZ, attr SRQAttr) (*SRQ, error) {
	const op = "dat_srq_create"
	leave, err := enterAll(op, argument{ia.object(), InvalidHandleIA}, argument{pz.object(), InvalidHandlePZ})
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case pz.ia != ia:
		return nil, refuse(op, ErrInvalidHandle, InvalidHandlePZ, "the protection zone belongs to another adapter: create one on this")
	case attr.MaxRecvDTOs < 1 || attr.MaxRecvDTOs > ia.attr.MaxDTOPerEP:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "MaxRecvDTOs is %d, make it 1 to %d", attr.MaxRecvDTOs, ia.attr.MaxDTOPerEP)
	case attr.MaxRecvIOV < 1 || attr.MaxRecvIOV > ia.attr.MaxIOVSegmentsPerDTO:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "MaxRecvIOV is %d, make it 1 to %d", attr.MaxRecvIOV, ia.attr.MaxIOVSegmentsPerDTO)
	case attr.LowWatermark < 0 || attr.LowWatermark > attr.MaxRecvDTOs:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "LowWatermark is %d, make it 0 to MaxRecvDTOs, %d", attr.LowWatermark, attr.MaxRecvDTOs)
	}
	handle, r := createNativeSRQ(ia, pz, &attr)
	if err := checkMade(op, r); err != nil {
		return nil, err
	}
	srq := &SRQ{ia: ia, pz: pz, attr: attr, handle: handle, outlets: make(map[*EVD]*outlet)}
	number, ok := ia.srqs.Add(srq)
	if !ok {
		cgo.SRQFree(handle)
		return nil, refuse(op, ErrInsufficientResources, ResourceSRQ, "the adapter has as many shared receive queues as can be told apart: free some, or open another adapter")
	}
	srq.number = number
	srq.allow(attr.MaxRecvDTOs)
	srq.gathering = gathering{
		pz:      pz,
		owner:   srq,
		iov:     make([]cgo.LMRTriplet, 0, attr.MaxRecvIOV),
		regions: make([]*LMR, 0, attr.MaxRecvIOV),

		iwarp: ia.iwarp,
	}
	srq.obj.born("shared receive queue", InvalidStateSRQInUse, srq.Free, &ia.obj, &pz.obj)
	if attr.LowWatermark > 0 { // now that its event finds the queue
		if err := srq.SetLowWatermark(attr.LowWatermark); err != nil {
			_ = srq.Free()
			return nil, err
		}
	}
	return srq, nil
}

// PostRecv makes the memory of the segments ready for one message to any of the
// queue's endpoints. The memory belongs to the adapter until the completion,
// which carries cookie and comes to the receive EVD of the endpoint that the
// message came to. Receives are taken in the order of posting, and complete in
// any order. For errors see EP.PostRecv. A post does not allocate.
//
// A receive may complete on the receive EVD of any of the queue's endpoints. On
// each of those that are shorter than what their endpoints may have outstanding,
// it takes room: see CreateEVD.
//
// A post is accepted while fewer than MaxRecvDTOs receives are outstanding: see Resize.
//
// A receive that was taken for a message completes with DTOErrFlushed if the
// connection ends before the whole message has come. Soft-RoCE forgets such a
// receive since Linux 6.3. udat then completes it without an endpoint, as soon as
// a later receive has completed and no endpoint can have it: each endpoint that
// used the queue then was freed or reset, or has completed a later receive itself.
// udat knows the latter only if the endpoint has its receive EVD to itself. The
// completion comes to the receive EVD of one of the queue's endpoints. If all
// receives are forgotten, none is found, and after 256 that were found the queue
// takes fewer than MaxRecvDTOs: free it and create another.
//
// Implements:
//
//	DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle,
//	                             IN DAT_COUNT num_segments,
//	                             IN DAT_LMR_TRIPLET *local_iov,
//	                             IN DAT_DTO_COOKIE user_cookie)
func (srq *SRQ) PostRecv(iov []Segment, cookie uint64) error {
	const op = "dat_srq_post_recv"
	if srq == nil {
		return srq.object().enter(op, InvalidHandleSRQ)
	}
	full, err := srq.post(op, iov, cookie)
	for tried := []*EVD(nil); full != nil && !slices.Contains(tried, full); {
		tried = append(tried, full)
		full.tidy()
		full, err = srq.post(op, iov, cookie)
	}
	switch {
	case full != nil:
		return full.errNoRoom(op)
	case err != errNotReady:
		return err
	}
	// It is freed, or was never made.
	return srq.obj.refused(op, InvalidHandleSRQ, srq.obj.freed(op, InvalidHandleSRQ))
}

// post returns the EVD that has no room for the receive, if there is one.
func (srq *SRQ) post(op string, iov []Segment, cookie uint64) (full *EVD, err error) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	switch {
	case srq.handle == 0:
		return nil, errNotReady
	case len(iov) > srq.attr.MaxRecvIOV:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg2, "there are %d segments, the queue takes at most %d: post several receives, or raise SRQAttr.MaxRecvIOV", len(iov), srq.attr.MaxRecvIOV)
	case srq.outstanding() >= srq.most:
		return nil, refuse(op, ErrInsufficientResources, ResourceMemory, "all %d receives of the queue are outstanding: take completions, or call Resize", srq.most)
	}
	k := &kinds[opSharedReceive]
	srq.iov = srq.iov[:0]
	if _, err := srq.gather(k.call, iov, k.needs); err != nil {
		return nil, err
	}
	if full := srq.takeRoom(); full != nil {
		return full, nil
	}
	index := srq.unused[len(srq.unused)-1]
	if r := cgo.SRQPostRecv(srq.handle, srq.iov, srq.nativeCookie(index)); !r.OK() {
		giveRoom(srq.counted)
		return nil, check(op, r)
	}
	// If the completion is there already, taking it waits for mu.
	s := &srq.slots[index]
	s.cookie = cookie
	s.use(srq.regions)
	s.posted, s.number = true, srq.tracker.Post()
	srq.unused = srq.unused[:len(srq.unused)-1]
	return nil, nil
}

func (srq *SRQ) nativeCookie(index uint32) uint64 {
	return uint64(srq.number)<<numberShift | uint64(opSharedReceive)<<operationShift | uint64(index)
}

// retire notes the completion of a receive. It returns the program's cookie and,
// if only one endpoint uses the EVD that the completion came to, the endpoint, and
// how many receives are lost, which the caller is to report with takeLost.
func (srq *SRQ) retire(index uint64, evd *EVD) (cookie uint64, n *nativeEP, lost int) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	s := &srq.slots[index]
	cookie = s.cookie
	var holder *sharedreceives.Holder
	if o := srq.outlets[evd]; o != nil && o.only != nil {
		n, holder = o.only, o.endpoints[o.only]
	}
	if s.posted {
		srq.tracker.Complete(s.number, holder)
		srq.forget(uint32(index))
		if srq.tracker.Completed() >= srq.lookAt {
			srq.lookForLost()
		}
	}
	return cookie, n, len(srq.lost)
}

// forget frees the slot of a receive that is not outstanding any more.
func (srq *SRQ) forget(index uint32) {
	srq.slots[index].posted = false
	srq.unused = append(srq.unused, index)
	giveRoom(srq.counted)
}

// attach notes an endpoint that is not connected yet.
func (srq *SRQ) attach(n *nativeEP) {
	defer n.parts.recv.setSharedLimit(srq) // Resize may not have known it
	srq.mu.Lock()
	defer srq.mu.Unlock()
	evd := n.parts.recv
	o := srq.outlets[evd]
	if o == nil {
		o = &outlet{endpoints: make(map[*nativeEP]*sharedreceives.Holder)}
		srq.outlets[evd] = o
	}
	o.endpoints[n] = srq.tracker.Join()
	o.choose()
}

// detach notes that an endpoint has gone, whose completions were all seen.
func (srq *SRQ) detach(n *nativeEP) {
	evd := n.parts.recv
	srq.mu.Lock()
	o := srq.outlets[evd]
	srq.tracker.Leave(o.endpoints[n])
	delete(o.endpoints, n)
	o.choose()
	if len(o.endpoints) == 0 {
		delete(srq.outlets, evd)
	}
	srq.lookForLost()
	srq.mu.Unlock()
	for {
		event, ok := srq.takeLost()
		if !ok {
			return
		}
		evd.add(event)
	}
}

func (o *outlet) choose() {
	o.only = nil
	if len(o.endpoints) == 1 {
		for o.only = range o.endpoints {
		}
	}
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
// Implements:
//
//	DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle,
//	                         IN DAT_SRQ_PARAM_MASK srq_param_mask,
//	                         OUT DAT_SRQ_PARAM *srq_param)
func (srq *SRQ) Query() (SRQParam, error) {
	const op = "dat_srq_query"
	if err := srq.object().enter(op, InvalidHandleSRQ); err != nil {
		return SRQParam{}, err
	}
	defer srq.obj.leave()
	srq.mu.Lock()
	defer srq.mu.Unlock()
	var native cgo.SRQParam
	if err := check(op, cgo.SRQQuery(srq.handle, cgo.SRQFieldAll, &native)); err != nil {
		return SRQParam{}, err
	}
	// The native queue has places for lost receives, and counts those as outstanding.
	return SRQParam{IA: srq.ia, PZ: srq.pz, Attr: srq.attr, Outstanding: int(native.OutstandingDTOCount) - srq.everLost}, nil
}

// Free frees the queue with the receives that are posted to it, which do not
// complete. It fails with ErrInvalidState, and names them, while endpoints use
// the queue, and with ErrClosed the second time.
//
// Implements:
//
//	DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle)
func (srq *SRQ) Free() error {
	const op = "dat_srq_free"
	return srq.object().seal(op, InvalidHandleSRQ, func() error {
		srq.mu.Lock()
		defer srq.mu.Unlock()
		left, err := srq.obj.orphan(srq.ia, check(op, cgo.SRQFree(srq.handle)))
		if err != nil {
			return err
		}
		srq.handle = 0
		srq.known.leave(srq)
		srq.ia.srqs.Hide(srq.number)
		if !left {
			srq.ia.srqs.Release(srq.number)
		}
		return nil
	})
}
