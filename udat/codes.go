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

// IB returns the code without its class, for comparison with those that the
// InfiniBand extensions have added to the type ErrExtensionBase.
func (r Return) IB() IBReturn { return IBReturn(cgo.Return(r).IB()) }

// String returns the C names of type and subtype.
func (r Return) String() string { return cgo.Return(r).String() }

// ReturnClass is the class part of a DAT_RETURN. Each value but ClassSuccess is
// an error that matches, with errors.Is, any Error of that class. The providers
// leave the class out of many codes: ClassError matches those as well.
type ReturnClass uint32

// String returns the C name.
func (v ReturnClass) String() string { return cgo.ReturnClass(v).String() }

// Error returns the C name.
func (v ReturnClass) Error() string { return v.String() }

// The classes.
const (
	ClassSuccess ReturnClass = ReturnClass(cgo.ReturnClassSuccess) // DAT_CLASS_SUCCESS
	ClassWarning ReturnClass = ReturnClass(cgo.ReturnClassWarning) // DAT_CLASS_WARNING
	ClassError   ReturnClass = ReturnClass(cgo.ReturnClassError)   // DAT_CLASS_ERROR
)

// ReturnType is the type part of a DAT_RETURN. Each value is an error that
// matches, with errors.Is, any Error of that type whatever its subtype.
type ReturnType uint32

// String returns the C name.
func (v ReturnType) String() string { return cgo.ReturnType(v).String() }

// Error returns the C name.
func (v ReturnType) Error() string { return v.String() }

// Return returns the code that has the type and nothing else.
func (v ReturnType) Return() Return { return Return(v) }

// The errors by type. What the extensions of all transports have added is of the
// type ErrExtensionBase; IBReturn tells more.
const (
	ErrAbort                     ReturnType = ReturnType(cgo.Abort)                     // DAT_ABORT
	ErrConnQualInUse             ReturnType = ReturnType(cgo.ConnQualInUse)             // DAT_CONN_QUAL_IN_USE
	ErrInsufficientResources     ReturnType = ReturnType(cgo.InsufficientResources)     // DAT_INSUFFICIENT_RESOURCES
	ErrInternalError             ReturnType = ReturnType(cgo.InternalError)             // DAT_INTERNAL_ERROR
	ErrInvalidHandle             ReturnType = ReturnType(cgo.InvalidHandle)             // DAT_INVALID_HANDLE
	ErrInvalidParameter          ReturnType = ReturnType(cgo.InvalidParameter)          // DAT_INVALID_PARAMETER
	ErrInvalidState              ReturnType = ReturnType(cgo.InvalidState)              // DAT_INVALID_STATE
	ErrLengthError               ReturnType = ReturnType(cgo.LengthError)               // DAT_LENGTH_ERROR
	ErrModelNotSupported         ReturnType = ReturnType(cgo.ModelNotSupported)         // DAT_MODEL_NOT_SUPPORTED
	ErrProviderNotFound          ReturnType = ReturnType(cgo.ProviderNotFound)          // DAT_PROVIDER_NOT_FOUND
	ErrPrivilegesViolation       ReturnType = ReturnType(cgo.PrivilegesViolation)       // DAT_PRIVILEGES_VIOLATION
	ErrProtectionViolation       ReturnType = ReturnType(cgo.ProtectionViolation)       // DAT_PROTECTION_VIOLATION
	ErrQueueEmpty                ReturnType = ReturnType(cgo.QueueEmpty)                // DAT_QUEUE_EMPTY
	ErrQueueFull                 ReturnType = ReturnType(cgo.QueueFull)                 // DAT_QUEUE_FULL
	ErrTimeoutExpired            ReturnType = ReturnType(cgo.TimeoutExpired)            // DAT_TIMEOUT_EXPIRED
	ErrProviderAlreadyRegistered ReturnType = ReturnType(cgo.ProviderAlreadyRegistered) // DAT_PROVIDER_ALREADY_REGISTERED
	ErrProviderInUse             ReturnType = ReturnType(cgo.ProviderInUse)             // DAT_PROVIDER_IN_USE
	ErrInvalidAddress            ReturnType = ReturnType(cgo.InvalidAddress)            // DAT_INVALID_ADDRESS
	ErrInterruptedCall           ReturnType = ReturnType(cgo.InterruptedCall)           // DAT_INTERRUPTED_CALL
	ErrConnQualUnavailable       ReturnType = ReturnType(cgo.ConnQualUnavailable)       // DAT_CONN_QUAL_UNAVAILABLE
	ErrReservedLMR               ReturnType = ReturnType(cgo.ReservedLMR)               // DAT_RESERVED_LMR
	ErrPortInUse                 ReturnType = ReturnType(cgo.PortInUse)                 // DAT_PORT_IN_USE
	ErrCommNotSupported          ReturnType = ReturnType(cgo.CommNotSupported)          // DAT_COMM_NOT_SUPPORTED
	ErrExtensionBase             ReturnType = ReturnType(cgo.ExtensionBase)             // DAT_EXTENSION_BASE
	ErrNotImplemented            ReturnType = ReturnType(cgo.NotImplemented)            // DAT_NOT_IMPLEMENTED
)

// ReturnSubtype is the subtype part of a DAT_RETURN. Each value but NoSubtype
// is an error that matches, with errors.Is, any Error of that subtype. Those of
// the type ErrExtensionBase have none.
type ReturnSubtype uint32

// String returns the C name.
func (v ReturnSubtype) String() string { return cgo.ReturnSubtype(v).String() }

// Error returns the C name.
func (v ReturnSubtype) Error() string { return v.String() }

// The errors by subtype.
const (
	NoSubtype                      ReturnSubtype = ReturnSubtype(cgo.NoSubtype)                      // DAT_NO_SUBTYPE
	SubInterrupted                 ReturnSubtype = ReturnSubtype(cgo.SubInterrupted)                 // DAT_SUB_INTERRUPTED
	ResourceMemory                 ReturnSubtype = ReturnSubtype(cgo.ResourceMemory)                 // DAT_RESOURCE_MEMORY
	ResourceDevice                 ReturnSubtype = ReturnSubtype(cgo.ResourceDevice)                 // DAT_RESOURCE_DEVICE
	ResourceTEP                    ReturnSubtype = ReturnSubtype(cgo.ResourceTEP)                    // DAT_RESOURCE_TEP
	ResourceTEVD                   ReturnSubtype = ReturnSubtype(cgo.ResourceTEVD)                   // DAT_RESOURCE_TEVD
	ResourceProtectionDomain       ReturnSubtype = ReturnSubtype(cgo.ResourceProtectionDomain)       // DAT_RESOURCE_PROTECTION_DOMAIN
	ResourceMemoryRegion           ReturnSubtype = ReturnSubtype(cgo.ResourceMemoryRegion)           // DAT_RESOURCE_MEMORY_REGION
	ResourceErrorHandler           ReturnSubtype = ReturnSubtype(cgo.ResourceErrorHandler)           // DAT_RESOURCE_ERROR_HANDLER
	ResourceCredits                ReturnSubtype = ReturnSubtype(cgo.ResourceCredits)                // DAT_RESOURCE_CREDITS
	ResourceSRQ                    ReturnSubtype = ReturnSubtype(cgo.ResourceSRQ)                    // DAT_RESOURCE_SRQ
	InvalidHandleIA                ReturnSubtype = ReturnSubtype(cgo.InvalidHandleIA)                // DAT_INVALID_HANDLE_IA
	InvalidHandleEP                ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEP)                // DAT_INVALID_HANDLE_EP
	InvalidHandleLMR               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleLMR)               // DAT_INVALID_HANDLE_LMR
	InvalidHandleRMR               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleRMR)               // DAT_INVALID_HANDLE_RMR
	InvalidHandlePZ                ReturnSubtype = ReturnSubtype(cgo.InvalidHandlePZ)                // DAT_INVALID_HANDLE_PZ
	InvalidHandlePSP               ReturnSubtype = ReturnSubtype(cgo.InvalidHandlePSP)               // DAT_INVALID_HANDLE_PSP
	InvalidHandleRSP               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleRSP)               // DAT_INVALID_HANDLE_RSP
	InvalidHandleCR                ReturnSubtype = ReturnSubtype(cgo.InvalidHandleCR)                // DAT_INVALID_HANDLE_CR
	InvalidHandleCNO               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleCNO)               // DAT_INVALID_HANDLE_CNO
	InvalidHandleEVDCR             ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEVDCR)             // DAT_INVALID_HANDLE_EVD_CR
	InvalidHandleEVDRequest        ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEVDRequest)        // DAT_INVALID_HANDLE_EVD_REQUEST
	InvalidHandleEVDRecv           ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEVDRecv)           // DAT_INVALID_HANDLE_EVD_RECV
	InvalidHandleEVDConn           ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEVDConn)           // DAT_INVALID_HANDLE_EVD_CONN
	InvalidHandleEVDAsync          ReturnSubtype = ReturnSubtype(cgo.InvalidHandleEVDAsync)          // DAT_INVALID_HANDLE_EVD_ASYNC
	InvalidHandleSRQ               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleSRQ)               // DAT_INVALID_HANDLE_SRQ
	InvalidHandleCSP               ReturnSubtype = ReturnSubtype(cgo.InvalidHandleCSP)               // DAT_INVALID_HANDLE_CSP
	InvalidHandle1                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle1)                 // DAT_INVALID_HANDLE1
	InvalidHandle2                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle2)                 // DAT_INVALID_HANDLE2
	InvalidHandle3                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle3)                 // DAT_INVALID_HANDLE3
	InvalidHandle4                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle4)                 // DAT_INVALID_HANDLE4
	InvalidHandle5                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle5)                 // DAT_INVALID_HANDLE5
	InvalidHandle6                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle6)                 // DAT_INVALID_HANDLE6
	InvalidHandle7                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle7)                 // DAT_INVALID_HANDLE7
	InvalidHandle8                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle8)                 // DAT_INVALID_HANDLE8
	InvalidHandle9                 ReturnSubtype = ReturnSubtype(cgo.InvalidHandle9)                 // DAT_INVALID_HANDLE9
	InvalidHandle10                ReturnSubtype = ReturnSubtype(cgo.InvalidHandle10)                // DAT_INVALID_HANDLE10
	InvalidArg1                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg1)                    // DAT_INVALID_ARG1
	InvalidArg2                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg2)                    // DAT_INVALID_ARG2
	InvalidArg3                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg3)                    // DAT_INVALID_ARG3
	InvalidArg4                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg4)                    // DAT_INVALID_ARG4
	InvalidArg5                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg5)                    // DAT_INVALID_ARG5
	InvalidArg6                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg6)                    // DAT_INVALID_ARG6
	InvalidArg7                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg7)                    // DAT_INVALID_ARG7
	InvalidArg8                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg8)                    // DAT_INVALID_ARG8
	InvalidArg9                    ReturnSubtype = ReturnSubtype(cgo.InvalidArg9)                    // DAT_INVALID_ARG9
	InvalidArg10                   ReturnSubtype = ReturnSubtype(cgo.InvalidArg10)                   // DAT_INVALID_ARG10
	InvalidStateEPUnconnected      ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPUnconnected)      // DAT_INVALID_STATE_EP_UNCONNECTED
	InvalidStateEPActConnPending   ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPActConnPending)   // DAT_INVALID_STATE_EP_ACTCONNPENDING
	InvalidStateEPPassConnPending  ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPPassConnPending)  // DAT_INVALID_STATE_EP_PASSCONNPENDING
	InvalidStateEPTentConnPending  ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPTentConnPending)  // DAT_INVALID_STATE_EP_TENTCONNPENDING
	InvalidStateEPConnected        ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPConnected)        // DAT_INVALID_STATE_EP_CONNECTED
	InvalidStateEPDisconnected     ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPDisconnected)     // DAT_INVALID_STATE_EP_DISCONNECTED
	InvalidStateEPReserved         ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPReserved)         // DAT_INVALID_STATE_EP_RESERVED
	InvalidStateEPComplPending     ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPComplPending)     // DAT_INVALID_STATE_EP_COMPLPENDING
	InvalidStateEPDiscPending      ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPDiscPending)      // DAT_INVALID_STATE_EP_DISCPENDING
	InvalidStateEPProviderControl  ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPProviderControl)  // DAT_INVALID_STATE_EP_PROVIDERCONTROL
	InvalidStateEPNotReady         ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPNotReady)         // DAT_INVALID_STATE_EP_NOTREADY
	InvalidStateEPRecvWatermark    ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPRecvWatermark)    // DAT_INVALID_STATE_EP_RECV_WATERMARK
	InvalidStateEPPZ               ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPPZ)               // DAT_INVALID_STATE_EP_PZ
	InvalidStateEPEVDRequest       ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPEVDRequest)       // DAT_INVALID_STATE_EP_EVD_REQUEST
	InvalidStateEPEVDRecv          ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPEVDRecv)          // DAT_INVALID_STATE_EP_EVD_RECV
	InvalidStateEPEVDConnect       ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPEVDConnect)       // DAT_INVALID_STATE_EP_EVD_CONNECT
	InvalidStateEPUnconfigured     ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPUnconfigured)     // DAT_INVALID_STATE_EP_UNCONFIGURED
	InvalidStateEPUnconfReserved   ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPUnconfReserved)   // DAT_INVALID_STATE_EP_UNCONFRESERVED
	InvalidStateEPUnconfPassive    ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPUnconfPassive)    // DAT_INVALID_STATE_EP_UNCONFPASSIVE
	InvalidStateEPUnconfTentative  ReturnSubtype = ReturnSubtype(cgo.InvalidStateEPUnconfTentative)  // DAT_INVALID_STATE_EP_UNCONFTENTATIVE
	InvalidStateCNOInUse           ReturnSubtype = ReturnSubtype(cgo.InvalidStateCNOInUse)           // DAT_INVALID_STATE_CNO_IN_USE
	InvalidStateCNODead            ReturnSubtype = ReturnSubtype(cgo.InvalidStateCNODead)            // DAT_INVALID_STATE_CNO_DEAD
	InvalidStateEVDOpen            ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDOpen)            // DAT_INVALID_STATE_EVD_OPEN
	InvalidStateEVDEnabled         ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDEnabled)         // DAT_INVALID_STATE_EVD_ENABLED
	InvalidStateEVDDisabled        ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDDisabled)        // DAT_INVALID_STATE_EVD_DISABLED
	InvalidStateEVDWaitable        ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDWaitable)        // DAT_INVALID_STATE_EVD_WAITABLE
	InvalidStateEVDUnwaitable      ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDUnwaitable)      // DAT_INVALID_STATE_EVD_UNWAITABLE
	InvalidStateEVDInUse           ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDInUse)           // DAT_INVALID_STATE_EVD_IN_USE
	InvalidStateEVDConfigNotify    ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDConfigNotify)    // DAT_INVALID_STATE_EVD_CONFIG_NOTIFY
	InvalidStateEVDConfigSolicited ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDConfigSolicited) // DAT_INVALID_STATE_EVD_CONFIG_SOLICITED
	InvalidStateEVDConfigThreshold ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDConfigThreshold) // DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD
	InvalidStateEVDWaiter          ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDWaiter)          // DAT_INVALID_STATE_EVD_WAITER
	InvalidStateEVDAsync           ReturnSubtype = ReturnSubtype(cgo.InvalidStateEVDAsync)           // DAT_INVALID_STATE_EVD_ASYNC
	InvalidStateIAInUse            ReturnSubtype = ReturnSubtype(cgo.InvalidStateIAInUse)            // DAT_INVALID_STATE_IA_IN_USE
	InvalidStateLMRInUse           ReturnSubtype = ReturnSubtype(cgo.InvalidStateLMRInUse)           // DAT_INVALID_STATE_LMR_IN_USE
	InvalidStateLMRFree            ReturnSubtype = ReturnSubtype(cgo.InvalidStateLMRFree)            // DAT_INVALID_STATE_LMR_FREE
	InvalidStatePZInUse            ReturnSubtype = ReturnSubtype(cgo.InvalidStatePZInUse)            // DAT_INVALID_STATE_PZ_IN_USE
	InvalidStatePZFree             ReturnSubtype = ReturnSubtype(cgo.InvalidStatePZFree)             // DAT_INVALID_STATE_PZ_FREE
	InvalidStateSRQOperational     ReturnSubtype = ReturnSubtype(cgo.InvalidStateSRQOperational)     // DAT_INVALID_STATE_SRQ_OPERATIONAL
	InvalidStateSRQError           ReturnSubtype = ReturnSubtype(cgo.InvalidStateSRQError)           // DAT_INVALID_STATE_SRQ_ERROR
	InvalidStateSRQInUse           ReturnSubtype = ReturnSubtype(cgo.InvalidStateSRQInUse)           // DAT_INVALID_STATE_SRQ_IN_USE
	InvalidStateSRQShutdown        ReturnSubtype = ReturnSubtype(cgo.InvalidStateSRQShutdown)        // DAT_INVALID_STATE_SRQ_SHUTDOWN
	PrivilegesRead                 ReturnSubtype = ReturnSubtype(cgo.PrivilegesRead)                 // DAT_PRIVILEGES_READ
	PrivilegesWrite                ReturnSubtype = ReturnSubtype(cgo.PrivilegesWrite)                // DAT_PRIVILEGES_WRITE
	PrivilegesRDMARead             ReturnSubtype = ReturnSubtype(cgo.PrivilegesRDMARead)             // DAT_PRIVILEGES_RDMA_READ
	PrivilegesRDMAWrite            ReturnSubtype = ReturnSubtype(cgo.PrivilegesRDMAWrite)            // DAT_PRIVILEGES_RDMA_WRITE
	ProtectionRead                 ReturnSubtype = ReturnSubtype(cgo.ProtectionRead)                 // DAT_PROTECTION_READ
	ProtectionWrite                ReturnSubtype = ReturnSubtype(cgo.ProtectionWrite)                // DAT_PROTECTION_WRITE
	ProtectionRDMARead             ReturnSubtype = ReturnSubtype(cgo.ProtectionRDMARead)             // DAT_PROTECTION_RDMA_READ
	ProtectionRDMAWrite            ReturnSubtype = ReturnSubtype(cgo.ProtectionRDMAWrite)            // DAT_PROTECTION_RDMA_WRITE
	InvalidAddressUnsupported      ReturnSubtype = ReturnSubtype(cgo.InvalidAddressUnsupported)      // DAT_INVALID_ADDRESS_UNSUPPORTED
	InvalidAddressUnreachable      ReturnSubtype = ReturnSubtype(cgo.InvalidAddressUnreachable)      // DAT_INVALID_ADDRESS_UNREACHABLE
	InvalidAddressMalformed        ReturnSubtype = ReturnSubtype(cgo.InvalidAddressMalformed)        // DAT_INVALID_ADDRESS_MALFORMED
	NameNotRegistered              ReturnSubtype = ReturnSubtype(cgo.NameNotRegistered)              // DAT_NAME_NOT_REGISTERED
	MajorNotFound                  ReturnSubtype = ReturnSubtype(cgo.MajorNotFound)                  // DAT_MAJOR_NOT_FOUND
	MinorNotFound                  ReturnSubtype = ReturnSubtype(cgo.MinorNotFound)                  // DAT_MINOR_NOT_FOUND
	ThreadSafetyNotFound           ReturnSubtype = ReturnSubtype(cgo.ThreadSafetyNotFound)           // DAT_THREAD_SAFETY_NOT_FOUND
)

// IBReturn is a code of the InfiniBand extensions. Each value is an error that
// matches, with errors.Is, an Error with exactly that code.
type IBReturn uint32

// String returns the C name.
func (v IBReturn) String() string { return cgo.IBReturn(v).String() }

// Error returns the C name.
func (v IBReturn) Error() string { return v.String() }

// The errors of the InfiniBand extensions.
const (
	ErrIB           IBReturn = IBReturn(cgo.IBErr)           // DAT_IB_ERR
	ErrIBCollective IBReturn = IBReturn(cgo.IBCollectiveErr) // DAT_IB_COLLECTIVE_ERR
)
