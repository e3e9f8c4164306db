package udat

import (
	"context"
	"os"

	"github.com/goudat/goudat/cgo"
)

// EPState is the state of an endpoint.
type EPState uint32

// String returns the C name.
func (v EPState) String() string { return cgo.EPState(v).String() }

// The states of an endpoint.
const (
	EPStateUnconnected                EPState = EPState(cgo.EPStateUnconnected)                // DAT_EP_STATE_UNCONNECTED
	EPStateUnconfiguredUnconnected    EPState = EPState(cgo.EPStateUnconfiguredUnconnected)    // DAT_EP_STATE_UNCONFIGURED_UNCONNECTED
	EPStateReserved                   EPState = EPState(cgo.EPStateReserved)                   // DAT_EP_STATE_RESERVED
	EPStateUnconfiguredReserved       EPState = EPState(cgo.EPStateUnconfiguredReserved)       // DAT_EP_STATE_UNCONFIGURED_RESERVED
	EPStatePassiveConnectionPending   EPState = EPState(cgo.EPStatePassiveConnectionPending)   // DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
	EPStateUnconfiguredPassive        EPState = EPState(cgo.EPStateUnconfiguredPassive)        // DAT_EP_STATE_UNCONFIGURED_PASSIVE
	EPStateActiveConnectionPending    EPState = EPState(cgo.EPStateActiveConnectionPending)    // DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
	EPStateTentativeConnectionPending EPState = EPState(cgo.EPStateTentativeConnectionPending) // DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
	EPStateUnconfiguredTentative      EPState = EPState(cgo.EPStateUnconfiguredTentative)      // DAT_EP_STATE_UNCONFIGURED_TENTATIVE
	EPStateConnected                  EPState = EPState(cgo.EPStateConnected)                  // DAT_EP_STATE_CONNECTED
	EPStateDisconnectPending          EPState = EPState(cgo.EPStateDisconnectPending)          // DAT_EP_STATE_DISCONNECT_PENDING
	EPStateDisconnected               EPState = EPState(cgo.EPStateDisconnected)               // DAT_EP_STATE_DISCONNECTED
	EPStateCompletionPending          EPState = EPState(cgo.EPStateCompletionPending)          // DAT_EP_STATE_COMPLETION_PENDING
)

// EventNumber names the kind of an event. ConnectionEvent and AsyncEvent are the
// parts of it that can be errors.
type EventNumber uint32

// String returns the C name.
func (v EventNumber) String() string { return cgo.EventNumber(v).String() }

// The kinds of events.
const (
	EventDTOCompletion                   EventNumber = EventNumber(cgo.EventDTOCompletion)                   // DAT_DTO_COMPLETION_EVENT
	EventRMRBindCompletion               EventNumber = EventNumber(cgo.EventRMRBindCompletion)               // DAT_RMR_BIND_COMPLETION_EVENT
	EventConnectionRequest               EventNumber = EventNumber(cgo.EventConnectionRequest)               // DAT_CONNECTION_REQUEST_EVENT
	EventConnectionEstablished           EventNumber = EventNumber(cgo.EventConnectionEstablished)           // DAT_CONNECTION_EVENT_ESTABLISHED
	EventConnectionPeerRejected          EventNumber = EventNumber(cgo.EventConnectionPeerRejected)          // DAT_CONNECTION_EVENT_PEER_REJECTED
	EventConnectionNonPeerRejected       EventNumber = EventNumber(cgo.EventConnectionNonPeerRejected)       // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	EventConnectionAcceptCompletionError EventNumber = EventNumber(cgo.EventConnectionAcceptCompletionError) // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	EventConnectionDisconnected          EventNumber = EventNumber(cgo.EventConnectionDisconnected)          // DAT_CONNECTION_EVENT_DISCONNECTED
	EventConnectionBroken                EventNumber = EventNumber(cgo.EventConnectionBroken)                // DAT_CONNECTION_EVENT_BROKEN
	EventConnectionTimedOut              EventNumber = EventNumber(cgo.EventConnectionTimedOut)              // DAT_CONNECTION_EVENT_TIMED_OUT
	EventConnectionUnreachable           EventNumber = EventNumber(cgo.EventConnectionUnreachable)           // DAT_CONNECTION_EVENT_UNREACHABLE
	EventAsyncErrorEVDOverflow           EventNumber = EventNumber(cgo.EventAsyncErrorEVDOverflow)           // DAT_ASYNC_ERROR_EVD_OVERFLOW
	EventAsyncErrorIACatastrophic        EventNumber = EventNumber(cgo.EventAsyncErrorIACatastrophic)        // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	EventAsyncErrorEPBroken              EventNumber = EventNumber(cgo.EventAsyncErrorEPBroken)              // DAT_ASYNC_ERROR_EP_BROKEN
	EventAsyncErrorTimedOut              EventNumber = EventNumber(cgo.EventAsyncErrorTimedOut)              // DAT_ASYNC_ERROR_TIMED_OUT
	EventAsyncErrorProviderInternalError EventNumber = EventNumber(cgo.EventAsyncErrorProviderInternalError) // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	EventHADownTo1                       EventNumber = EventNumber(cgo.EventHADownTo1)                       // DAT_HA_DOWN_TO_1
	EventHAUpToMultiPath                 EventNumber = EventNumber(cgo.EventHAUpToMultiPath)                 // DAT_HA_UP_TO_MULTI_PATH
	EventSoftware                        EventNumber = EventNumber(cgo.EventSoftware)                        // DAT_SOFTWARE_EVENT
)

// ConnectionEvent is what happened to a connection: the EventNumber of a connection
// event as a type of its own. The failures, see Failure, are errors to match with
// errors.Is. Event.Err returns them. ConnectionTimedOut matches
// os.ErrDeadlineExceeded and context.DeadlineExceeded too.
type ConnectionEvent uint32

// String returns the C name.
func (v ConnectionEvent) String() string { return cgo.ConnectionEvent(v).String() }

// Error returns the C name.
func (v ConnectionEvent) Error() string { return v.String() }

// Failure reports whether the connection was not established, or broke.
func (v ConnectionEvent) Failure() bool {
	switch v {
	case ConnectionPeerRejected, ConnectionNonPeerRejected, ConnectionAcceptCompletionError,
		ConnectionBroken, ConnectionTimedOut, ConnectionUnreachable:
		return true
	}
	return false
}

// Is makes ConnectionTimedOut match the standard errors for a time-out.
func (v ConnectionEvent) Is(target error) bool {
	return v == ConnectionTimedOut && (target == os.ErrDeadlineExceeded || target == context.DeadlineExceeded)
}

// What happens to connections.
const (
	ConnectionEstablished           ConnectionEvent = ConnectionEvent(cgo.ConnectionEstablished)           // DAT_CONNECTION_EVENT_ESTABLISHED
	ConnectionPeerRejected          ConnectionEvent = ConnectionEvent(cgo.ConnectionPeerRejected)          // DAT_CONNECTION_EVENT_PEER_REJECTED
	ConnectionNonPeerRejected       ConnectionEvent = ConnectionEvent(cgo.ConnectionNonPeerRejected)       // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	ConnectionAcceptCompletionError ConnectionEvent = ConnectionEvent(cgo.ConnectionAcceptCompletionError) // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	ConnectionDisconnected          ConnectionEvent = ConnectionEvent(cgo.ConnectionDisconnected)          // DAT_CONNECTION_EVENT_DISCONNECTED
	ConnectionBroken                ConnectionEvent = ConnectionEvent(cgo.ConnectionBroken)                // DAT_CONNECTION_EVENT_BROKEN
	ConnectionTimedOut              ConnectionEvent = ConnectionEvent(cgo.ConnectionTimedOut)              // DAT_CONNECTION_EVENT_TIMED_OUT
	ConnectionUnreachable           ConnectionEvent = ConnectionEvent(cgo.ConnectionUnreachable)           // DAT_CONNECTION_EVENT_UNREACHABLE
)

// AsyncEvent is what happened on an adapter outside any call: the EventNumber
// of an asynchronous event as a type of its own. The failures, see Failure, are
// errors to match with errors.Is. Event.Err returns them.
type AsyncEvent uint32

// String returns the C name.
func (v AsyncEvent) String() string { return cgo.AsyncEvent(v).String() }

// Error returns the C name.
func (v AsyncEvent) Error() string { return v.String() }

// Failure reports whether the event is an error. Events about the number of
// paths are not.
func (v AsyncEvent) Failure() bool {
	switch v {
	case AsyncErrorEVDOverflow, AsyncErrorIACatastrophic, AsyncErrorEPBroken,
		AsyncErrorTimedOut, AsyncErrorProviderInternalError:
		return true
	}
	return false
}

// What happens on adapters.
const (
	AsyncErrorEVDOverflow           AsyncEvent = AsyncEvent(cgo.AsyncErrorEVDOverflow)           // DAT_ASYNC_ERROR_EVD_OVERFLOW
	AsyncErrorIACatastrophic        AsyncEvent = AsyncEvent(cgo.AsyncErrorIACatastrophic)        // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	AsyncErrorEPBroken              AsyncEvent = AsyncEvent(cgo.AsyncErrorEPBroken)              // DAT_ASYNC_ERROR_EP_BROKEN
	AsyncErrorTimedOut              AsyncEvent = AsyncEvent(cgo.AsyncErrorTimedOut)              // DAT_ASYNC_ERROR_TIMED_OUT
	AsyncErrorProviderInternalError AsyncEvent = AsyncEvent(cgo.AsyncErrorProviderInternalError) // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	HADownTo1                       AsyncEvent = AsyncEvent(cgo.HADownTo1)                       // DAT_HA_DOWN_TO_1
	HAUpToMultiPath                 AsyncEvent = AsyncEvent(cgo.HAUpToMultiPath)                 // DAT_HA_UP_TO_MULTI_PATH
)

// DTO names a data transfer operation.
type DTO uint32

// String returns the C name.
func (v DTO) String() string { return cgo.DTO(v).String() }

// The data transfer operations.
const (
	DTOSend             DTO = DTO(cgo.DTOSend)             // DAT_DTO_SEND
	DTORDMAWrite        DTO = DTO(cgo.DTORDMAWrite)        // DAT_DTO_RDMA_WRITE
	DTORDMARead         DTO = DTO(cgo.DTORDMARead)         // DAT_DTO_RDMA_READ
	DTOReceive          DTO = DTO(cgo.DTOReceive)          // DAT_DTO_RECEIVE
	DTOBindMW           DTO = DTO(cgo.DTOBindMW)           // DAT_DTO_BIND_MW
	DTOIBRDMAWriteImmed DTO = DTO(cgo.DTOIBRDMAWriteImmed) // DAT_IB_DTO_RDMA_WRITE_IMMED
	DTOIBRecvImmed      DTO = DTO(cgo.DTOIBRecvImmed)      // DAT_IB_DTO_RECV_IMMED
	DTOIBFetchAdd       DTO = DTO(cgo.DTOIBFetchAdd)       // DAT_IB_DTO_FETCH_ADD
	DTOIBCmpSwap        DTO = DTO(cgo.DTOIBCmpSwap)        // DAT_IB_DTO_CMP_SWAP
	DTOIBRecvMsgImmed   DTO = DTO(cgo.DTOIBRecvMsgImmed)   // DAT_IB_DTO_RECV_MSG_IMMED
)

// DTOStatus is the outcome of a data transfer operation. Every value but
// DTOSuccess is an error to be matched with errors.Is.
type DTOStatus uint32

// String returns the C name.
func (v DTOStatus) String() string { return cgo.DTOStatus(v).String() }

// Error returns the C name.
func (v DTOStatus) Error() string { return v.String() }

// The outcomes of data transfer operations.
const (
	DTOSuccess             DTOStatus = DTOStatus(cgo.DTOSuccess)             // DAT_DTO_SUCCESS
	DTOErrFlushed          DTOStatus = DTOStatus(cgo.DTOErrFlushed)          // DAT_DTO_ERR_FLUSHED
	DTOErrLocalLength      DTOStatus = DTOStatus(cgo.DTOErrLocalLength)      // DAT_DTO_ERR_LOCAL_LENGTH
	DTOErrLocalEP          DTOStatus = DTOStatus(cgo.DTOErrLocalEP)          // DAT_DTO_ERR_LOCAL_EP
	DTOErrLocalProtection  DTOStatus = DTOStatus(cgo.DTOErrLocalProtection)  // DAT_DTO_ERR_LOCAL_PROTECTION
	DTOErrBadResponse      DTOStatus = DTOStatus(cgo.DTOErrBadResponse)      // DAT_DTO_ERR_BAD_RESPONSE
	DTOErrRemoteAccess     DTOStatus = DTOStatus(cgo.DTOErrRemoteAccess)     // DAT_DTO_ERR_REMOTE_ACCESS
	DTOErrRemoteResponder  DTOStatus = DTOStatus(cgo.DTOErrRemoteResponder)  // DAT_DTO_ERR_REMOTE_RESPONDER
	DTOErrTransport        DTOStatus = DTOStatus(cgo.DTOErrTransport)        // DAT_DTO_ERR_TRANSPORT
	DTOErrReceiverNotReady DTOStatus = DTOStatus(cgo.DTOErrReceiverNotReady) // DAT_DTO_ERR_RECEIVER_NOT_READY
	DTOErrPartialPacket    DTOStatus = DTOStatus(cgo.DTOErrPartialPacket)    // DAT_DTO_ERR_PARTIAL_PACKET
	RMROperationFailed     DTOStatus = DTOStatus(cgo.RMROperationFailed)     // DAT_RMR_OPERATION_FAILED
	DTOErrLocalMMError     DTOStatus = DTOStatus(cgo.DTOErrLocalMMError)     // DAT_DTO_ERR_LOCAL_MM_ERROR
)

// CompletionFlags say how an operation completes. They are bits.
type CompletionFlags uint32

// String returns the C name.
func (v CompletionFlags) String() string { return cgo.CompletionFlags(v).String() }

// The completion flags.
const (
	CompletionDefault       CompletionFlags = CompletionFlags(cgo.CompletionDefault)       // DAT_COMPLETION_DEFAULT_FLAG
	CompletionSuppress      CompletionFlags = CompletionFlags(cgo.CompletionSuppress)      // DAT_COMPLETION_SUPPRESS_FLAG
	CompletionSolicitedWait CompletionFlags = CompletionFlags(cgo.CompletionSolicitedWait) // DAT_COMPLETION_SOLICITED_WAIT_FLAG
	CompletionUnsignalled   CompletionFlags = CompletionFlags(cgo.CompletionUnsignalled)   // DAT_COMPLETION_UNSIGNALLED_FLAG
	CompletionBarrierFence  CompletionFlags = CompletionFlags(cgo.CompletionBarrierFence)  // DAT_COMPLETION_BARRIER_FENCE_FLAG
	CompletionEVDThreshold  CompletionFlags = CompletionFlags(cgo.CompletionEVDThreshold)  // DAT_COMPLETION_EVD_THRESHOLD_FLAG
)

// CloseFlags say how a connection or an adapter is closed.
type CloseFlags uint32

// String returns the C name.
func (v CloseFlags) String() string { return cgo.CloseFlags(v).String() }

// The close flags. CloseAbrupt is the default.
const (
	CloseAbrupt   CloseFlags = CloseFlags(cgo.CloseAbrupt)   // DAT_CLOSE_ABRUPT_FLAG
	CloseGraceful CloseFlags = CloseFlags(cgo.CloseGraceful) // DAT_CLOSE_GRACEFUL_FLAG
)

// EVDFlags name the event streams that may feed an EVD. They are bits.
type EVDFlags uint32

// String returns the C name.
func (v EVDFlags) String() string { return cgo.EVDFlags(v).String() }

// The event streams.
const (
	EVDSoftware   EVDFlags = EVDFlags(cgo.EVDSoftware)   // DAT_EVD_SOFTWARE_FLAG
	EVDCR         EVDFlags = EVDFlags(cgo.EVDCR)         // DAT_EVD_CR_FLAG
	EVDDTO        EVDFlags = EVDFlags(cgo.EVDDTO)        // DAT_EVD_DTO_FLAG
	EVDConnection EVDFlags = EVDFlags(cgo.EVDConnection) // DAT_EVD_CONNECTION_FLAG
	EVDRMRBind    EVDFlags = EVDFlags(cgo.EVDRMRBind)    // DAT_EVD_RMR_BIND_FLAG
	EVDAsync      EVDFlags = EVDFlags(cgo.EVDAsync)      // DAT_EVD_ASYNC_FLAG
)

// PSPFlags say who makes the endpoint for a connection request. They are bits.
type PSPFlags uint32

// String returns the C name.
func (v PSPFlags) String() string { return cgo.PSPFlags(v).String() }

// The flags of a public service point.
const (
	PSPConsumer PSPFlags = PSPFlags(cgo.PSPConsumer) // DAT_PSP_CONSUMER_FLAG
	PSPProvider PSPFlags = PSPFlags(cgo.PSPProvider) // DAT_PSP_PROVIDER_FLAG
)

// HandleType names a kind of object.
type HandleType uint32

// String returns the C name.
func (v HandleType) String() string { return cgo.HandleType(v).String() }

// The kinds of objects.
const (
	HandleTypeCR  HandleType = HandleType(cgo.HandleTypeCR)  // DAT_HANDLE_TYPE_CR
	HandleTypeEP  HandleType = HandleType(cgo.HandleTypeEP)  // DAT_HANDLE_TYPE_EP
	HandleTypeEVD HandleType = HandleType(cgo.HandleTypeEVD) // DAT_HANDLE_TYPE_EVD
	HandleTypeIA  HandleType = HandleType(cgo.HandleTypeIA)  // DAT_HANDLE_TYPE_IA
	HandleTypeLMR HandleType = HandleType(cgo.HandleTypeLMR) // DAT_HANDLE_TYPE_LMR
	HandleTypePSP HandleType = HandleType(cgo.HandleTypePSP) // DAT_HANDLE_TYPE_PSP
	HandleTypePZ  HandleType = HandleType(cgo.HandleTypePZ)  // DAT_HANDLE_TYPE_PZ
	HandleTypeRMR HandleType = HandleType(cgo.HandleTypeRMR) // DAT_HANDLE_TYPE_RMR
	HandleTypeRSP HandleType = HandleType(cgo.HandleTypeRSP) // DAT_HANDLE_TYPE_RSP
	HandleTypeCNO HandleType = HandleType(cgo.HandleTypeCNO) // DAT_HANDLE_TYPE_CNO
	HandleTypeSRQ HandleType = HandleType(cgo.HandleTypeSRQ) // DAT_HANDLE_TYPE_SRQ
	HandleTypeCSP HandleType = HandleType(cgo.HandleTypeCSP) // DAT_HANDLE_TYPE_CSP
)

// EVDState is the state of an event dispatcher, in independent parts. They are bits.
type EVDState uint32

// String returns the C name.
func (v EVDState) String() string { return cgo.EVDState(v).String() }

// The parts of an event dispatcher's state.
const (
	EVDStateEnabled    EVDState = EVDState(cgo.EVDStateEnabled)    // DAT_EVD_STATE_ENABLED
	EVDStateDisabled   EVDState = EVDState(cgo.EVDStateDisabled)   // DAT_EVD_STATE_DISABLED
	EVDStateWaitable   EVDState = EVDState(cgo.EVDStateWaitable)   // DAT_EVD_STATE_WAITABLE
	EVDStateUnwaitable EVDState = EVDState(cgo.EVDStateUnwaitable) // DAT_EVD_STATE_UNWAITABLE
)

// MemPriv holds memory privileges. They are bits.
type MemPriv uint32

// String returns the C name.
func (v MemPriv) String() string { return cgo.MemPriv(v).String() }

// The memory privileges.
const (
	MemPrivNone        MemPriv = MemPriv(cgo.MemPrivNone)        // DAT_MEM_PRIV_NONE_FLAG
	MemPrivLocalRead   MemPriv = MemPriv(cgo.MemPrivLocalRead)   // DAT_MEM_PRIV_LOCAL_READ_FLAG
	MemPrivRemoteRead  MemPriv = MemPriv(cgo.MemPrivRemoteRead)  // DAT_MEM_PRIV_REMOTE_READ_FLAG
	MemPrivLocalWrite  MemPriv = MemPriv(cgo.MemPrivLocalWrite)  // DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	MemPrivRemoteWrite MemPriv = MemPriv(cgo.MemPrivRemoteWrite) // DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	MemPrivAll         MemPriv = MemPriv(cgo.MemPrivAll)         // DAT_MEM_PRIV_ALL_FLAG

	// MemPrivIBRemoteAtomic is not part of MemPrivAll.
	MemPrivIBRemoteAtomic MemPriv = MemPriv(cgo.MemPrivIBRemoteAtomic) // DAT_IB_MEM_PRIV_REMOTE_ATOMIC
)

// ServiceType is the transport service of an endpoint.
type ServiceType uint32

// String returns the C name.
func (v ServiceType) String() string { return cgo.ServiceType(v).String() }

// ServiceTypeRC is the reliable connection, the only service.
const ServiceTypeRC ServiceType = ServiceType(cgo.ServiceTypeRC) // DAT_SERVICE_TYPE_RC

// QOS is a quality of service.
type QOS uint32

// String returns the C name.
func (v QOS) String() string { return cgo.QOS(v).String() }

// QOSBestEffort is the only quality of service that a provider knows.
const QOSBestEffort QOS = QOS(cgo.QOSBestEffort) // DAT_QOS_BEST_EFFORT

// EPParamMask names the fields of EPParam that EP.Modify is to change. They are bits.
type EPParamMask uint64

// The fields of EPParam.
const (
	EPFieldIAHandle               EPParamMask = EPParamMask(cgo.EPFieldIAHandle)               // DAT_EP_FIELD_IA_HANDLE
	EPFieldEPState                EPParamMask = EPParamMask(cgo.EPFieldEPState)                // DAT_EP_FIELD_EP_STATE
	EPFieldComm                   EPParamMask = EPParamMask(cgo.EPFieldComm)                   // DAT_EP_FIELD_COMM
	EPFieldLocalIAAddressPtr      EPParamMask = EPParamMask(cgo.EPFieldLocalIAAddressPtr)      // DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR
	EPFieldLocalPortQual          EPParamMask = EPParamMask(cgo.EPFieldLocalPortQual)          // DAT_EP_FIELD_LOCAL_PORT_QUAL
	EPFieldRemoteIAAddressPtr     EPParamMask = EPParamMask(cgo.EPFieldRemoteIAAddressPtr)     // DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR
	EPFieldRemotePortQual         EPParamMask = EPParamMask(cgo.EPFieldRemotePortQual)         // DAT_EP_FIELD_REMOTE_PORT_QUAL
	EPFieldPZHandle               EPParamMask = EPParamMask(cgo.EPFieldPZHandle)               // DAT_EP_FIELD_PZ_HANDLE
	EPFieldRecvEVDHandle          EPParamMask = EPParamMask(cgo.EPFieldRecvEVDHandle)          // DAT_EP_FIELD_RECV_EVD_HANDLE
	EPFieldRequestEVDHandle       EPParamMask = EPParamMask(cgo.EPFieldRequestEVDHandle)       // DAT_EP_FIELD_REQUEST_EVD_HANDLE
	EPFieldConnectEVDHandle       EPParamMask = EPParamMask(cgo.EPFieldConnectEVDHandle)       // DAT_EP_FIELD_CONNECT_EVD_HANDLE
	EPFieldSRQHandle              EPParamMask = EPParamMask(cgo.EPFieldSRQHandle)              // DAT_EP_FIELD_SRQ_HANDLE
	EPFieldServiceType            EPParamMask = EPParamMask(cgo.EPFieldServiceType)            // DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE
	EPFieldMaxMessageSize         EPParamMask = EPParamMask(cgo.EPFieldMaxMessageSize)         // DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
	EPFieldMaxRDMASize            EPParamMask = EPParamMask(cgo.EPFieldMaxRDMASize)            // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE
	EPFieldQOS                    EPParamMask = EPParamMask(cgo.EPFieldQOS)                    // DAT_EP_FIELD_EP_ATTR_QOS
	EPFieldRecvCompletionFlags    EPParamMask = EPParamMask(cgo.EPFieldRecvCompletionFlags)    // DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
	EPFieldRequestCompletionFlags EPParamMask = EPParamMask(cgo.EPFieldRequestCompletionFlags) // DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS
	EPFieldMaxRecvDTOs            EPParamMask = EPParamMask(cgo.EPFieldMaxRecvDTOs)            // DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS
	EPFieldMaxRequestDTOs         EPParamMask = EPParamMask(cgo.EPFieldMaxRequestDTOs)         // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS
	EPFieldMaxRecvIOV             EPParamMask = EPParamMask(cgo.EPFieldMaxRecvIOV)             // DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV
	EPFieldMaxRequestIOV          EPParamMask = EPParamMask(cgo.EPFieldMaxRequestIOV)          // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV
	EPFieldMaxRDMAReadIn          EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadIn)          // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN
	EPFieldMaxRDMAReadOut         EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadOut)         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT
	EPFieldSRQSoftHW              EPParamMask = EPParamMask(cgo.EPFieldSRQSoftHW)              // DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW
	EPFieldMaxRDMAReadIOV         EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadIOV)         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV
	EPFieldMaxRDMAWriteIOV        EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAWriteIOV)        // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV
	EPFieldNumTransportAttr       EPParamMask = EPParamMask(cgo.EPFieldNumTransportAttr)       // DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR
	EPFieldTransportSpecificAttr  EPParamMask = EPParamMask(cgo.EPFieldTransportSpecificAttr)  // DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR
	EPFieldNumProviderAttr        EPParamMask = EPParamMask(cgo.EPFieldNumProviderAttr)        // DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR
	EPFieldProviderSpecificAttr   EPParamMask = EPParamMask(cgo.EPFieldProviderSpecificAttr)   // DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR
	EPFieldEPAttrAll              EPParamMask = EPParamMask(cgo.EPFieldEPAttrAll)              // DAT_EP_FIELD_EP_ATTR_ALL
	EPFieldAll                    EPParamMask = EPParamMask(cgo.EPFieldAll)                    // DAT_EP_FIELD_ALL
)
