package udat

import "github.com/goudat/goudat/cgo"

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
