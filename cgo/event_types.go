package cgo

import "unsafe"

// EventNumber names the kind of an event, DAT_EVENT_NUMBER.
type EventNumber uint32

const (
	EventDTOCompletion                   EventNumber = 0x00001 // DAT_DTO_COMPLETION_EVENT
	EventRMRBindCompletion               EventNumber = 0x01001 // DAT_RMR_BIND_COMPLETION_EVENT
	EventConnectionRequest               EventNumber = 0x02001 // DAT_CONNECTION_REQUEST_EVENT
	EventConnectionEstablished           EventNumber = 0x04001 // DAT_CONNECTION_EVENT_ESTABLISHED
	EventConnectionPeerRejected          EventNumber = 0x04002 // DAT_CONNECTION_EVENT_PEER_REJECTED
	EventConnectionNonPeerRejected       EventNumber = 0x04003 // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	EventConnectionAcceptCompletionError EventNumber = 0x04004 // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	EventConnectionDisconnected          EventNumber = 0x04005 // DAT_CONNECTION_EVENT_DISCONNECTED
	EventConnectionBroken                EventNumber = 0x04006 // DAT_CONNECTION_EVENT_BROKEN
	EventConnectionTimedOut              EventNumber = 0x04007 // DAT_CONNECTION_EVENT_TIMED_OUT
	EventConnectionUnreachable           EventNumber = 0x04008 // DAT_CONNECTION_EVENT_UNREACHABLE
	EventAsyncErrorEVDOverflow           EventNumber = 0x08001 // DAT_ASYNC_ERROR_EVD_OVERFLOW
	EventAsyncErrorIACatastrophic        EventNumber = 0x08002 // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	EventAsyncErrorEPBroken              EventNumber = 0x08003 // DAT_ASYNC_ERROR_EP_BROKEN
	EventAsyncErrorTimedOut              EventNumber = 0x08004 // DAT_ASYNC_ERROR_TIMED_OUT
	EventAsyncErrorProviderInternalError EventNumber = 0x08005 // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	EventHADownTo1                       EventNumber = 0x08101 // DAT_HA_DOWN_TO_1
	EventHAUpToMultiPath                 EventNumber = 0x08102 // DAT_HA_UP_TO_MULTI_PATH
	EventSoftware                        EventNumber = 0x10001 // DAT_SOFTWARE_EVENT
	EventExtension                       EventNumber = 0x20000 // DAT_EXTENSION_EVENT
	EventIBDTO                           EventNumber = 0x40000 // DAT_IB_DTO_EVENT
	EventIBExtensionRangeBase            EventNumber = 0x40000 // DAT_IB_EXTENSION_RANGE_BASE
	EventIBUDConnectionRequest           EventNumber = 0x40001 // DAT_IB_UD_CONNECTION_REQUEST_EVENT
	EventIBUDConnectionEstablished       EventNumber = 0x40002 // DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED
	EventIBUDConnectionReject            EventNumber = 0x40003 // DAT_IB_UD_CONNECTION_REJECT_EVENT
	EventIBUDConnectionError             EventNumber = 0x40004 // DAT_IB_UD_CONNECTION_ERROR_EVENT
	EventIWExtensionRangeBase            EventNumber = 0x80000 // DAT_IW_EXTENSION_RANGE_BASE
)

// ConnectionEvent is the EventNumber of a connection event, as a type of its
// own.
type ConnectionEvent uint32

const (
	ConnectionEstablished           ConnectionEvent = 0x04001 // DAT_CONNECTION_EVENT_ESTABLISHED
	ConnectionPeerRejected          ConnectionEvent = 0x04002 // DAT_CONNECTION_EVENT_PEER_REJECTED
	ConnectionNonPeerRejected       ConnectionEvent = 0x04003 // DAT_CONNECTION_EVENT_NON_PEER_REJECTED
	ConnectionAcceptCompletionError ConnectionEvent = 0x04004 // DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
	ConnectionDisconnected          ConnectionEvent = 0x04005 // DAT_CONNECTION_EVENT_DISCONNECTED
	ConnectionBroken                ConnectionEvent = 0x04006 // DAT_CONNECTION_EVENT_BROKEN
	ConnectionTimedOut              ConnectionEvent = 0x04007 // DAT_CONNECTION_EVENT_TIMED_OUT
	ConnectionUnreachable           ConnectionEvent = 0x04008 // DAT_CONNECTION_EVENT_UNREACHABLE
)

// AsyncEvent is the EventNumber of an asynchronous event, as a type of its own.
type AsyncEvent uint32

const (
	AsyncErrorEVDOverflow           AsyncEvent = 0x08001 // DAT_ASYNC_ERROR_EVD_OVERFLOW
	AsyncErrorIACatastrophic        AsyncEvent = 0x08002 // DAT_ASYNC_ERROR_IA_CATASTROPHIC
	AsyncErrorEPBroken              AsyncEvent = 0x08003 // DAT_ASYNC_ERROR_EP_BROKEN
	AsyncErrorTimedOut              AsyncEvent = 0x08004 // DAT_ASYNC_ERROR_TIMED_OUT
	AsyncErrorProviderInternalError AsyncEvent = 0x08005 // DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR
	HADownTo1                       AsyncEvent = 0x08101 // DAT_HA_DOWN_TO_1
	HAUpToMultiPath                 AsyncEvent = 0x08102 // DAT_HA_UP_TO_MULTI_PATH
)

// DTOStatus is the outcome of a data transfer operation,
// DAT_DTO_COMPLETION_STATUS.
type DTOStatus uint32

const (
	DTOSuccess             DTOStatus = 0  // DAT_DTO_SUCCESS
	DTOErrFlushed          DTOStatus = 1  // DAT_DTO_ERR_FLUSHED
	DTOErrLocalLength      DTOStatus = 2  // DAT_DTO_ERR_LOCAL_LENGTH
	DTOErrLocalEP          DTOStatus = 3  // DAT_DTO_ERR_LOCAL_EP
	DTOErrLocalProtection  DTOStatus = 4  // DAT_DTO_ERR_LOCAL_PROTECTION
	DTOErrBadResponse      DTOStatus = 5  // DAT_DTO_ERR_BAD_RESPONSE
	DTOErrRemoteAccess     DTOStatus = 6  // DAT_DTO_ERR_REMOTE_ACCESS
	DTOErrRemoteResponder  DTOStatus = 7  // DAT_DTO_ERR_REMOTE_RESPONDER
	DTOErrTransport        DTOStatus = 8  // DAT_DTO_ERR_TRANSPORT
	DTOErrReceiverNotReady DTOStatus = 9  // DAT_DTO_ERR_RECEIVER_NOT_READY
	DTOErrPartialPacket    DTOStatus = 10 // DAT_DTO_ERR_PARTIAL_PACKET
	RMROperationFailed     DTOStatus = 11 // DAT_RMR_OPERATION_FAILED
	DTOErrLocalMMError     DTOStatus = 12 // DAT_DTO_ERR_LOCAL_MM_ERROR
)

// DTO names a data transfer operation, DAT_DTOS.
type DTO uint32

const (
	DTOSend                  DTO = 0  // DAT_DTO_SEND
	DTORDMAWrite             DTO = 1  // DAT_DTO_RDMA_WRITE
	DTORDMARead              DTO = 2  // DAT_DTO_RDMA_READ
	DTOReceive               DTO = 3  // DAT_DTO_RECEIVE
	DTOReceiveWithInvalidate DTO = 4  // DAT_DTO_RECEIVE_WITH_INVALIDATE
	DTOBindMW                DTO = 5  // DAT_DTO_BIND_MW
	DTOLMRFMR                DTO = 6  // DAT_DTO_LMR_FMR
	DTOLMRInvalidate         DTO = 7  // DAT_DTO_LMR_INVALIDATE
	DTOIBRDMAWriteImmed      DTO = 8  // DAT_IB_DTO_RDMA_WRITE_IMMED
	DTOExtensionBase         DTO = 8  // DAT_DTO_EXTENSION_BASE
	DTOIBRecvImmed           DTO = 9  // DAT_IB_DTO_RECV_IMMED
	DTOIBFetchAdd            DTO = 10 // DAT_IB_DTO_FETCH_ADD
	DTOIBCmpSwap             DTO = 11 // DAT_IB_DTO_CMP_SWAP
	DTOIBRecvMsgImmed        DTO = 12 // DAT_IB_DTO_RECV_MSG_IMMED
	DTOIBSendUD              DTO = 13 // DAT_IB_DTO_SEND_UD
	DTOIBRecvUD              DTO = 14 // DAT_IB_DTO_RECV_UD
	DTOIBRecvUDImmed         DTO = 15 // DAT_IB_DTO_RECV_UD_IMMED
)

// Event is laid out as DAT_EVENT. Which accessor applies follows from Number.
type Event struct {
	Number    EventNumber // event_number
	_         uint32
	EVD       EVDHandle // evd_handle
	Data      [5]uint64 // event_data
	Extension [8]uint64 // event_extension_data
}

// DTO returns the data of an EventDTOCompletion and of an EventIBDTO. Unpatched
// providers also report plain completions, failed receives above all, under
// EventIBDTO.
func (e *Event) DTO() *DTOCompletionEventData {
	return (*DTOCompletionEventData)(unsafe.Pointer(&e.Data))
}

// RMRBind returns the data of an EventRMRBindCompletion.
func (e *Event) RMRBind() *RMRBindCompletionEventData {
	return (*RMRBindCompletionEventData)(unsafe.Pointer(&e.Data))
}

// CRArrival returns the data of an EventConnectionRequest.
func (e *Event) CRArrival() *CRArrivalEventData {
	return (*CRArrivalEventData)(unsafe.Pointer(&e.Data))
}

// Connection returns the data of a connection event.
func (e *Event) Connection() *ConnectionEventData {
	return (*ConnectionEventData)(unsafe.Pointer(&e.Data))
}

// IBExtension returns what the events of the InfiniBand extensions, EventIBDTO
// and above, have beside their data.
func (e *Event) IBExtension() *IBExtensionEventData {
	return (*IBExtensionEventData)(unsafe.Pointer(&e.Extension))
}

// AsyncError returns the data of an asynchronous error event.
func (e *Event) AsyncError() *AsyncErrorEventData {
	return (*AsyncErrorEventData)(unsafe.Pointer(&e.Data))
}

// Software returns the data of an EventSoftware.
func (e *Event) Software() *SoftwareEventData {
	return (*SoftwareEventData)(unsafe.Pointer(&e.Data))
}

// DTOCompletionEventData is laid out as DAT_DTO_COMPLETION_EVENT_DATA. The
// providers leave RMRContext unwritten for ordinary operations; unpatched ones
// Operation too, and TransferredLength when the status is not DTOSuccess.
type DTOCompletionEventData struct {
	EPHandle          EPHandle  // ep_handle
	UserCookie        uint64    // user_cookie
	Status            DTOStatus // status
	TransferredLength uint32    // transfered_length
	Operation         DTO       // operation
	RMRContext        uint32    // rmr_context
}

// RMRBindCompletionEventData is laid out as DAT_RMR_BIND_COMPLETION_EVENT_DATA.
type RMRBindCompletionEventData struct {
	RMRHandle  RMRHandle // rmr_handle
	UserCookie uint64    // user_cookie
	Status     DTOStatus // status
}

// CRArrivalEventData is laid out as DAT_CR_ARRIVAL_EVENT_DATA.
type CRArrivalEventData struct {
	SPHandle          uintptr  // sp_handle
	LocalIAAddressPtr uintptr  // local_ia_address_ptr
	ConnQual          uint64   // conn_qual
	CRHandle          CRHandle // cr_handle
	TruncateFlag      uint32   // truncate_flag
}

// ConnectionEventData is laid out as DAT_CONNECTION_EVENT_DATA. PrivateData
// points into the endpoint and dangles when that is freed.
type ConnectionEventData struct {
	EPHandle        EPHandle // ep_handle
	PrivateDataSize int32    // private_data_size
	PrivateData     uintptr  // private_data
}

// AsyncErrorEventData is laid out as DAT_ASYNCH_ERROR_EVENT_DATA.
type AsyncErrorEventData struct {
	Handle uintptr // dat_handle
	Reason int32   // reason
}

// SoftwareEventData is laid out as DAT_SOFTWARE_EVENT_DATA.
type SoftwareEventData struct {
	Pointer uintptr // pointer
}
