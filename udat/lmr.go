package udat

import (
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

// LMR is a local memory region: memory that is registered with the adapter and
// pinned, so that it can be sent from, received into and, with the privileges
// for it, reached by the peer. Its methods may be called from any goroutine.
type LMR struct {
	obj        object
	pz         *PZ
	handle     cgo.LMRHandle
	lmrContext uint32
	rmrContext uint32
	privileges MemPriv
	memory     []byte
	pin        runtime.Pinner
	mapped     bool
	gone       atomic.Bool // freed, for posts, which do not open the gate
}

func (lmr *LMR) object() *object {
	if lmr == nil {
		return nil
	}
	return &lmr.obj
}

// RegisterMemory registers memory of the Go heap. The slice's memory is pinned
// until Free: the garbage collector neither moves nor frees it. Privileges for
// remote access need the local ones of the same kind.
//
// Implements:
//
//	DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_MEM_TYPE mem_type,
//	                          IN DAT_REGION_DESCRIPTION region_description,
//	                          IN DAT_VLEN length,
//	                          IN DAT_PZ_HANDLE pz_handle,
//	                          IN DAT_MEM_PRIV_FLAGS mem_privileges,
//	                          IN DAT_VA_TYPE va_type,
//	                          OUT DAT_LMR_HANDLE *lmr_handle,
//	                          OUT DAT_LMR_CONTEXT *lmr_context,
//	                          OUT DAT_RMR_CONTEXT *rmr_context,
//	                          OUT DAT_VLEN *registered_size,
//	                          OUT DAT_VADDR *registered_address)
func RegisterMemory(pz *PZ, memory []byte, privileges MemPriv) (*LMR, error) {
	lmr := &LMR{memory: memory}
	if len(memory) > 0 {
		lmr.pin.Pin(unsafe.SliceData(memory))
	}
	if err := lmr.register(pz, privileges); err != nil {
		lmr.pin.Unpin()
		return nil, err
	}
	return lmr, nil
}

// AllocMemory allocates size bytes of zeroed, page-aligned memory outside the
// Go heap and registers it. Free returns the memory to the system: the slice
// that Bytes gave must not be touched after that.
//
// Implements:
//
//	DAT_RETURN dat_lmr_create(...), see RegisterMemory
func AllocMemory(pz *PZ, size int, privileges MemPriv) (*LMR, error) {
	const op = "dat_lmr_create"
	if size <= 0 {
		return nil, refuse(op, ErrInvalidParameter, InvalidArg4, "the size is %d, it must be positive", size)
	}
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, &Error{Op: op, Return: cgo.ClassError | Return(ErrInsufficientResources) | Return(ResourceMemory), Err: err}
	}
	lmr := &LMR{memory: memory, mapped: true}
	if err := lmr.register(pz, privileges); err != nil {
		lmr.release()
		return nil, err
	}
	return lmr, nil
}

const knownPrivileges = MemPrivAll

func (lmr *LMR) register(pz *PZ, privileges MemPriv) error {
	const op = "dat_lmr_create"
	switch {
	case len(lmr.memory) == 0:
		return refuse(op, ErrInvalidParameter, InvalidArg4, "the memory is empty")
	case privileges == 0 || privileges&^knownPrivileges != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "the privileges are %v, they must be some of %v", privileges, knownPrivileges)
	case privileges&MemPrivRemoteWrite != 0 && privileges&MemPrivLocalWrite == 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "remote write needs local write, the privileges are %v", privileges)
	}
	if err := pz.object().enter(op, InvalidHandlePZ); err != nil {
		return err
	}
	defer pz.obj.leave()

	address := uintptr(unsafe.Pointer(unsafe.SliceData(lmr.memory)))
	handle, lmrContext, rmrContext, _, r := cgo.LMRCreateVirtual(pz.ia.handle, address, uint64(len(lmr.memory)), pz.handle, privileges, cgo.VATypeVA)
	if !r.OK() {
		err := &Error{Op: op, Return: r}
		if r.Type() == ErrInsufficientResources {
			err.Detail = "the memory could not be pinned: is the limit on locked memory (ulimit -l) high enough, and may the memory be written?"
		}
		return err
	}
	lmr.pz, lmr.handle, lmr.privileges = pz, handle, privileges
	lmr.lmrContext, lmr.rmrContext = lmrContext, rmrContext
	lmr.obj.born("memory region", InvalidStateLMRInUse, lmr.Free, &pz.obj, &pz.ia.obj)
	return nil
}

func (lmr *LMR) release() {
	lmr.pin.Unpin()
	if lmr.mapped {
		// The memory came from Mmap whole, so that this cannot fail.
		_ = syscall.Munmap(lmr.memory)
	}
}

// Bytes gives the registered memory. It is nil once the region is freed.
func (lmr *LMR) Bytes() []byte {
	if lmr.object().enter("dat_lmr_query", InvalidHandleLMR) != nil {
		return nil
	}
	defer lmr.obj.leave()
	return lmr.memory
}

// Free ends the registration and the pinning. Operations that are still posted
// on the memory fail; they never reach it.
//
// Implements:
//
//	DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle)
func (lmr *LMR) Free() error {
	const op = "dat_lmr_free"
	return lmr.object().seal(op, InvalidHandleLMR, func() error {
		if err := check(op, cgo.LMRFree(lmr.handle)); err != nil {
			return err
		}
		lmr.gone.Store(true)
		lmr.release()
		return nil
	})
}

// Segment is a piece of a registered region, for the local side of an
// operation. The zero Segment is a piece without bytes.
type Segment struct {
	lmr     *LMR
	triplet cgo.LMRTriplet
}

// Len gives the number of bytes.
func (s Segment) Len() int { return int(s.triplet.SegmentLength) }

// Segment gives the piece of length bytes that starts at offset.
func (lmr *LMR) Segment(offset, length int) (Segment, error) {
	address, err := lmr.piece(offset, length)
	if err != nil {
		return Segment{}, err
	}
	return Segment{lmr: lmr, triplet: cgo.LMRTriplet{
		VirtualAddress: address,
		SegmentLength:  uint32(length),
		LMRContext:     lmr.lmrContext,
	}}, nil
}

// RMRTriplet names remote memory, for the remote side of an RDMA operation. The
// peer makes it with LMR.RMRTriplet and sends it over, for example with
// AppendBinary.
type RMRTriplet = cgo.RMRTriplet

// RMRTriplet names the piece of length bytes that starts at offset, for a peer
// that is to read or write it. The region must have been registered with the
// remote privileges for that.
func (lmr *LMR) RMRTriplet(offset, length int) (RMRTriplet, error) {
	address, err := lmr.piece(offset, length)
	if err != nil {
		return RMRTriplet{}, err
	}
	return RMRTriplet{VirtualAddress: address, SegmentLength: uint32(length), RMRContext: lmr.rmrContext}, nil
}

// piece gives the address of a piece that lies inside the region.
func (lmr *LMR) piece(offset, length int) (uint64, error) {
	const op = "dat_lmr_query"
	if err := lmr.object().enter(op, InvalidHandleLMR); err != nil {
		return 0, err
	}
	defer lmr.obj.leave()
	size := len(lmr.memory)
	if offset < 0 || length < 0 || offset > size || length > size-offset || int64(length) > math.MaxUint32 {
		return 0, refuse(op, ErrInvalidParameter, InvalidArg2,
			"the piece of %d bytes at offset %d is not inside the region of %d bytes", length, offset, size)
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(lmr.memory)))) + uint64(offset), nil
}
