package udat

import "github.com/goudat/goudat/cgo"

// ReturnClass is the class part of a DAT_RETURN. Each value but ClassSuccess is
// an error that matches, with errors.Is, any Error of that class. The providers
// leave the class out of many codes: ClassError matches those as well.
type ReturnClass = cgo.ReturnClass

// The classes.
const (
	ClassSuccess ReturnClass = cgo.ReturnClassSuccess // DAT_CLASS_SUCCESS
	ClassWarning ReturnClass = cgo.ReturnClassWarning // DAT_CLASS_WARNING
	ClassError   ReturnClass = cgo.ReturnClassError   // DAT_CLASS_ERROR
)

// ReturnType is the type part of a DAT_RETURN. Each value is an error that
// matches, with errors.Is, any Error of that type whatever its subtype.
type ReturnType = cgo.ReturnType

// The errors by type. What the extensions of all transports have added is of the
// type ErrExtensionBase; IBReturn tells more.
const (
	ErrAbort                     ReturnType = cgo.Abort                     // DAT_ABORT
	ErrConnQualInUse             ReturnType = cgo.ConnQualInUse             // DAT_CONN_QUAL_IN_USE
	ErrInsufficientResources     ReturnType = cgo.InsufficientResources     // DAT_INSUFFICIENT_RESOURCES
	ErrInternalError             ReturnType = cgo.InternalError             // DAT_INTERNAL_ERROR
	ErrInvalidHandle             ReturnType = cgo.InvalidHandle             // DAT_INVALID_HANDLE
	ErrInvalidParameter          ReturnType = cgo.InvalidParameter          // DAT_INVALID_PARAMETER
	ErrInvalidState              ReturnType = cgo.InvalidState              // DAT_INVALID_STATE
	ErrLengthError               ReturnType = cgo.LengthError               // DAT_LENGTH_ERROR
	ErrModelNotSupported         ReturnType = cgo.ModelNotSupported         // DAT_MODEL_NOT_SUPPORTED
	ErrProviderNotFound          ReturnType = cgo.ProviderNotFound          // DAT_PROVIDER_NOT_FOUND
	ErrPrivilegesViolation       ReturnType = cgo.PrivilegesViolation       // DAT_PRIVILEGES_VIOLATION
	ErrProtectionViolation       ReturnType = cgo.ProtectionViolation       // DAT_PROTECTION_VIOLATION
	ErrQueueEmpty                ReturnType = cgo.QueueEmpty                // DAT_QUEUE_EMPTY
	ErrQueueFull                 ReturnType = cgo.QueueFull                 // DAT_QUEUE_FULL
	ErrTimeoutExpired            ReturnType = cgo.TimeoutExpired            // DAT_TIMEOUT_EXPIRED
	ErrProviderAlreadyRegistered ReturnType = cgo.ProviderAlreadyRegistered // DAT_PROVIDER_ALREADY_REGISTERED
	ErrProviderInUse             ReturnType = cgo.ProviderInUse             // DAT_PROVIDER_IN_USE
	ErrInvalidAddress            ReturnType = cgo.InvalidAddress            // DAT_INVALID_ADDRESS
	ErrInterruptedCall           ReturnType = cgo.InterruptedCall           // DAT_INTERRUPTED_CALL
	ErrConnQualUnavailable       ReturnType = cgo.ConnQualUnavailable       // DAT_CONN_QUAL_UNAVAILABLE
	ErrReservedLMR               ReturnType = cgo.ReservedLMR               // DAT_RESERVED_LMR
	ErrPortInUse                 ReturnType = cgo.PortInUse                 // DAT_PORT_IN_USE
	ErrCommNotSupported          ReturnType = cgo.CommNotSupported          // DAT_COMM_NOT_SUPPORTED
	ErrExtensionBase             ReturnType = cgo.ExtensionBase             // DAT_EXTENSION_BASE
	ErrNotImplemented            ReturnType = cgo.NotImplemented            // DAT_NOT_IMPLEMENTED
)

// ReturnSubtype is the subtype part of a DAT_RETURN. Each value but NoSubtype
// is an error that matches, with errors.Is, any Error of that subtype. Those of
// the type ErrExtensionBase have none.
type ReturnSubtype = cgo.ReturnSubtype

// The errors by subtype.
const (
	NoSubtype                      ReturnSubtype = cgo.NoSubtype                      // DAT_NO_SUBTYPE
	SubInterrupted                 ReturnSubtype = cgo.SubInterrupted                 // DAT_SUB_INTERRUPTED
	ResourceMemory                 ReturnSubtype = cgo.ResourceMemory                 // DAT_RESOURCE_MEMORY
	ResourceDevice                 ReturnSubtype = cgo.ResourceDevice                 // DAT_RESOURCE_DEVICE
	ResourceTEP                    ReturnSubtype = cgo.ResourceTEP                    // DAT_RESOURCE_TEP
	ResourceTEVD                   ReturnSubtype = cgo.ResourceTEVD                   // DAT_RESOURCE_TEVD
	ResourceProtectionDomain       ReturnSubtype = cgo.ResourceProtectionDomain       // DAT_RESOURCE_PROTECTION_DOMAIN
	ResourceMemoryRegion           ReturnSubtype = cgo.ResourceMemoryRegion           // DAT_RESOURCE_MEMORY_REGION
	ResourceErrorHandler           ReturnSubtype = cgo.ResourceErrorHandler           // DAT_RESOURCE_ERROR_HANDLER
	ResourceCredits                ReturnSubtype = cgo.ResourceCredits                // DAT_RESOURCE_CREDITS
	ResourceSRQ                    ReturnSubtype = cgo.ResourceSRQ                    // DAT_RESOURCE_SRQ
	InvalidHandleIA                ReturnSubtype = cgo.InvalidHandleIA                // DAT_INVALID_HANDLE_IA
	InvalidHandleEP                ReturnSubtype = cgo.InvalidHandleEP                // DAT_INVALID_HANDLE_EP
	InvalidHandleLMR               ReturnSubtype = cgo.InvalidHandleLMR               // DAT_INVALID_HANDLE_LMR
	InvalidHandleRMR               ReturnSubtype = cgo.InvalidHandleRMR               // DAT_INVALID_HANDLE_RMR
	InvalidHandlePZ                ReturnSubtype = cgo.InvalidHandlePZ                // DAT_INVALID_HANDLE_PZ
	InvalidHandlePSP               ReturnSubtype = cgo.InvalidHandlePSP               // DAT_INVALID_HANDLE_PSP
	InvalidHandleRSP               ReturnSubtype = cgo.InvalidHandleRSP               // DAT_INVALID_HANDLE_RSP
	InvalidHandleCR                ReturnSubtype = cgo.InvalidHandleCR                // DAT_INVALID_HANDLE_CR
	InvalidHandleCNO               ReturnSubtype = cgo.InvalidHandleCNO               // DAT_INVALID_HANDLE_CNO
	InvalidHandleEVDCR             ReturnSubtype = cgo.InvalidHandleEVDCR             // DAT_INVALID_HANDLE_EVD_CR
	InvalidHandleEVDRequest        ReturnSubtype = cgo.InvalidHandleEVDRequest        // DAT_INVALID_HANDLE_EVD_REQUEST
	InvalidHandleEVDRecv           ReturnSubtype = cgo.InvalidHandleEVDRecv           // DAT_INVALID_HANDLE_EVD_RECV
	InvalidHandleEVDConn           ReturnSubtype = cgo.InvalidHandleEVDConn           // DAT_INVALID_HANDLE_EVD_CONN
	InvalidHandleEVDAsync          ReturnSubtype = cgo.InvalidHandleEVDAsync          // DAT_INVALID_HANDLE_EVD_ASYNC
	InvalidHandleSRQ               ReturnSubtype = cgo.InvalidHandleSRQ               // DAT_INVALID_HANDLE_SRQ
	InvalidHandleCSP               ReturnSubtype = cgo.InvalidHandleCSP               // DAT_INVALID_HANDLE_CSP
	InvalidHandle1                 ReturnSubtype = cgo.InvalidHandle1                 // DAT_INVALID_HANDLE1
	InvalidHandle2                 ReturnSubtype = cgo.InvalidHandle2                 // DAT_INVALID_HANDLE2
	InvalidHandle3                 ReturnSubtype = cgo.InvalidHandle3                 // DAT_INVALID_HANDLE3
	InvalidHandle4                 ReturnSubtype = cgo.InvalidHandle4                 // DAT_INVALID_HANDLE4
	InvalidHandle5                 ReturnSubtype = cgo.InvalidHandle5                 // DAT_INVALID_HANDLE5
	InvalidHandle6                 ReturnSubtype = cgo.InvalidHandle6                 // DAT_INVALID_HANDLE6
	InvalidHandle7                 ReturnSubtype = cgo.InvalidHandle7                 // DAT_INVALID_HANDLE7
	InvalidHandle8                 ReturnSubtype = cgo.InvalidHandle8                 // DAT_INVALID_HANDLE8
	InvalidHandle9                 ReturnSubtype = cgo.InvalidHandle9                 // DAT_INVALID_HANDLE9
	InvalidHandle10                ReturnSubtype = cgo.InvalidHandle10                // DAT_INVALID_HANDLE10
	InvalidArg1                    ReturnSubtype = cgo.InvalidArg1                    // DAT_INVALID_ARG1
	InvalidArg2                    ReturnSubtype = cgo.InvalidArg2                    // DAT_INVALID_ARG2
	InvalidArg3                    ReturnSubtype = cgo.InvalidArg3                    // DAT_INVALID_ARG3
	InvalidArg4                    ReturnSubtype = cgo.InvalidArg4                    // DAT_INVALID_ARG4
	InvalidArg5                    ReturnSubtype = cgo.InvalidArg5                    // DAT_INVALID_ARG5
	InvalidArg6                    ReturnSubtype = cgo.InvalidArg6                    // DAT_INVALID_ARG6
	InvalidArg7                    ReturnSubtype = cgo.InvalidArg7                    // DAT_INVALID_ARG7
	InvalidArg8                    ReturnSubtype = cgo.InvalidArg8                    // DAT_INVALID_ARG8
	InvalidArg9                    ReturnSubtype = cgo.InvalidArg9                    // DAT_INVALID_ARG9
	InvalidArg10                   ReturnSubtype = cgo.InvalidArg10                   // DAT_INVALID_ARG10
	InvalidStateEPUnconnected      ReturnSubtype = cgo.InvalidStateEPUnconnected      // DAT_INVALID_STATE_EP_UNCONNECTED
	InvalidStateEPActConnPending   ReturnSubtype = cgo.InvalidStateEPActConnPending   // DAT_INVALID_STATE_EP_ACTCONNPENDING
	InvalidStateEPPassConnPending  ReturnSubtype = cgo.InvalidStateEPPassConnPending  // DAT_INVALID_STATE_EP_PASSCONNPENDING
	InvalidStateEPTentConnPending  ReturnSubtype = cgo.InvalidStateEPTentConnPending  // DAT_INVALID_STATE_EP_TENTCONNPENDING
	InvalidStateEPConnected        ReturnSubtype = cgo.InvalidStateEPConnected        // DAT_INVALID_STATE_EP_CONNECTED
	InvalidStateEPDisconnected     ReturnSubtype = cgo.InvalidStateEPDisconnected     // DAT_INVALID_STATE_EP_DISCONNECTED
	InvalidStateEPReserved         ReturnSubtype = cgo.InvalidStateEPReserved         // DAT_INVALID_STATE_EP_RESERVED
	InvalidStateEPComplPending     ReturnSubtype = cgo.InvalidStateEPComplPending     // DAT_INVALID_STATE_EP_COMPLPENDING
	InvalidStateEPDiscPending      ReturnSubtype = cgo.InvalidStateEPDiscPending      // DAT_INVALID_STATE_EP_DISCPENDING
	InvalidStateEPProviderControl  ReturnSubtype = cgo.InvalidStateEPProviderControl  // DAT_INVALID_STATE_EP_PROVIDERCONTROL
	InvalidStateEPNotReady         ReturnSubtype = cgo.InvalidStateEPNotReady         // DAT_INVALID_STATE_EP_NOTREADY
	InvalidStateEPRecvWatermark    ReturnSubtype = cgo.InvalidStateEPRecvWatermark    // DAT_INVALID_STATE_EP_RECV_WATERMARK
	InvalidStateEPPZ               ReturnSubtype = cgo.InvalidStateEPPZ               // DAT_INVALID_STATE_EP_PZ
	InvalidStateEPEVDRequest       ReturnSubtype = cgo.InvalidStateEPEVDRequest       // DAT_INVALID_STATE_EP_EVD_REQUEST
	InvalidStateEPEVDRecv          ReturnSubtype = cgo.InvalidStateEPEVDRecv          // DAT_INVALID_STATE_EP_EVD_RECV
	InvalidStateEPEVDConnect       ReturnSubtype = cgo.InvalidStateEPEVDConnect       // DAT_INVALID_STATE_EP_EVD_CONNECT
	InvalidStateEPUnconfigured     ReturnSubtype = cgo.InvalidStateEPUnconfigured     // DAT_INVALID_STATE_EP_UNCONFIGURED
	InvalidStateEPUnconfReserved   ReturnSubtype = cgo.InvalidStateEPUnconfReserved   // DAT_INVALID_STATE_EP_UNCONFRESERVED
	InvalidStateEPUnconfPassive    ReturnSubtype = cgo.InvalidStateEPUnconfPassive    // DAT_INVALID_STATE_EP_UNCONFPASSIVE
	InvalidStateEPUnconfTentative  ReturnSubtype = cgo.InvalidStateEPUnconfTentative  // DAT_INVALID_STATE_EP_UNCONFTENTATIVE
	InvalidStateCNOInUse           ReturnSubtype = cgo.InvalidStateCNOInUse           // DAT_INVALID_STATE_CNO_IN_USE
	InvalidStateCNODead            ReturnSubtype = cgo.InvalidStateCNODead            // DAT_INVALID_STATE_CNO_DEAD
	InvalidStateEVDOpen            ReturnSubtype = cgo.InvalidStateEVDOpen            // DAT_INVALID_STATE_EVD_OPEN
	InvalidStateEVDEnabled         ReturnSubtype = cgo.InvalidStateEVDEnabled         // DAT_INVALID_STATE_EVD_ENABLED
	InvalidStateEVDDisabled        ReturnSubtype = cgo.InvalidStateEVDDisabled        // DAT_INVALID_STATE_EVD_DISABLED
	InvalidStateEVDWaitable        ReturnSubtype = cgo.InvalidStateEVDWaitable        // DAT_INVALID_STATE_EVD_WAITABLE
	InvalidStateEVDUnwaitable      ReturnSubtype = cgo.InvalidStateEVDUnwaitable      // DAT_INVALID_STATE_EVD_UNWAITABLE
	InvalidStateEVDInUse           ReturnSubtype = cgo.InvalidStateEVDInUse           // DAT_INVALID_STATE_EVD_IN_USE
	InvalidStateEVDConfigNotify    ReturnSubtype = cgo.InvalidStateEVDConfigNotify    // DAT_INVALID_STATE_EVD_CONFIG_NOTIFY
	InvalidStateEVDConfigSolicited ReturnSubtype = cgo.InvalidStateEVDConfigSolicited // DAT_INVALID_STATE_EVD_CONFIG_SOLICITED
	InvalidStateEVDConfigThreshold ReturnSubtype = cgo.InvalidStateEVDConfigThreshold // DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD
	InvalidStateEVDWaiter          ReturnSubtype = cgo.InvalidStateEVDWaiter          // DAT_INVALID_STATE_EVD_WAITER
	InvalidStateEVDAsync           ReturnSubtype = cgo.InvalidStateEVDAsync           // DAT_INVALID_STATE_EVD_ASYNC
	InvalidStateIAInUse            ReturnSubtype = cgo.InvalidStateIAInUse            // DAT_INVALID_STATE_IA_IN_USE
	InvalidStateLMRInUse           ReturnSubtype = cgo.InvalidStateLMRInUse           // DAT_INVALID_STATE_LMR_IN_USE
	InvalidStateLMRFree            ReturnSubtype = cgo.InvalidStateLMRFree            // DAT_INVALID_STATE_LMR_FREE
	InvalidStatePZInUse            ReturnSubtype = cgo.InvalidStatePZInUse            // DAT_INVALID_STATE_PZ_IN_USE
	InvalidStatePZFree             ReturnSubtype = cgo.InvalidStatePZFree             // DAT_INVALID_STATE_PZ_FREE
	InvalidStateSRQOperational     ReturnSubtype = cgo.InvalidStateSRQOperational     // DAT_INVALID_STATE_SRQ_OPERATIONAL
	InvalidStateSRQError           ReturnSubtype = cgo.InvalidStateSRQError           // DAT_INVALID_STATE_SRQ_ERROR
	InvalidStateSRQInUse           ReturnSubtype = cgo.InvalidStateSRQInUse           // DAT_INVALID_STATE_SRQ_IN_USE
	InvalidStateSRQShutdown        ReturnSubtype = cgo.InvalidStateSRQShutdown        // DAT_INVALID_STATE_SRQ_SHUTDOWN
	PrivilegesRead                 ReturnSubtype = cgo.PrivilegesRead                 // DAT_PRIVILEGES_READ
	PrivilegesWrite                ReturnSubtype = cgo.PrivilegesWrite                // DAT_PRIVILEGES_WRITE
	PrivilegesRDMARead             ReturnSubtype = cgo.PrivilegesRDMARead             // DAT_PRIVILEGES_RDMA_READ
	PrivilegesRDMAWrite            ReturnSubtype = cgo.PrivilegesRDMAWrite            // DAT_PRIVILEGES_RDMA_WRITE
	ProtectionRead                 ReturnSubtype = cgo.ProtectionRead                 // DAT_PROTECTION_READ
	ProtectionWrite                ReturnSubtype = cgo.ProtectionWrite                // DAT_PROTECTION_WRITE
	ProtectionRDMARead             ReturnSubtype = cgo.ProtectionRDMARead             // DAT_PROTECTION_RDMA_READ
	ProtectionRDMAWrite            ReturnSubtype = cgo.ProtectionRDMAWrite            // DAT_PROTECTION_RDMA_WRITE
	InvalidAddressUnsupported      ReturnSubtype = cgo.InvalidAddressUnsupported      // DAT_INVALID_ADDRESS_UNSUPPORTED
	InvalidAddressUnreachable      ReturnSubtype = cgo.InvalidAddressUnreachable      // DAT_INVALID_ADDRESS_UNREACHABLE
	InvalidAddressMalformed        ReturnSubtype = cgo.InvalidAddressMalformed        // DAT_INVALID_ADDRESS_MALFORMED
	NameNotRegistered              ReturnSubtype = cgo.NameNotRegistered              // DAT_NAME_NOT_REGISTERED
	MajorNotFound                  ReturnSubtype = cgo.MajorNotFound                  // DAT_MAJOR_NOT_FOUND
	MinorNotFound                  ReturnSubtype = cgo.MinorNotFound                  // DAT_MINOR_NOT_FOUND
	ThreadSafetyNotFound           ReturnSubtype = cgo.ThreadSafetyNotFound           // DAT_THREAD_SAFETY_NOT_FOUND
)

// IBReturn is a code of the InfiniBand extensions. Each value is an error that
// matches, with errors.Is, an Error with that very code.
type IBReturn = cgo.IBReturn

// The errors of the InfiniBand extensions.
const (
	ErrIB           IBReturn = cgo.IBErr           // DAT_IB_ERR
	ErrIBCollective IBReturn = cgo.IBCollectiveErr // DAT_IB_COLLECTIVE_ERR
)
