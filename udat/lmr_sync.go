package udat

import "github.com/goudat/goudat/cgo"

// SyncRDMARead makes what the program has written to the memory of the segments
// visible to peers that read it. On the machines that providers run on nothing
// needs to be done for that.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func (ia *IA) SyncRDMARead(segments []Segment) error {
	return ia.sync("dat_lmr_sync_rdma_read", segments, cgo.LMRSyncRDMARead)
}

// SyncRDMAWrite makes what peers have written to the memory of the segments
// visible to the program: see SyncRDMARead.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func (ia *IA) SyncRDMAWrite(segments []Segment) error {
	return ia.sync("dat_lmr_sync_rdma_write", segments, cgo.LMRSyncRDMAWrite)
}

func (ia *IA) sync(op string, segments []Segment, native func(cgo.IAHandle, []cgo.LMRTriplet) cgo.Return) error {
	if err := ia.object().enter(op, InvalidHandleIA); err != nil {
		return err
	}
	ia.obj.leave()
	arguments := []argument{{&ia.obj, InvalidHandleIA}}
	triplets := make([]cgo.LMRTriplet, len(segments))
	for i, s := range segments {
		triplets[i] = s.triplet
		if s.lmr == nil {
			continue
		}
		if s.lmr.pz.ia != ia {
			return refuse(op, ErrInvalidParameter, InvalidArg2, "segment %d belongs to another adapter: synchronize it there", i)
		}
		arguments = append(arguments, argument{&s.lmr.obj, InvalidHandleLMR})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return err
	}
	defer leave()
	return check(op, native(ia.handle, triplets))
}
