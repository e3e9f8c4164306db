package udat

import "github.com/goudat/goudat/cgo"

// EPState is the state of an endpoint.
type EPState = cgo.EPState

// The states of an endpoint.
const (
	EPStateUnconnected                EPState = cgo.EPStateUnconnected                // DAT_EP_STATE_UNCONNECTED
	EPStateUnconfiguredUnconnected    EPState = cgo.EPStateUnconfiguredUnconnected    // DAT_EP_STATE_UNCONFIGURED_UNCONNECTED
	EPStateReserved                   EPState = cgo.EPStateReserved                   // DAT_EP_STATE_RESERVED
	EPStateUnconfiguredReserved       EPState = cgo.EPStateUnconfiguredReserved       // DAT_EP_STATE_UNCONFIGURED_RESERVED
	EPStatePassiveConnectionPending   EPState = cgo.EPStatePassiveConnectionPending   // DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
	EPStateUnconfiguredPassive        EPState = cgo.EPStateUnconfiguredPassive        // DAT_EP_STATE_UNCONFIGURED_PASSIVE
	EPStateActiveConnectionPending    EPState = cgo.EPStateActiveConnectionPending    // DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
	EPStateTentativeConnectionPending EPState = cgo.EPStateTentativeConnectionPending // DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
	EPStateUnconfiguredTentative      EPState = cgo.EPStateUnconfiguredTentative      // DAT_EP_STATE_UNCONFIGURED_TENTATIVE
	EPStateConnected                  EPState = cgo.EPStateConnected                  // DAT_EP_STATE_CONNECTED
	EPStateDisconnectPending          EPState = cgo.EPStateDisconnectPending          // DAT_EP_STATE_DISCONNECT_PENDING
	EPStateDisconnected               EPState = cgo.EPStateDisconnected               // DAT_EP_STATE_DISCONNECTED
	EPStateCompletionPending          EPState = cgo.EPStateCompletionPending          // DAT_EP_STATE_COMPLETION_PENDING
)

// EventNumber names the kind of an event. ConnectionEvent and AsyncEvent are the
// parts of it that can be errors.
type EventNumber = cgo.EventNumber

// The kinds of events.
const (
	EventDTOCompletion                   EventNumber = cgo.EventDTOCompletion                   // DAT_DTO_COMPLETION_EVENT
	EventRMRBindCompletion               EventNumber = cgo.EventRMRBindCompletion               // DAT_RMR_BIND_COMPLETION_EVENT
	EventConnectionRequest               EventNumber = cgo.EventConnectionRequest               // DAT_CONNECTION_REQUEST_EVENT
	EventConnectionEstablished           EventNumber = cgo.EventConnectionEstablished           // DAT_CONNECTION_EVENT_ESTABLISHED
	EventConnectionPeerRejected          EventNumber = cgo.EventConnectionPeerRejected          // DAT_CONNECTION_EVENT_PEER_REJECTED
	EventConnectionNonPeerRejected       EventNumber = cgo.EventConnectionNonPeerRejected       // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	EventConnectionAcceptCompletionError EventNumber = cgo.EventConnectionAcceptCompletionError // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	EventConnectionDisconnected          EventNumber = cgo.EventConnectionDisconnected          // DAT_CONNECTION_EVENT_DISCONNECTED
	EventConnectionBroken                EventNumber = cgo.EventConnectionBroken                // DAT_CONNECTION_EVENT_BROKEN
	EventConnectionTimedOut              EventNumber = cgo.EventConnectionTimedOut              // DAT_CONNECTION_EVENT_TIMED_OUT
	EventConnectionUnreachable           EventNumber = cgo.EventConnectionUnreachable           // DAT_CONNECTION_EVENT_UNREACHABLE
	EventAsyncErrorEVDOverflow           EventNumber = cgo.EventAsyncErrorEVDOverflow           // DAT_ASYNC_ERROR_EVD_OVERFLOW
	EventAsyncErrorIACatastrophic        EventNumber = cgo.EventAsyncErrorIACatastrophic        // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	EventAsyncErrorEPBroken              EventNumber = cgo.EventAsyncErrorEPBroken              // DAT_ASYNC_ERROR_EP_BROKEN
	EventAsyncErrorTimedOut              EventNumber = cgo.EventAsyncErrorTimedOut              // DAT_ASYNC_ERROR_TIMED_OUT
	EventAsyncErrorProviderInternalError EventNumber = cgo.EventAsyncErrorProviderInternalError // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	EventHADownTo1                       EventNumber = cgo.EventHADownTo1                       // DAT_HA_DOWN_TO_1
	EventHAUpToMultiPath                 EventNumber = cgo.EventHAUpToMultiPath                 // DAT_HA_UP_TO_MULTI_PATH
	EventSoftware                        EventNumber = cgo.EventSoftware                        // DAT_SOFTWARE_EVENT
)

// ConnectionEvent is what happened to a connection: the EventNumber of a
// connection event as a type of its own. Those that are failures, Failure tells
// which, are errors to be matched with errors.Is; Event.Err gives them.
// ConnectionTimedOut matches os.ErrDeadlineExceeded and context.DeadlineExceeded too.
type ConnectionEvent = cgo.ConnectionEvent

// What happens to connections.
const (
	ConnectionEstablished           ConnectionEvent = cgo.ConnectionEstablished           // DAT_CONNECTION_EVENT_ESTABLISHED
	ConnectionPeerRejected          ConnectionEvent = cgo.ConnectionPeerRejected          // DAT_CONNECTION_EVENT_PEER_REJECTED
	ConnectionNonPeerRejected       ConnectionEvent = cgo.ConnectionNonPeerRejected       // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	ConnectionAcceptCompletionError ConnectionEvent = cgo.ConnectionAcceptCompletionError // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	ConnectionDisconnected          ConnectionEvent = cgo.ConnectionDisconnected          // DAT_CONNECTION_EVENT_DISCONNECTED
	ConnectionBroken                ConnectionEvent = cgo.ConnectionBroken                // DAT_CONNECTION_EVENT_BROKEN
	ConnectionTimedOut              ConnectionEvent = cgo.ConnectionTimedOut              // DAT_CONNECTION_EVENT_TIMED_OUT
	ConnectionUnreachable           ConnectionEvent = cgo.ConnectionUnreachable           // DAT_CONNECTION_EVENT_UNREACHABLE
)

// AsyncEvent is what happened on an adapter outside any call: the EventNumber of
// an asynchronous event as a type of its own. Those that are failures, Failure
// tells which, are errors to be matched with errors.Is; Event.Err gives them.
type AsyncEvent = cgo.AsyncEvent

// What happens on adapters.
const (
	AsyncErrorEVDOverflow           AsyncEvent = cgo.AsyncErrorEVDOverflow           // DAT_ASYNC_ERROR_EVD_OVERFLOW
	AsyncErrorIACatastrophic        AsyncEvent = cgo.AsyncErrorIACatastrophic        // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	AsyncErrorEPBroken              AsyncEvent = cgo.AsyncErrorEPBroken              // DAT_ASYNC_ERROR_EP_BROKEN
	AsyncErrorTimedOut              AsyncEvent = cgo.AsyncErrorTimedOut              // DAT_ASYNC_ERROR_TIMED_OUT
	AsyncErrorProviderInternalError AsyncEvent = cgo.AsyncErrorProviderInternalError // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	HADownTo1                       AsyncEvent = cgo.HADownTo1                       // DAT_HA_DOWN_TO_1
	HAUpToMultiPath                 AsyncEvent = cgo.HAUpToMultiPath                 // DAT_HA_UP_TO_MULTI_PATH
)

// DTO names a data transfer operation.
type DTO = cgo.DTO

// The data transfer operations.
const (
	DTOSend             DTO = cgo.DTOSend             // DAT_DTO_SEND
	DTORDMAWrite        DTO = cgo.DTORDMAWrite        // DAT_DTO_RDMA_WRITE
	DTORDMARead         DTO = cgo.DTORDMARead         // DAT_DTO_RDMA_READ
	DTOReceive          DTO = cgo.DTOReceive          // DAT_DTO_RECEIVE
	DTOBindMW           DTO = cgo.DTOBindMW           // DAT_DTO_BIND_MW
	DTOIBRDMAWriteImmed DTO = cgo.DTOIBRDMAWriteImmed // DAT_IB_DTO_RDMA_WRITE_IMMED
	DTOIBRecvImmed      DTO = cgo.DTOIBRecvImmed      // DAT_IB_DTO_RECV_IMMED
	DTOIBFetchAdd       DTO = cgo.DTOIBFetchAdd       // DAT_IB_DTO_FETCH_ADD
	DTOIBCmpSwap        DTO = cgo.DTOIBCmpSwap        // DAT_IB_DTO_CMP_SWAP
	DTOIBRecvMsgImmed   DTO = cgo.DTOIBRecvMsgImmed   // DAT_IB_DTO_RECV_MSG_IMMED
)

// DTOStatus is the outcome of a data transfer operation. Every value but
// DTOSuccess is an error to be matched with errors.Is.
type DTOStatus = cgo.DTOStatus

// The outcomes of data transfer operations.
const (
	DTOSuccess             DTOStatus = cgo.DTOSuccess             // DAT_DTO_SUCCESS
	DTOErrFlushed          DTOStatus = cgo.DTOErrFlushed          // DAT_DTO_ERR_FLUSHED
	DTOErrLocalLength      DTOStatus = cgo.DTOErrLocalLength      // DAT_DTO_ERR_LOCAL_LENGTH
	DTOErrLocalEP          DTOStatus = cgo.DTOErrLocalEP          // DAT_DTO_ERR_LOCAL_EP
	DTOErrLocalProtection  DTOStatus = cgo.DTOErrLocalProtection  // DAT_DTO_ERR_LOCAL_PROTECTION
	DTOErrBadResponse      DTOStatus = cgo.DTOErrBadResponse      // DAT_DTO_ERR_BAD_RESPONSE
	DTOErrRemoteAccess     DTOStatus = cgo.DTOErrRemoteAccess     // DAT_DTO_ERR_REMOTE_ACCESS
	DTOErrRemoteResponder  DTOStatus = cgo.DTOErrRemoteResponder  // DAT_DTO_ERR_REMOTE_RESPONDER
	DTOErrTransport        DTOStatus = cgo.DTOErrTransport        // DAT_DTO_ERR_TRANSPORT
	DTOErrReceiverNotReady DTOStatus = cgo.DTOErrReceiverNotReady // DAT_DTO_ERR_RECEIVER_NOT_READY
	DTOErrPartialPacket    DTOStatus = cgo.DTOErrPartialPacket    // DAT_DTO_ERR_PARTIAL_PACKET
	RMROperationFailed     DTOStatus = cgo.RMROperationFailed     // DAT_RMR_OPERATION_FAILED
	DTOErrLocalMMError     DTOStatus = cgo.DTOErrLocalMMError     // DAT_DTO_ERR_LOCAL_MM_ERROR
)

// CompletionFlags say how an operation completes. They are bits.
type CompletionFlags = cgo.CompletionFlags

// The completion flags.
const (
	CompletionDefault       CompletionFlags = cgo.CompletionDefault       // DAT_COMPLETION_DEFAULT_FLAG
	CompletionSuppress      CompletionFlags = cgo.CompletionSuppress      // DAT_COMPLETION_SUPPRESS_FLAG
	CompletionSolicitedWait CompletionFlags = cgo.CompletionSolicitedWait // DAT_COMPLETION_SOLICITED_WAIT_FLAG
	CompletionUnsignalled   CompletionFlags = cgo.CompletionUnsignalled   // DAT_COMPLETION_UNSIGNALLED_FLAG
	CompletionBarrierFence  CompletionFlags = cgo.CompletionBarrierFence  // DAT_COMPLETION_BARRIER_FENCE_FLAG
	CompletionEVDThreshold  CompletionFlags = cgo.CompletionEVDThreshold  // DAT_COMPLETION_EVD_THRESHOLD_FLAG
)

// CloseFlags say how a connection or an adapter is closed.
type CloseFlags = cgo.CloseFlags

// The close flags. CloseAbrupt is the default.
const (
	CloseAbrupt   CloseFlags = cgo.CloseAbrupt   // DAT_CLOSE_ABRUPT_FLAG
	CloseGraceful CloseFlags = cgo.CloseGraceful // DAT_CLOSE_GRACEFUL_FLAG
)

// EVDFlags name the event streams that may feed an EVD. They are bits.
type EVDFlags = cgo.EVDFlags

// The event streams.
const (
	EVDSoftware   EVDFlags = cgo.EVDSoftware   // DAT_EVD_SOFTWARE_FLAG
	EVDCR         EVDFlags = cgo.EVDCR         // DAT_EVD_CR_FLAG
	EVDDTO        EVDFlags = cgo.EVDDTO        // DAT_EVD_DTO_FLAG
	EVDConnection EVDFlags = cgo.EVDConnection // DAT_EVD_CONNECTION_FLAG
	EVDRMRBind    EVDFlags = cgo.EVDRMRBind    // DAT_EVD_RMR_BIND_FLAG
	EVDAsync      EVDFlags = cgo.EVDAsync      // DAT_EVD_ASYNC_FLAG
)

// PSPFlags say who makes the endpoint for a connection request. They are bits.
type PSPFlags = cgo.PSPFlags

// The flags of a public service point.
const (
	PSPConsumer PSPFlags = cgo.PSPConsumer // DAT_PSP_CONSUMER_FLAG
	PSPProvider PSPFlags = cgo.PSPProvider // DAT_PSP_PROVIDER_FLAG
)

// HandleType names a kind of object.
type HandleType = cgo.HandleType

// The kinds of objects.
const (
	HandleTypeCR  HandleType = cgo.HandleTypeCR  // DAT_HANDLE_TYPE_CR
	HandleTypeEP  HandleType = cgo.HandleTypeEP  // DAT_HANDLE_TYPE_EP
	HandleTypeEVD HandleType = cgo.HandleTypeEVD // DAT_HANDLE_TYPE_EVD
	HandleTypeIA  HandleType = cgo.HandleTypeIA  // DAT_HANDLE_TYPE_IA
	HandleTypeLMR HandleType = cgo.HandleTypeLMR // DAT_HANDLE_TYPE_LMR
	HandleTypePSP HandleType = cgo.HandleTypePSP // DAT_HANDLE_TYPE_PSP
	HandleTypePZ  HandleType = cgo.HandleTypePZ  // DAT_HANDLE_TYPE_PZ
	HandleTypeRMR HandleType = cgo.HandleTypeRMR // DAT_HANDLE_TYPE_RMR
	HandleTypeRSP HandleType = cgo.HandleTypeRSP // DAT_HANDLE_TYPE_RSP
	HandleTypeCNO HandleType = cgo.HandleTypeCNO // DAT_HANDLE_TYPE_CNO
	HandleTypeSRQ HandleType = cgo.HandleTypeSRQ // DAT_HANDLE_TYPE_SRQ
	HandleTypeCSP HandleType = cgo.HandleTypeCSP // DAT_HANDLE_TYPE_CSP
)

// EVDState is the state of an event dispatcher, in independent parts. They are bits.
type EVDState = cgo.EVDState

// The parts of an event dispatcher's state.
const (
	EVDStateEnabled    EVDState = cgo.EVDStateEnabled    // DAT_EVD_STATE_ENABLED
	EVDStateDisabled   EVDState = cgo.EVDStateDisabled   // DAT_EVD_STATE_DISABLED
	EVDStateWaitable   EVDState = cgo.EVDStateWaitable   // DAT_EVD_STATE_WAITABLE
	EVDStateUnwaitable EVDState = cgo.EVDStateUnwaitable // DAT_EVD_STATE_UNWAITABLE
)

// MemPriv holds memory privileges. They are bits.
type MemPriv = cgo.MemPriv

// The memory privileges.
const (
	MemPrivNone        MemPriv = cgo.MemPrivNone        // DAT_MEM_PRIV_NONE_FLAG
	MemPrivLocalRead   MemPriv = cgo.MemPrivLocalRead   // DAT_MEM_PRIV_LOCAL_READ_FLAG
	MemPrivRemoteRead  MemPriv = cgo.MemPrivRemoteRead  // DAT_MEM_PRIV_REMOTE_READ_FLAG
	MemPrivLocalWrite  MemPriv = cgo.MemPrivLocalWrite  // DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	MemPrivRemoteWrite MemPriv = cgo.MemPrivRemoteWrite // DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	MemPrivAll         MemPriv = cgo.MemPrivAll         // DAT_MEM_PRIV_ALL_FLAG

	// MemPrivIBRemoteAtomic is not part of MemPrivAll.
	MemPrivIBRemoteAtomic MemPriv = cgo.MemPrivIBRemoteAtomic // DAT_IB_MEM_PRIV_REMOTE_ATOMIC
)

// ServiceType is the transport service of an endpoint.
type ServiceType = cgo.ServiceType

// ServiceTypeRC is the reliable connection, the only service.
const ServiceTypeRC = cgo.ServiceTypeRC // DAT_SERVICE_TYPE_RC

// QOS is a quality of service.
type QOS = cgo.QOS

// QOSBestEffort is the only quality of service that a provider knows.
const QOSBestEffort = cgo.QOSBestEffort // DAT_QOS_BEST_EFFORT

// EPParamMask names the fields of EPParam that EP.Modify is to change. They are bits.
type EPParamMask = cgo.EPParamMask

// The fields of EPParam.
const (
	EPFieldIAHandle               EPParamMask = cgo.EPFieldIAHandle               // DAT_EP_FIELD_IA_HANDLE
	EPFieldEPState                EPParamMask = cgo.EPFieldEPState                // DAT_EP_FIELD_EP_STATE
	EPFieldComm                   EPParamMask = cgo.EPFieldComm                   // DAT_EP_FIELD_COMM
	EPFieldLocalIAAddressPtr      EPParamMask = cgo.EPFieldLocalIAAddressPtr      // DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR
	EPFieldLocalPortQual          EPParamMask = cgo.EPFieldLocalPortQual          // DAT_EP_FIELD_LOCAL_PORT_QUAL
	EPFieldRemoteIAAddressPtr     EPParamMask = cgo.EPFieldRemoteIAAddressPtr     // DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR
	EPFieldRemotePortQual         EPParamMask = cgo.EPFieldRemotePortQual         // DAT_EP_FIELD_REMOTE_PORT_QUAL
	EPFieldPZHandle               EPParamMask = cgo.EPFieldPZHandle               // DAT_EP_FIELD_PZ_HANDLE
	EPFieldRecvEVDHandle          EPParamMask = cgo.EPFieldRecvEVDHandle          // DAT_EP_FIELD_RECV_EVD_HANDLE
	EPFieldRequestEVDHandle       EPParamMask = cgo.EPFieldRequestEVDHandle       // DAT_EP_FIELD_REQUEST_EVD_HANDLE
	EPFieldConnectEVDHandle       EPParamMask = cgo.EPFieldConnectEVDHandle       // DAT_EP_FIELD_CONNECT_EVD_HANDLE
	EPFieldSRQHandle              EPParamMask = cgo.EPFieldSRQHandle              // DAT_EP_FIELD_SRQ_HANDLE
	EPFieldServiceType            EPParamMask = cgo.EPFieldServiceType            // DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE
	EPFieldMaxMessageSize         EPParamMask = cgo.EPFieldMaxMessageSize         // DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
	EPFieldMaxRDMASize            EPParamMask = cgo.EPFieldMaxRDMASize            // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE
	EPFieldQOS                    EPParamMask = cgo.EPFieldQOS                    // DAT_EP_FIELD_EP_ATTR_QOS
	EPFieldRecvCompletionFlags    EPParamMask = cgo.EPFieldRecvCompletionFlags    // DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
	EPFieldRequestCompletionFlags EPParamMask = cgo.EPFieldRequestCompletionFlags // DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS
	EPFieldMaxRecvDTOs            EPParamMask = cgo.EPFieldMaxRecvDTOs            // DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS
	EPFieldMaxRequestDTOs         EPParamMask = cgo.EPFieldMaxRequestDTOs         // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS
	EPFieldMaxRecvIOV             EPParamMask = cgo.EPFieldMaxRecvIOV             // DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV
	EPFieldMaxRequestIOV          EPParamMask = cgo.EPFieldMaxRequestIOV          // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV
	EPFieldMaxRDMAReadIn          EPParamMask = cgo.EPFieldMaxRDMAReadIn          // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN
	EPFieldMaxRDMAReadOut         EPParamMask = cgo.EPFieldMaxRDMAReadOut         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT
	EPFieldSRQSoftHW              EPParamMask = cgo.EPFieldSRQSoftHW              // DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW
	EPFieldMaxRDMAReadIOV         EPParamMask = cgo.EPFieldMaxRDMAReadIOV         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV
	EPFieldMaxRDMAWriteIOV        EPParamMask = cgo.EPFieldMaxRDMAWriteIOV        // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV
	EPFieldNumTransportAttr       EPParamMask = cgo.EPFieldNumTransportAttr       // DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR
	EPFieldTransportSpecificAttr  EPParamMask = cgo.EPFieldTransportSpecificAttr  // DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR
	EPFieldNumProviderAttr        EPParamMask = cgo.EPFieldNumProviderAttr        // DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR
	EPFieldProviderSpecificAttr   EPParamMask = cgo.EPFieldProviderSpecificAttr   // DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR
	EPFieldEPAttrAll              EPParamMask = cgo.EPFieldEPAttrAll              // DAT_EP_FIELD_EP_ATTR_ALL
	EPFieldAll                    EPParamMask = cgo.EPFieldAll                    // DAT_EP_FIELD_ALL
)
