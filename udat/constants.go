package udat

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/goudat/goudat/cgo"
)

//go:generate go run ../scripts/trials/constants

// EPState is the state of an endpoint.
//
//constants:without EPStateTentativeConnectionPending EPStateConnected?* EPStateUnconfigured*
type EPState uint32

// EventNumber names the kind of an event. Those of failures are errors, which Event.Err returns.
// EventConnectionTimedOut also matches os.ErrDeadlineExceeded and context.DeadlineExceeded.
//
//constants:without EventExtension EventIB* EventIWExtensionRangeBase EventAsyncErrorTimedOut EventHA*
//constants:error
//constants:string
type EventNumber uint32

// EventSRQLowWatermark, for which DAT has no number, is explained at SRQ.SetLowWatermark.
const EventSRQLowWatermark EventNumber = 1 << 31

// String returns the C name.
func (v EventNumber) String() string {
	if v == EventSRQLowWatermark {
		return "DAT_SRQ_LOW_WATERMARK_EVENT"
	}
	return cgo.EventNumber(v).String()
}

// MarshalText returns the C name, for Stats as JSON.
func (v EventNumber) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// failure reports whether a connection failed or broke, or there is an asynchronous error.
func (v EventNumber) failure() bool {
	switch v {
	case EventConnectionPeerRejected, EventConnectionNonPeerRejected, EventConnectionAcceptCompletionError,
		EventConnectionBroken, EventConnectionTimedOut, EventConnectionUnreachable,
		EventAsyncErrorEVDOverflow, EventAsyncErrorIACatastrophic, EventAsyncErrorEPBroken, EventAsyncErrorProviderInternalError:
		return true
	}
	return false
}

// Is makes EventConnectionTimedOut match the standard errors for a time-out.
func (v EventNumber) Is(target error) bool {
	return v == EventConnectionTimedOut && (target == os.ErrDeadlineExceeded || target == context.DeadlineExceeded)
}

// DTO names a data transfer operation: C's value plus 1, so that 0 is none.
//
//constants:plus 1
//constants:string
//constants:without DTOReceiveWithInvalidate DTOLMRFMR DTOLMRInvalidate DTOExtensionBase DTOIBSendUD DTOIBRecvUD DTOIBRecvUDImmed
type DTO uint32

// String returns the C name.
func (v DTO) String() string {
	if v == 0 {
		return "no operation"
	}
	name := v.native().String()
	if strings.HasPrefix(name, "DTO(") { // no operation of C
		return fmt.Sprintf("DTO(%d)", uint32(v))
	}
	return name
}

func (v DTO) native() cgo.DTO { return cgo.DTO(v - 1) }

// DTOStatus is the outcome of an operation: an error, except for DTOSuccess.
//
//constants:without DTOErrPartialPacket DTOErrLocalMMError
//constants:error
type DTOStatus uint32

// MarshalText returns the C name, for Stats as JSON.
func (v DTOStatus) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// CompletionFlags are bits that say how an operation completes.
//
//constants:without CompletionLMRInvalidateFence
type CompletionFlags uint32

// CloseFlags say how to close an adapter or a connection. 0 is CloseAbrupt.
//
//constants:all
type CloseFlags uint32

// EVDFlags are bits that name the event streams of an EVD.
//
//constants:without EVDDefault EVDExtensionBase EVDIBExtension
type EVDFlags uint32

// MemPriv holds memory privileges. MemPrivAll lacks MemPrivIBRemoteAtomic.
//
//constants:without MemPrivNone MemPrivExtensionBase
type MemPriv uint32

// EPParamMask is a set of fields of EPParam that EP.Modify changes. Others have no constant.
type EPParamMask uint64

const (
	EPFieldPZ                     EPParamMask = EPParamMask(cgo.EPFieldPZHandle)               // DAT_EP_FIELD_PZ_HANDLE
	EPFieldRecvEVD                EPParamMask = EPParamMask(cgo.EPFieldRecvEVDHandle)          // DAT_EP_FIELD_RECV_EVD_HANDLE
	EPFieldRequestEVD             EPParamMask = EPParamMask(cgo.EPFieldRequestEVDHandle)       // DAT_EP_FIELD_REQUEST_EVD_HANDLE
	EPFieldConnectEVD             EPParamMask = EPParamMask(cgo.EPFieldConnectEVDHandle)       // DAT_EP_FIELD_CONNECT_EVD_HANDLE
	EPFieldMaxMessageSize         EPParamMask = EPParamMask(cgo.EPFieldMaxMessageSize)         // DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
	EPFieldMaxRDMASize            EPParamMask = EPParamMask(cgo.EPFieldMaxRDMASize)            // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE
	EPFieldRecvCompletionFlags    EPParamMask = EPParamMask(cgo.EPFieldRecvCompletionFlags)    // DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
	EPFieldRequestCompletionFlags EPParamMask = EPParamMask(cgo.EPFieldRequestCompletionFlags) // DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS
	EPFieldMaxRecvDTOs            EPParamMask = EPParamMask(cgo.EPFieldMaxRecvDTOs)            // DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS
	EPFieldMaxRequestDTOs         EPParamMask = EPParamMask(cgo.EPFieldMaxRequestDTOs)         // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS
	EPFieldMaxRecvIOV             EPParamMask = EPParamMask(cgo.EPFieldMaxRecvIOV)             // DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV
	EPFieldMaxRequestIOV          EPParamMask = EPParamMask(cgo.EPFieldMaxRequestIOV)          // DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV
	EPFieldMaxRDMAReadIn          EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadIn)          // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN
	EPFieldMaxRDMAReadOut         EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadOut)         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT
	EPFieldMaxRDMAReadIOV         EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAReadIOV)         // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV
	EPFieldMaxRDMAWriteIOV        EPParamMask = EPParamMask(cgo.EPFieldMaxRDMAWriteIOV)        // DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV
)

// Return is a DAT_RETURN: type, subtype and a class that providers may leave out.
type Return uint32

// classError is the class of the codes that the binding makes.
const classError = Return(cgo.ClassError)

// Type returns the type part.
func (r Return) Type() ReturnType { return ReturnType(cgo.Return(r).Type()) }

// Subtype returns the subtype part, NoSubtype if there is none.
func (r Return) Subtype() ReturnSubtype { return ReturnSubtype(cgo.Return(r).Subtype()) }

// String returns the C names of type and subtype.
func (r Return) String() string { return cgo.Return(r).String() }

// ReturnType is the type part of a DAT_RETURN: an error that any Error of that type matches.
//
//constants:without LengthError Success Abort ReservedLMR PortInUse CommNotSupported ExtensionBase
//constants:prefix Err
//constants:error
type ReturnType uint32

// ReturnSubtype is the subtype of a DAT_RETURN: an error that its Errors match, except NoSubtype.
//
//constants:without SubInterrupted ResourceDevice ResourceProtectionDomain ResourceErrorHandler ResourceCredits ResourceSRQ
//constants:without InvalidHandleCSP InvalidHandle[0-9]* InvalidArg9 InvalidArg10 InvalidStateEPTentConnPending InvalidStateEPProviderControl
//constants:without InvalidStateEPRecvWatermark InvalidStateEPPZ InvalidStateEPEVD* InvalidStateEPUnconf* InvalidStateCNODead InvalidStateEVDOpen
//constants:without InvalidStateEVD*abled InvalidStateEVDWait* InvalidStateEVDConfig* InvalidStateEVDAsync InvalidState*Free InvalidStateSRQOperational
//constants:without InvalidStateSRQError InvalidStateSRQShutdown P*RDMA* *NotFound
//constants:error
type ReturnSubtype uint32
