package cgo

// Version of the API that dat_ia_open asks for, and the thread safety that it can get.
const (
	VersionMajor  = 2   // DAT_VERSION_MAJOR
	VersionMinor  = 0   // DAT_VERSION_MINOR
	ThreadSafe    = 0   // DAT_THREADSAFE
	NameMaxLength = 256 // DAT_NAME_MAX_LENGTH
)

// TimeoutInfinite is a time-out, in microseconds, that never ends.
const TimeoutInfinite uint32 = 0xffffffff // DAT_TIMEOUT_INFINITE

// IAAttr holds the attributes of an interface adapter, laid out as DAT_IA_ATTR.
type IAAttr struct {
	AdapterName                   [NameMaxLength]byte // adapter_name
	VendorName                    [NameMaxLength]byte // vendor_name
	HardwareVersionMajor          uint32              // hardware_version_major
	HardwareVersionMinor          uint32              // hardware_version_minor
	FirmwareVersionMajor          uint32              // firmware_version_major
	FirmwareVersionMinor          uint32              // firmware_version_minor
	IAAddressPtr                  uintptr             // ia_address_ptr
	MaxEPs                        int32               // max_eps
	MaxDTOPerEP                   int32               // max_dto_per_ep
	MaxRDMAReadPerEPIn            int32               // max_rdma_read_per_ep_in
	MaxRDMAReadPerEPOut           int32               // max_rdma_read_per_ep_out
	MaxEVDs                       int32               // max_evds
	MaxEVDQLen                    int32               // max_evd_qlen
	MaxIOVSegmentsPerDTO          int32               // max_iov_segments_per_dto
	MaxLMRs                       int32               // max_lmrs
	MaxLMRBlockSize               uint32              // max_lmr_block_size
	MaxLMRVirtualAddress          uint64              // max_lmr_virtual_address
	MaxPZs                        int32               // max_pzs
	MaxMessageSize                uint32              // max_message_size
	MaxRDMASize                   uint32              // max_rdma_size
	MaxRMRs                       int32               // max_rmrs
	MaxRMRTargetAddress           uint64              // max_rmr_target_address
	MaxSRQs                       int32               // max_srqs
	MaxEPPerSRQ                   int32               // max_ep_per_srq
	MaxRecvPerSRQ                 int32               // max_recv_per_srq
	MaxIOVSegmentsPerRDMARead     int32               // max_iov_segments_per_rdma_read
	MaxIOVSegmentsPerRDMAWrite    int32               // max_iov_segments_per_rdma_write
	MaxRDMAReadIn                 int32               // max_rdma_read_in
	MaxRDMAReadOut                int32               // max_rdma_read_out
	MaxRDMAReadPerEPInGuaranteed  uint32              // max_rdma_read_per_ep_in_guaranteed
	MaxRDMAReadPerEPOutGuaranteed uint32              // max_rdma_read_per_ep_out_guaranteed
	ZBSupported                   uint32              // zb_supported
	ExtensionSupported            Extension           // extension_supported
	ExtensionVersion              int32               // extension_version
	NumTransportAttr              int32               // num_transport_attr
	TransportAttr                 uintptr             // transport_attr
	NumVendorAttr                 int32               // num_vendor_attr
	VendorAttr                    uintptr             // vendor_attr
}

// IAAttrMask names fields of IAAttr, DAT_IA_ATTR_MASK. They are bits.
type IAAttrMask uint64

const (
	IAFieldNone IAAttrMask = 0x0          // DAT_IA_FIELD_NONE
	IAFieldAll  IAAttrMask = 0x3fffffffff // DAT_IA_FIELD_ALL
)

// Extension names a set of extensions, DAT_EXTENSION.
type Extension uint32

const (
	ExtensionNone Extension = 0 // DAT_EXTENSION_NONE
	ExtensionIB   Extension = 1 // DAT_EXTENSION_IB
	ExtensionIW   Extension = 2 // DAT_EXTENSION_IW
)

// IOVOwnership says who may touch a local IOV after a post, DAT_IOV_OWNERSHIP.
type IOVOwnership uint32

const (
	IOVConsumer      IOVOwnership = 0 // DAT_IOV_CONSUMER
	IOVProviderNomod IOVOwnership = 1 // DAT_IOV_PROVIDER_NOMOD
	IOVProviderMod   IOVOwnership = 2 // DAT_IOV_PROVIDER_MOD
)

// EPCreatorForPSP says when a service point creates endpoints, DAT_EP_CREATOR_FOR_PSP.
type EPCreatorForPSP uint32

const (
	PSPCreatesEPNever   EPCreatorForPSP = 0 // DAT_PSP_CREATES_EP_NEVER
	PSPCreatesEPIfasked EPCreatorForPSP = 1 // DAT_PSP_CREATES_EP_IFASKED
	PSPCreatesEPAlways  EPCreatorForPSP = 2 // DAT_PSP_CREATES_EP_ALWAYS
)

// PZSupport says whether protection zones can be shared, DAT_PZ_SUPPORT.
type PZSupport uint32

const (
	PZUnique    PZSupport = 0 // DAT_PZ_UNIQUE
	PZShareable PZSupport = 1 // DAT_PZ_SHAREABLE
)

// RMRScope says what an RMR can be bound to, DAT_RMR_SCOPE.
type RMRScope uint32

const (
	RMRScopeEP  RMRScope = 0 // DAT_RMR_SCOPE_EP
	RMRScopePZ  RMRScope = 1 // DAT_RMR_SCOPE_PZ
	RMRScopeAny RMRScope = 2 // DAT_RMR_SCOPE_ANY
)

// ProviderAttr holds the attributes of a provider, laid out as DAT_PROVIDER_ATTR.
type ProviderAttr struct {
	ProviderName                  [NameMaxLength]byte // provider_name
	ProviderVersionMajor          uint32              // provider_version_major
	ProviderVersionMinor          uint32              // provider_version_minor
	DaplVersionMajor              uint32              // dapl_version_major
	DaplVersionMinor              uint32              // dapl_version_minor
	LMRMemTypesSupported          MemType             // lmr_mem_types_supported
	IOVOwnershipOnReturn          IOVOwnership        // iov_ownership_on_return
	DatQOSSupported               QOS                 // dat_qos_supported
	CompletionFlagsSupported      CompletionFlags     // completion_flags_supported
	IsThreadSafe                  uint32              // is_thread_safe
	MaxPrivateDataSize            int32               // max_private_data_size
	SupportsMultipath             uint32              // supports_multipath
	EPCreator                     EPCreatorForPSP     // ep_creator
	PZSupport                     PZSupport           // pz_support
	OptimalBufferAlignment        uint32              // optimal_buffer_alignment
	EVDStreamMergingSupported     [6][6]uint32        // evd_stream_merging_supported
	SRQSupported                  uint32              // srq_supported
	SRQWatermarksSupported        int32               // srq_watermarks_supported
	SRQEPPZDifferenceSupported    uint32              // srq_ep_pz_difference_supported
	SRQInfoSupported              int32               // srq_info_supported
	EPRecvInfoSupported           int32               // ep_recv_info_supported
	LMRSyncReq                    uint32              // lmr_sync_req
	DTOAsyncReturnGuaranteed      uint32              // dto_async_return_guaranteed
	RDMAWriteForRDMAReadReq       uint32              // rdma_write_for_rdma_read_req
	RDMAReadLMRRMRContextExposure uint32              // rdma_read_lmr_rmr_context_exposure
	RMRScopeSupported             RMRScope            // rmr_scope_supported
	IsSignalSafe                  uint32              // is_signal_safe
	HASupported                   uint32              // ha_supported
	HALoadbalancing               uint32              // ha_loadbalancing
	NumProviderSpecificAttr       int32               // num_provider_specific_attr
	ProviderSpecificAttr          uintptr             // provider_specific_attr
}

// ProviderAttrMask names fields of ProviderAttr, DAT_PROVIDER_ATTR_MASK. They are bits.
type ProviderAttrMask uint64

const (
	ProviderFieldNone ProviderAttrMask = 0x0        // DAT_PROVIDER_FIELD_NONE
	ProviderFieldAll  ProviderAttrMask = 0x7fffffff // DAT_PROVIDER_FIELD_ALL
)

// ProviderInfo describes an entry of the registry, laid out as DAT_PROVIDER_INFO.
type ProviderInfo struct {
	IAName           [NameMaxLength]byte // ia_name
	DaplVersionMajor uint32              // dapl_version_major
	DaplVersionMinor uint32              // dapl_version_minor
	IsThreadSafe     uint32              // is_thread_safe
}
