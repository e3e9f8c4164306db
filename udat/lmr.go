package udat

import (
	"runtime"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/machine"
)

// LMR is a local memory region: memory that is registered with the adapter and pinned, for
// operations and, if its privileges allow that, for peers.
type LMR struct {
	pz             *PZ
	postPrivileges atomic.Uint32 // 0 once freed; posts do not enter the gate
	privileges     MemPriv
	obj            object
	handle         cgo.LMRHandle
	lmrContext     uint32
	rmrContext     uint32
	memory         []byte
	pin            *runtime.Pinner // of memory that Go manages
	mapping        []byte          // whole pages of memory outside the Go heap
	pagesTaken     atomic.Bool
}

func (lmr *LMR) object() *object { return &lmr.obj }

// RegisterMemory registers the memory of a slice, up to its length. Go memory is pinned until Free:
// the garbage collector neither moves nor frees it. Other memory must stay mapped until Free. A
// peer cannot reach other data in the same pages. Remote write needs local write. The pages must
// allow the privileges: the bytes of a string can be registered for reading only. If the memory
// cannot be registered, the error matches the Problem that was found.
//
//	Implements: DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
//	    IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
//	    IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS mem_privileges, IN DAT_VA_TYPE va_type,
//	    OUT DAT_LMR_HANDLE *lmr_handle, OUT DAT_LMR_CONTEXT *lmr_context,
//	    OUT DAT_RMR_CONTEXT *rmr_context, OUT DAT_VLEN *registered_size,
//	    OUT DAT_VADDR *registered_address)
func RegisterMemory(pz *PZ, memory []byte, privileges MemPriv) (*LMR, error) {
	lmr := &LMR{memory: memory[:len(memory):len(memory)]}
	if len(memory) > 0 {
		lmr.pin = new(runtime.Pinner)
		lmr.pin.Pin(&memory[0])
		pins.Store(lmr.pin, nil)
	}
	return lmr.register(pz, privileges)
}

const (
	registerOp      = "dat_lmr_create"
	knownPrivileges = MemPrivAll | MemPrivIBRemoteAtomic
)

// register completes a new region, or lets go of its memory.
func (lmr *LMR) register(pz *PZ, privileges MemPriv) (_ *LMR, err error) {
	const op = registerOp
	defer func() {
		if err != nil {
			lmr.release()
		}
	}()
	switch {
	case len(lmr.memory) == 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the memory is empty: it must have at least one byte")
	case privileges == 0 || privileges&^knownPrivileges != 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg6, "the privileges are %v, they must be some of MemPrivLocalRead, MemPrivLocalWrite, MemPrivRemoteRead, MemPrivRemoteWrite and MemPrivIBRemoteAtomic", privileges)
	case privileges&(MemPrivRemoteWrite|MemPrivIBRemoteAtomic) != 0 && privileges&MemPrivLocalWrite == 0:
		return nil, refuse(op, ErrInvalidParameter, InvalidArg6, "remote writes and atomic operations need local write: add MemPrivLocalWrite to the privileges, which are %v", privileges)
	}
	leave, err := enterAll(op, pz.arguments()...)
	if err != nil {
		return nil, err
	}
	defer leave()

	handle, lmrContext, rmrContext, _, r := cgo.LMRCreateVirtual(pz.ia.handle, uintptr(lmr.address()), uint64(len(lmr.memory)), pz.handle, cgo.MemPriv(privileges), cgo.VATypeVA)
	if r.Type() == cgo.InsufficientResources {
		return nil, withProblem(op, Return(r), machine.WhyNotPinned(lmr.address(), uint64(len(lmr.memory)), privileges.writing(), r.Subtype() == cgo.ResourceMemoryRegion))
	}
	if err := check(op, r); err != nil {
		return nil, err
	}
	lmr.pz, lmr.handle, lmr.privileges = pz, handle, privileges
	lmr.postPrivileges.Store(uint32(privileges))
	lmr.lmrContext, lmr.rmrContext = lmrContext, rmrContext
	lmr.obj.born("memory region", cgo.Handle(handle), InvalidStateLMRInUse, lmr.Free, &pz.obj.Object, &pz.ia.obj.Object)
	return lmr, nil
}

// writing names the privileges that let adapters write, "" for none.
func (p MemPriv) writing() string {
	if p &= MemPrivLocalWrite | MemPrivRemoteWrite | MemPrivIBRemoteAtomic; p != 0 {
		return p.String()
	}
	return ""
}

// Bytes returns the registered memory, or nil if the region is freed.
func (lmr *LMR) Bytes() []byte {
	if objectOf(lmr).enter("LMR.Bytes", InvalidHandleLMR) != nil {
		return nil
	}
	defer lmr.obj.Leave()
	return lmr.memory
}

// LMRParam holds the parameters of a memory region.
type LMRParam struct {
	IA         *IA
	PZ         *PZ
	Address    uint64 // virtual address of the first byte
	Length     int    // bytes, all of them registered
	Privileges MemPriv
	LMRContext uint32 // the local key
	RMRContext uint32 // the remote key, as in the RMRTriplet for a peer
}

// Query returns the parameters of the region.
//
//	Implements: DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle,
//	    IN DAT_LMR_PARAM_MASK lmr_param_mask, OUT DAT_LMR_PARAM *lmr_param)
func (lmr *LMR) Query() (LMRParam, error) {
	return query(objectOf(lmr), "dat_lmr_query", InvalidHandleLMR, func() (LMRParam, cgo.Return) {
		var native cgo.LMRParam
		r := cgo.LMRQuery(lmr.handle, cgo.LMRFieldAll, &native)
		return LMRParam{
			IA:         lmr.pz.ia,
			PZ:         lmr.pz,
			Address:    native.RegisteredAddress,
			Length:     int(native.RegisteredSize),
			Privileges: MemPriv(native.MemPriv),
			LMRContext: native.LMRContext,
			RMRContext: native.RMRContext,
		}, r
	})
}

func (lmr *LMR) address() uint64 { return addressOf(lmr.memory) }

// Free deregisters the memory and then unpins it. Outstanding operations on it fail, as in C, and end
// their connection: wait for their completions first. The status is DTOErrLocalProtection, or what
// the device takes the fault for. A peer that still uses the RMRTriplet gets DTOErrRemoteAccess.
// Free waits for requests that are being posted, and fails with ErrInvalidState while an RMR is
// bound to the memory.
//
//	Implements: DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle)
func (lmr *LMR) Free() error {
	const op = "dat_lmr_free"
	err := objectOf(lmr).seal(op, InvalidHandleLMR, func() error {
		lmr.postPrivileges.Store(0)
		r := cgo.LMRFree(lmr.handle)
		if !r.OK() {
			lmr.postPrivileges.Store(uint32(lmr.privileges))
		}
		return checkState(op, r, "a remote memory region is bound to the memory, or a bind of one is outstanding: bind that to something else, or free it")
	})
	if err == nil {
		lmr.release() // with the gate open: it waits for posts, and a bind may wait for the gate
	}
	return err
}

// SyncRDMARead makes what the program wrote to the segments visible to peers that read it. On the
// machines that providers support it does nothing.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func (ia *IA) SyncRDMARead(segments []Segment) error {
	return ia.sync("dat_lmr_sync_rdma_read", segments, cgo.LMRSyncRDMARead)
}

// SyncRDMAWrite makes what peers wrote to the segments visible to the program: see SyncRDMARead.
//
//	Implements: DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
//	    IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments)
func (ia *IA) SyncRDMAWrite(segments []Segment) error {
	return ia.sync("dat_lmr_sync_rdma_write", segments, cgo.LMRSyncRDMAWrite)
}

func (ia *IA) sync(op string, segments []Segment, native func(cgo.IAHandle, []cgo.LMRTriplet) cgo.Return) error {
	arguments := []argument{{objectOf(ia), InvalidHandleIA}}
	triplets := make([]cgo.LMRTriplet, len(segments))
	for i, s := range segments {
		triplets[i] = s.triplet
		arguments = append(arguments, argument{objectOf(s.lmr), InvalidHandleLMR})
	}
	leave, err := enterAll(op, arguments...)
	if err != nil {
		return err
	}
	defer leave()
	return check(op, native(ia.handle, triplets))
}
