package cgo

// SRQState is the state of a shared receive queue, DAT_SRQ_STATE.
type SRQState uint32

const (
	SRQStateError       SRQState = 0 // DAT_SRQ_STATE_ERROR
	SRQStateOperational SRQState = 1 // DAT_SRQ_STATE_OPERATIONAL
	SRQStateShutdown    SRQState = 2 // DAT_SRQ_STATE_SHUTDOWN
)

// SRQLWDefault is the low watermark that asks for no events.
const SRQLWDefault = 0 // DAT_SRQ_LW_DEFAULT

// SRQLowWatermarkEvent is the AsyncErrorEventData.Reason of an event that says that
// a queue has fewer receives than its low watermark.
const SRQLowWatermarkEvent = 2 // DAT_SRQ_LOW_WATERMARK_EVENT

// SRQAttr holds the attributes of a shared receive queue, laid out as DAT_SRQ_ATTR.
type SRQAttr struct {
	MaxRecvDTOs  int32 // max_recv_dtos
	MaxRecvIOV   int32 // max_recv_iov
	LowWatermark int32 // low_watermark
}

// SRQParam holds the parameters of a shared receive queue, laid out as
// DAT_SRQ_PARAM. AvailableDTOCount, the receives that no endpoint has taken, is
// ValueUnknown unless none are outstanding.
type SRQParam struct {
	IAHandle            IAHandle // ia_handle
	SRQState            SRQState // srq_state
	PZHandle            PZHandle // pz_handle
	MaxRecvDTOs         int32    // max_recv_dtos
	MaxRecvIOV          int32    // max_recv_iov
	LowWatermark        int32    // low_watermark
	AvailableDTOCount   int32    // available_dto_count
	OutstandingDTOCount int32    // outstanding_dto_count
}

// SRQParamMask names fields of SRQParam, DAT_SRQ_PARAM_MASK. They are bits.
type SRQParamMask uint32

const (
	SRQFieldIAHandle            SRQParamMask = 0x01 // DAT_SRQ_FIELD_IA_HANDLE
	SRQFieldSRQState            SRQParamMask = 0x02 // DAT_SRQ_FIELD_SRQ_STATE
	SRQFieldPZHandle            SRQParamMask = 0x04 // DAT_SRQ_FIELD_PZ_HANDLE
	SRQFieldMaxRecvDTO          SRQParamMask = 0x08 // DAT_SRQ_FIELD_MAX_RECV_DTO
	SRQFieldMaxRecvIOV          SRQParamMask = 0x10 // DAT_SRQ_FIELD_MAX_RECV_IOV
	SRQFieldLowWatermark        SRQParamMask = 0x20 // DAT_SRQ_FIELD_LOW_WATERMARK
	SRQFieldAvailableDTOCount   SRQParamMask = 0x40 // DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT
	SRQFieldOutstandingDTOCount SRQParamMask = 0x80 // DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT
	SRQFieldAll                 SRQParamMask = 0xff // DAT_SRQ_FIELD_ALL
)

// WatermarkInfinite is a watermark that is never reached, and the default of an
// endpoint's high watermarks.
const WatermarkInfinite int32 = -1 // DAT_WATERMARK_INFINITE

// ValueUnknown is a count that the library does not keep.
const ValueUnknown int32 = -2 // DAT_VALUE_UNKNOWN
