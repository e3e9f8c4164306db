package cgo

import "unsafe"

// EventNumber names the kind of an event, DAT_EVENT_NUMBER. As an error it
// names what went wrong; Failure tells which values are.
type EventNumber uint32

// Error gives the C name.
func (n EventNumber) Error() string { return n.String() }

// Failure reports whether the event says that something failed: a connection
// that was not established or broke, or an asynchronous error.
func (n EventNumber) Failure() bool {
	switch n {
	case EventConnectionPeerRejected, EventConnectionNonPeerRejected, EventConnectionAcceptCompletionError,
		EventConnectionBroken, EventConnectionTimedOut, EventConnectionUnreachable,
		EventAsyncErrorEVDOverflow, EventAsyncErrorIACatastrophic, EventAsyncErrorEPBroken,
		EventAsyncErrorTimedOut, EventAsyncErrorProviderInternalError:
		return true
	}
	return false
}

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
	EventIBExtensionRangeBase            EventNumber = 0x40000 // DAT_IB_EXTENSION_RANGE_BASE
	EventIWExtensionRangeBase            EventNumber = 0x80000 // DAT_IW_EXTENSION_RANGE_BASE
)

// DTOStatus is the outcome of a data transfer operation,
// DAT_DTO_COMPLETION_STATUS. Each value but DTOSuccess is an error.
type DTOStatus uint32

// Error gives the C name.
func (s DTOStatus) Error() string { return s.String() }

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
	DTOSend                  DTO = 0 // DAT_DTO_SEND
	DTORDMAWrite             DTO = 1 // DAT_DTO_RDMA_WRITE
	DTORDMARead              DTO = 2 // DAT_DTO_RDMA_READ
	DTOReceive               DTO = 3 // DAT_DTO_RECEIVE
	DTOReceiveWithInvalidate DTO = 4 // DAT_DTO_RECEIVE_WITH_INVALIDATE
	DTOBindMW                DTO = 5 // DAT_DTO_BIND_MW
	DTOLMRFMR                DTO = 6 // DAT_DTO_LMR_FMR
	DTOLMRInvalidate         DTO = 7 // DAT_DTO_LMR_INVALIDATE
	DTOExtensionBase         DTO = 8 // DAT_DTO_EXTENSION_BASE
)

// Event is laid out as DAT_EVENT. Which accessor applies follows from Number.
type Event struct {
	Number    EventNumber // event_number
	_         uint32
	EVD       EVDHandle // evd_handle
	Data      [5]uint64 // event_data
	Extension [8]uint64 // event_extension_data
}

// DTO gives the data of an EventDTOCompletion. The providers also report plain
// completions, failed receives above all, under EventIBExtensionRangeBase.
func (e *Event) DTO() *DTOCompletionEventData {
	return (*DTOCompletionEventData)(unsafe.Pointer(&e.Data))
}

// CRArrival gives the data of an EventConnectionRequest.
func (e *Event) CRArrival() *CRArrivalEventData {
	return (*CRArrivalEventData)(unsafe.Pointer(&e.Data))
}

// Connection gives the data of a connection event.
func (e *Event) Connection() *ConnectionEventData {
	return (*ConnectionEventData)(unsafe.Pointer(&e.Data))
}

// AsyncError gives the data of an asynchronous error event.
func (e *Event) AsyncError() *AsyncErrorEventData {
	return (*AsyncErrorEventData)(unsafe.Pointer(&e.Data))
}

// DTOCompletionEventData is laid out as DAT_DTO_COMPLETION_EVENT_DATA. The
// providers leave Operation and RMRContext unwritten for ordinary operations,
// and TransferredLength when the status is not DTOSuccess.
type DTOCompletionEventData struct {
	EPHandle          EPHandle  // ep_handle
	UserCookie        uint64    // user_cookie
	Status            DTOStatus // status
	TransferredLength uint32    // transfered_length
	Operation         DTO       // operation
	RMRContext        uint32    // rmr_context
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
