package udat

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/goudat/goudat/cgo"
)

//go:generate go run ../scripts/constants

// EPState is the state of an endpoint.
//
//constants:without EPStateConnectedSinglePath EPStateConnectedMultiPath EPStateUnconfiguredUnconnected EPStateUnconfiguredReserved EPStateUnconfiguredPassive EPStateUnconfiguredTentative
type EPState uint32

// EventNumber names the kind of an event. ConnectionEvent and AsyncEvent are the
// parts of it that can be errors.
//
//constants:without EventExtension EventIBDTO EventIBExtensionRangeBase EventIBUDConnectionRequest EventIBUDConnectionEstablished EventIBUDConnectionReject EventIBUDConnectionError EventIWExtensionRangeBase
//constants:without EventAsyncErrorTimedOut EventHADownTo1 EventHAUpToMultiPath
type EventNumber uint32

// ConnectionEvent is what happened to a connection: the EventNumber of a connection
// event as a type of its own. Event.Err returns the failures, see Failure, as errors.
// ConnectionTimedOut matches os.ErrDeadlineExceeded and context.DeadlineExceeded too.
//
//constants:error
type ConnectionEvent uint32

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

// AsyncEvent is what happened on an adapter outside any call: the EventNumber
// of an asynchronous event as a type of its own. Event.Err returns it as an error.
//
//constants:without AsyncErrorTimedOut HADownTo1 HAUpToMultiPath
//constants:error
type AsyncEvent uint32

// Failure reports whether the value is one of the constants.
func (v AsyncEvent) Failure() bool {
	switch v {
	case AsyncErrorEVDOverflow, AsyncErrorIACatastrophic, AsyncErrorEPBroken,
		AsyncErrorProviderInternalError:
		return true
	}
	return false
}

// DTO names a data transfer operation. The zero DTO names none, so that one that was
// forgotten is noticed: the values are greater by one than those of C.
//
//constants:plus 1
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

// DTOStatus is the outcome of a data transfer operation. Every value but
// DTOSuccess is an error to be matched with errors.Is.
//
//constants:without DTOErrPartialPacket DTOErrLocalMMError
//constants:error
type DTOStatus uint32

// CompletionFlags say how an operation completes. They are bits.
//
//constants:without CompletionLMRInvalidateFence
type CompletionFlags uint32

// CloseFlags say how a connection or an adapter is closed. CloseAbrupt is the default.
//
//constants:all
type CloseFlags uint32

// EVDFlags name the event streams that may feed an EVD. They are bits.
//
//constants:without EVDDefault EVDExtensionBase EVDIBExtension
type EVDFlags uint32

// PSPFlags say who makes the endpoint for a connection request. They are bits.
//
//constants:all
type PSPFlags uint32

// EVDState is the state of an event dispatcher, in independent parts. They are bits.
//
//constants:without EVDStateConfigNotify EVDStateConfigSolicited EVDStateConfigThreshold
type EVDState uint32

// MemPriv holds memory privileges. They are bits. MemPrivIBRemoteAtomic is not part of MemPrivAll.
//
//constants:without MemPrivExtensionBase
type MemPriv uint32

// ServiceType is the transport service of an endpoint.
type ServiceType uint32

func (v ServiceType) String() string { return cgo.ServiceType(v).String() }

// ServiceTypeRC is the reliable connection, the only service.
const ServiceTypeRC ServiceType = ServiceType(cgo.ServiceTypeRC) // DAT_SERVICE_TYPE_RC

// QOS is a quality of service.
type QOS uint32

func (v QOS) String() string { return cgo.QOS(v).String() }

// QOSBestEffort is the only quality of service that a provider knows.
const QOSBestEffort QOS = QOS(cgo.QOSBestEffort) // DAT_QOS_BEST_EFFORT

// EPParamMask names the fields of EPParam that EP.Modify is to change. They are bits.
// Those that it cannot change have no constant.
//
//constants:without EPFieldIAHandle EPFieldEPState EPFieldComm EPFieldLocalIAAddressPtr EPFieldLocalPortQual
//constants:without EPFieldRemoteIAAddressPtr EPFieldRemotePortQual EPFieldSRQHandle EPFieldSRQSoftHW EPFieldNumTransportAttr
//constants:without EPFieldTransportSpecificAttr EPFieldNumProviderAttr EPFieldProviderSpecificAttr EPFieldEPAttrAll EPFieldAll
type EPParamMask uint64

// Extension names a set of extensions of the API.
//
//constants:all
type Extension uint32

// IOVOwnership says who may touch the list of segments after a post.
//
//constants:all
type IOVOwnership uint32

// EPCreatorForPSP says when a service point makes the endpoint for a request.
//
//constants:all
type EPCreatorForPSP uint32

// PZSupport says whether processes can share a protection zone.
//
//constants:all
type PZSupport uint32

// Return is a DAT_RETURN: class, type and subtype in one number. OK reports
// whether it is a success, which the class does not: the providers leave it out
// of many codes.
type Return uint32

// classError is the class of the codes that the binding makes.
const classError = Return(cgo.ClassError)

// Class returns the class part as it stands, ClassSuccess where the provider has
// left it out.
func (r Return) Class() ReturnClass { return ReturnClass(cgo.Return(r).Class()) }

// Type returns the type part.
func (r Return) Type() ReturnType { return ReturnType(cgo.Return(r).Type()) }

// Subtype returns the subtype part, NoSubtype where there is none.
func (r Return) Subtype() ReturnSubtype { return ReturnSubtype(cgo.Return(r).Subtype()) }

// OK reports whether the call succeeded.
func (r Return) OK() bool { return cgo.Return(r).OK() }

// String returns the C names of type and subtype.
func (r Return) String() string { return cgo.Return(r).String() }

// ReturnClass is the class part of a DAT_RETURN. Each value but ClassSuccess is
// an error that matches, with errors.Is, any Error of that class. The providers
// leave the class out of many codes: ClassError matches those as well.
type ReturnClass uint32

func (v ReturnClass) String() string { return cgo.ReturnClass(v).String() }

func (v ReturnClass) Error() string { return v.String() }

const (
	ClassSuccess ReturnClass = ReturnClass(cgo.ReturnClassSuccess) // DAT_CLASS_SUCCESS
	ClassWarning ReturnClass = ReturnClass(cgo.ReturnClassWarning) // DAT_CLASS_WARNING
	ClassError   ReturnClass = ReturnClass(cgo.ReturnClassError)   // DAT_CLASS_ERROR
)

// ReturnType is the type part of a DAT_RETURN. Each value is an error that
// matches, with errors.Is, any Error of that type whatever its subtype. Those that no
// call returns have no constant.
//
//constants:without Success Abort ReservedLMR PortInUse CommNotSupported ExtensionBase
//constants:prefix Err
//constants:error
type ReturnType uint32

// Return returns the code that has the type and nothing else.
func (v ReturnType) Return() Return { return Return(v) }

// ReturnSubtype is the subtype part of a DAT_RETURN. Each value but NoSubtype
// is an error that matches, with errors.Is, any Error of that subtype. Those that
// no call returns have no constant.
//
//constants:without SubInterrupted ResourceDevice ResourceProtectionDomain ResourceErrorHandler ResourceCredits
//constants:without ResourceSRQ InvalidHandleCSP InvalidHandle1 InvalidHandle2 InvalidHandle3
//constants:without InvalidHandle4 InvalidHandle5 InvalidHandle6 InvalidHandle7 InvalidHandle8
//constants:without InvalidHandle9 InvalidHandle10 InvalidArg9 InvalidArg10 InvalidStateEPProviderControl
//constants:without InvalidStateEPRecvWatermark InvalidStateEPPZ InvalidStateEPEVDRequest InvalidStateEPEVDRecv InvalidStateEPEVDConnect
//constants:without InvalidStateEPUnconfigured InvalidStateEPUnconfReserved InvalidStateEPUnconfPassive InvalidStateEPUnconfTentative InvalidStateCNODead
//constants:without InvalidStateEVDOpen InvalidStateEVDEnabled InvalidStateEVDDisabled InvalidStateEVDWaitable InvalidStateEVDConfigNotify
//constants:without InvalidStateEVDConfigSolicited InvalidStateEVDConfigThreshold InvalidStateEVDWaiter InvalidStateEVDAsync InvalidStateLMRFree
//constants:without InvalidStatePZFree InvalidStateSRQOperational InvalidStateSRQError InvalidStateSRQShutdown PrivilegesRDMARead
//constants:without PrivilegesRDMAWrite ProtectionRDMARead ProtectionRDMAWrite MajorNotFound MinorNotFound
//constants:without ThreadSafetyNotFound
//constants:error
type ReturnSubtype uint32
