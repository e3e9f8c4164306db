package cgo

// EPState is the state of an endpoint, DAT_EP_STATE.
type EPState uint32

const (
	EPStateUnconnected                EPState = 0  // DAT_EP_STATE_UNCONNECTED
	EPStateUnconfiguredUnconnected    EPState = 1  // DAT_EP_STATE_UNCONFIGURED_UNCONNECTED
	EPStateReserved                   EPState = 2  // DAT_EP_STATE_RESERVED
	EPStateUnconfiguredReserved       EPState = 3  // DAT_EP_STATE_UNCONFIGURED_RESERVED
	EPStatePassiveConnectionPending   EPState = 4  // DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
	EPStateUnconfiguredPassive        EPState = 5  // DAT_EP_STATE_UNCONFIGURED_PASSIVE
	EPStateActiveConnectionPending    EPState = 6  // DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
	EPStateTentativeConnectionPending EPState = 7  // DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
	EPStateUnconfiguredTentative      EPState = 8  // DAT_EP_STATE_UNCONFIGURED_TENTATIVE
	EPStateConnected                  EPState = 9  // DAT_EP_STATE_CONNECTED
	EPStateDisconnectPending          EPState = 10 // DAT_EP_STATE_DISCONNECT_PENDING
	EPStateDisconnected               EPState = 11 // DAT_EP_STATE_DISCONNECTED
	EPStateCompletionPending          EPState = 12 // DAT_EP_STATE_COMPLETION_PENDING
	EPStateConnectedSinglePath        EPState = 13 // DAT_EP_STATE_CONNECTED_SINGLE_PATH
	EPStateConnectedMultiPath         EPState = 14 // DAT_EP_STATE_CONNECTED_MULTI_PATH
)

// ServiceType is the transport service of an endpoint, DAT_SERVICE_TYPE.
type ServiceType uint32

const (
	ServiceTypeRC            ServiceType = 0 // DAT_SERVICE_TYPE_RC
	ServiceTypeIBUD          ServiceType = 1 // DAT_IB_SERVICE_TYPE_UD
	ServiceTypeExtensionBase ServiceType = 1 // DAT_SERVICE_TYPE_EXTENSION_BASE
)

// QOS is a quality of service, DAT_QOS.
type QOS uint32

const (
	QOSBestEffort     QOS = 0x00 // DAT_QOS_BEST_EFFORT
	QOSHighThroughput QOS = 0x01 // DAT_QOS_HIGH_THROUGHPUT
	QOSLowLatency     QOS = 0x02 // DAT_QOS_LOW_LATENCY
	QOSEconomy        QOS = 0x04 // DAT_QOS_ECONOMY
	QOSPremium        QOS = 0x08 // DAT_QOS_PREMIUM
)

// CompletionFlags say how an operation completes, DAT_COMPLETION_FLAGS. They are bits.
type CompletionFlags uint32

const (
	CompletionDefault            CompletionFlags = 0x00 // DAT_COMPLETION_DEFAULT_FLAG
	CompletionSuppress           CompletionFlags = 0x01 // DAT_COMPLETION_SUPPRESS_FLAG
	CompletionSolicitedWait      CompletionFlags = 0x02 // DAT_COMPLETION_SOLICITED_WAIT_FLAG
	CompletionUnsignalled        CompletionFlags = 0x04 // DAT_COMPLETION_UNSIGNALLED_FLAG
	CompletionBarrierFence       CompletionFlags = 0x08 // DAT_COMPLETION_BARRIER_FENCE_FLAG
	CompletionEVDThreshold       CompletionFlags = 0x10 // DAT_COMPLETION_EVD_THRESHOLD_FLAG
	CompletionLMRInvalidateFence CompletionFlags = 0x20 // DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG
)

// ConnectFlags modify a connect, DAT_CONNECT_FLAGS. They are bits.
type ConnectFlags uint32

const (
	ConnectDefault            ConnectFlags = 0x00 // DAT_CONNECT_DEFAULT_FLAG
	ConnectMultipathRequested ConnectFlags = 0x01 // DAT_CONNECT_MULTIPATH_REQUESTED_FLAG
	ConnectMultipathRequired  ConnectFlags = 0x02 // DAT_CONNECT_MULTIPATH_REQUIRED_FLAG
)

// CloseFlags say how a connection or an interface adapter is closed, DAT_CLOSE_FLAGS.
type CloseFlags uint32

const (
	CloseAbrupt   CloseFlags = 0x00 // DAT_CLOSE_ABRUPT_FLAG
	CloseGraceful CloseFlags = 0x01 // DAT_CLOSE_GRACEFUL_FLAG
)

// EPAttr holds the attributes of an endpoint, laid out as DAT_EP_ATTR.
type EPAttr struct {
	ServiceType              ServiceType     // service_type
	MaxMessageSize           uint32          // max_message_size
	MaxRDMASize              uint32          // max_rdma_size
	QOS                      QOS             // qos
	RecvCompletionFlags      CompletionFlags // recv_completion_flags
	RequestCompletionFlags   CompletionFlags // request_completion_flags
	MaxRecvDTOs              int32           // max_recv_dtos
	MaxRequestDTOs           int32           // max_request_dtos
	MaxRecvIOV               int32           // max_recv_iov
	MaxRequestIOV            int32           // max_request_iov
	MaxRDMAReadIn            int32           // max_rdma_read_in
	MaxRDMAReadOut           int32           // max_rdma_read_out
	SRQSoftHW                int32           // srq_soft_hw
	MaxRDMAReadIOV           int32           // max_rdma_read_iov
	MaxRDMAWriteIOV          int32           // max_rdma_write_iov
	EPTransportSpecificCount int32           // ep_transport_specific_count
	EPTransportSpecific      uintptr         // ep_transport_specific
	EPProviderSpecificCount  int32           // ep_provider_specific_count
	EPProviderSpecific       uintptr         // ep_provider_specific
}

// Comm names a communicator, laid out as DAT_COMM.
type Comm struct {
	Domain   int32 // domain
	Type     int32 // type
	Protocol int32 // protocol
}

// EPParam holds the parameters of an endpoint, laid out as DAT_EP_PARAM.
// The address pointers point into the library's memory: see SockAddrAt.
type EPParam struct {
	IAHandle           IAHandle  // ia_handle
	EPState            EPState   // ep_state
	Comm               Comm      // comm
	LocalIAAddressPtr  uintptr   // local_ia_address_ptr
	LocalPortQual      uint64    // local_port_qual
	RemoteIAAddressPtr uintptr   // remote_ia_address_ptr
	RemotePortQual     uint64    // remote_port_qual
	PZHandle           PZHandle  // pz_handle
	RecvEVDHandle      EVDHandle // recv_evd_handle
	RequestEVDHandle   EVDHandle // request_evd_handle
	ConnectEVDHandle   EVDHandle // connect_evd_handle
	SRQHandle          SRQHandle // srq_handle
	EPAttr             EPAttr    // ep_attr
}

// EPParamMask names fields of EPParam, DAT_EP_PARAM_MASK. They are bits.
type EPParamMask uint64

const (
	EPFieldIAHandle               EPParamMask = 0x00000001 // DAT_EP_FIELD_IA_HANDLE
	EPFieldEPState                EPParamMask = 0x00000002 // DAT_EP_FIELD_EP_STATE
	EPFieldComm                   EPParamMask = 0x00000004 // DAT_EP_FIELD_COMM
	EPFieldLocalIAAddressPtr      EPParamMask = 0x00000008 // DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR
	EPFieldLocalPortQual          EPParamMask = 0x00000010 // DAT_EP_FIELD_LOCAL_PORT_QUAL
	EPFieldRemoteIAAddressPtr     EPParamMask = 0x00000020 // DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR
	EPFieldRemotePortQual         EPParamMask = 0x00000040 // DAT_EP_FIELD_REMOTE_PORT_QUAL
	EPFieldPZHandle               EPParamMask = 0x00000080 // DAT_EP_FIELD_PZ_HANDLE
	EPFieldRecvEVDHandle          EPParamMask = 0x00000100 // DAT_EP_FIELD_RECV_EVD_HANDLE
	EPFieldRequestEVDHandle       EPParamMask = 0x00000200 // DAT_EP_FIELD_REQUEST_EVD_HANDLE
	EPFieldConnectEVDHandle       EPParamMask = 0x00000400 // DAT_EP_FIELD_CONNECT_EVD_HANDLE
	EPFieldSRQHandle              EPParamMask = 0x00000800 // DAT_EP_FIELD_SRQ_HANDLE
	EPFieldServiceType            EPParamMask = 0x00001000 // DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE
	EPFieldMaxMessageSize         EPParamMask = 0x00002000 // DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
	EPFieldMaxRDMASize            EPParamMask = 0x00004000 // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE
	EPFieldQOS                    EPParamMask = 0x00008000 // DAT_EP_FIELD_EP_ATTR_QOS
	EPFieldRecvCompletionFlags    EPParamMask = 0x00010000 // DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
	EPFieldRequestCompletionFlags EPParamMask = 0x00020000 // DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS
	EPFieldMaxRecvDTOs            EPParamMask = 0x00040000 // DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS
	EPFieldMaxRequestDTOs         EPParamMask = 0x00080000 // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS
	EPFieldMaxRecvIOV             EPParamMask = 0x00100000 // DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV
	EPFieldMaxRequestIOV          EPParamMask = 0x00200000 // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV
	EPFieldMaxRDMAReadIn          EPParamMask = 0x00400000 // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN
	EPFieldMaxRDMAReadOut         EPParamMask = 0x00800000 // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT
	EPFieldSRQSoftHW              EPParamMask = 0x01000000 // DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW
	EPFieldMaxRDMAReadIOV         EPParamMask = 0x02000000 // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV
	EPFieldMaxRDMAWriteIOV        EPParamMask = 0x04000000 // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV
	EPFieldNumTransportAttr       EPParamMask = 0x08000000 // DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR
	EPFieldTransportSpecificAttr  EPParamMask = 0x10000000 // DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR
	EPFieldNumProviderAttr        EPParamMask = 0x20000000 // DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR
	EPFieldProviderSpecificAttr   EPParamMask = 0x40000000 // DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR
	EPFieldEPAttrAll              EPParamMask = 0x7ffff000 // DAT_EP_FIELD_EP_ATTR_ALL
	EPFieldAll                    EPParamMask = 0x7fffffff // DAT_EP_FIELD_ALL
)
