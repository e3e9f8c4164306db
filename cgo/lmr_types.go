package cgo

// MemPriv holds memory privileges, DAT_MEM_PRIV_FLAGS. They are bits.
type MemPriv uint32

const (
	MemPrivNone           MemPriv = 0x00 // DAT_MEM_PRIV_NONE_FLAG
	MemPrivLocalRead      MemPriv = 0x01 // DAT_MEM_PRIV_LOCAL_READ_FLAG
	MemPrivRemoteRead     MemPriv = 0x02 // DAT_MEM_PRIV_REMOTE_READ_FLAG
	MemPrivLocalWrite     MemPriv = 0x10 // DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	MemPrivRemoteWrite    MemPriv = 0x20 // DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	MemPrivAll            MemPriv = 0x33 // DAT_MEM_PRIV_ALL_FLAG
	MemPrivExtensionBase  MemPriv = 0x40 // DAT_MEM_PRIV_EXTENSION_BASE
	MemPrivIBRemoteAtomic MemPriv = 0x40 // DAT_IB_MEM_PRIV_REMOTE_ATOMIC
)

// VAType says how addresses of a region count, DAT_VA_TYPE.
type VAType uint32

const (
	VATypeVA VAType = 0 // DAT_VA_TYPE_VA
	VATypeZB VAType = 1 // DAT_VA_TYPE_ZB
)

// MemType is a kind of memory that can be registered, DAT_MEM_TYPE.
type MemType uint32

const (
	MemTypeVirtual       MemType = 0x00 // DAT_MEM_TYPE_VIRTUAL
	MemTypeLMR           MemType = 0x01 // DAT_MEM_TYPE_LMR
	MemTypeSharedVirtual MemType = 0x02 // DAT_MEM_TYPE_SHARED_VIRTUAL
)

// RegionDescription says what is to be registered, laid out as
// DAT_REGION_DESCRIPTION, a union: Address is the address of virtual memory, the
// handle of an LMR, or the address of shared memory, by MemType. SharedMemoryID
// is for shared memory alone, and is the address of LMRCookieSize bytes.
type RegionDescription struct {
	Address        uintptr // for_shared_memory.virtual_address
	SharedMemoryID uintptr // for_shared_memory.shared_memory_id
}

// LMRCookieSize is the number of bytes that name shared memory.
const LMRCookieSize = 40 // DAT_LMR_COOKIE_SIZE

// LMRParam holds the parameters of a registration, laid out as DAT_LMR_PARAM.
type LMRParam struct {
	IAHandle          IAHandle          // ia_handle
	MemType           MemType           // mem_type
	RegionDesc        RegionDescription // region_desc
	Length            uint64            // length
	PZHandle          PZHandle          // pz_handle
	MemPriv           MemPriv           // mem_priv
	VAType            VAType            // va_type
	LMRContext        uint32            // lmr_context
	RMRContext        uint32            // rmr_context
	RegisteredSize    uint64            // registered_size
	RegisteredAddress uint64            // registered_address
}

// LMRParamMask names fields of LMRParam, DAT_LMR_PARAM_MASK. They are bits.
type LMRParamMask uint32

const (
	LMRFieldIAHandle          LMRParamMask = 0x001 // DAT_LMR_FIELD_IA_HANDLE
	LMRFieldMemType           LMRParamMask = 0x002 // DAT_LMR_FIELD_MEM_TYPE
	LMRFieldRegionDesc        LMRParamMask = 0x004 // DAT_LMR_FIELD_REGION_DESC
	LMRFieldLength            LMRParamMask = 0x008 // DAT_LMR_FIELD_LENGTH
	LMRFieldPZHandle          LMRParamMask = 0x010 // DAT_LMR_FIELD_PZ_HANDLE
	LMRFieldMemPriv           LMRParamMask = 0x020 // DAT_LMR_FIELD_MEM_PRIV
	LMRFieldVAType            LMRParamMask = 0x040 // DAT_LMR_FIELD_VA_TYPE
	LMRFieldLMRContext        LMRParamMask = 0x080 // DAT_LMR_FIELD_LMR_CONTEXT
	LMRFieldRMRContext        LMRParamMask = 0x100 // DAT_LMR_FIELD_RMR_CONTEXT
	LMRFieldRegisteredSize    LMRParamMask = 0x200 // DAT_LMR_FIELD_REGISTERED_SIZE
	LMRFieldRegisteredAddress LMRParamMask = 0x400 // DAT_LMR_FIELD_REGISTERED_ADDRESS
	LMRFieldAll               LMRParamMask = 0x7ff // DAT_LMR_FIELD_ALL
)

// LMRTriplet names a piece of registered local memory, laid out as DAT_LMR_TRIPLET.
type LMRTriplet struct {
	VirtualAddress uint64 // virtual_address
	SegmentLength  uint32 // segment_length
	LMRContext     uint32 // lmr_context
}

// RMRTriplet names a piece of remote memory, laid out as DAT_RMR_TRIPLET.
type RMRTriplet struct {
	VirtualAddress uint64 // virtual_address
	SegmentLength  uint32 // segment_length
	RMRContext     uint32 // rmr_context
}
