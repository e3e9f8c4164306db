package cgo

// Return is what every call of the library returns, DAT_RETURN: a class, a type
// and a subtype in one number. Anything but Success is a failure; the class
// says nothing reliable, since providers leave it out of many codes.
type Return uint32

// The parts of a Return, as bits.
const (
	ClassError   Return = 0x80000000 // DAT_CLASS_ERROR
	ClassWarning Return = 0x40000000 // DAT_CLASS_WARNING
	TypeMask     Return = 0x3fff0000 // DAT_TYPE_MASK
	SubtypeMask  Return = 0x0000ffff // DAT_SUBTYPE_MASK
)

// Return returns the code that has the type and nothing else.
func (t ReturnType) Return() Return { return Return(t) }

// Class returns the class part as it stands, ReturnClassSuccess where the provider
// has left it out.
func (r Return) Class() ReturnClass { return ReturnClass(r & (ClassError | ClassWarning)) }

// Type returns the type part.
func (r Return) Type() ReturnType { return ReturnType(r & TypeMask) }

// Subtype returns the subtype part, NoSubtype where there is none.
func (r Return) Subtype() ReturnSubtype { return ReturnSubtype(r & SubtypeMask) }

// OK reports whether the call succeeded.
func (r Return) OK() bool { return r.Type() == Success }

// IB returns the code without its class, for comparison with those that the
// InfiniBand extensions have added to the type ExtensionBase.
func (r Return) IB() IBReturn { return IBReturn(r & (TypeMask | SubtypeMask)) }

// String returns the C names of type and subtype.
func (r Return) String() string {
	switch {
	case r.Type() == ExtensionBase:
		return r.IB().String()
	case r.Subtype() == NoSubtype:
		return r.Type().String()
	}
	return r.Type().String() + " " + r.Subtype().String()
}

// ReturnClass is the class part of a Return.
type ReturnClass uint32

const (
	ReturnClassSuccess ReturnClass = 0x00000000 // DAT_CLASS_SUCCESS
	ReturnClassWarning ReturnClass = 0x40000000 // DAT_CLASS_WARNING
	ReturnClassError   ReturnClass = 0x80000000 // DAT_CLASS_ERROR
)

// ReturnType is the type part of a Return, DAT_RETURN_TYPE.
type ReturnType uint32

const (
	Success                   ReturnType = 0x00000000 // DAT_SUCCESS
	Abort                     ReturnType = 0x00010000 // DAT_ABORT
	ConnQualInUse             ReturnType = 0x00020000 // DAT_CONN_QUAL_IN_USE
	InsufficientResources     ReturnType = 0x00030000 // DAT_INSUFFICIENT_RESOURCES
	InternalError             ReturnType = 0x00040000 // DAT_INTERNAL_ERROR
	InvalidHandle             ReturnType = 0x00050000 // DAT_INVALID_HANDLE
	InvalidParameter          ReturnType = 0x00060000 // DAT_INVALID_PARAMETER
	InvalidState              ReturnType = 0x00070000 // DAT_INVALID_STATE
	LengthError               ReturnType = 0x00080000 // DAT_LENGTH_ERROR
	ModelNotSupported         ReturnType = 0x00090000 // DAT_MODEL_NOT_SUPPORTED
	ProviderNotFound          ReturnType = 0x000a0000 // DAT_PROVIDER_NOT_FOUND
	PrivilegesViolation       ReturnType = 0x000b0000 // DAT_PRIVILEGES_VIOLATION
	ProtectionViolation       ReturnType = 0x000c0000 // DAT_PROTECTION_VIOLATION
	QueueEmpty                ReturnType = 0x000d0000 // DAT_QUEUE_EMPTY
	QueueFull                 ReturnType = 0x000e0000 // DAT_QUEUE_FULL
	TimeoutExpired            ReturnType = 0x000f0000 // DAT_TIMEOUT_EXPIRED
	ProviderAlreadyRegistered ReturnType = 0x00100000 // DAT_PROVIDER_ALREADY_REGISTERED
	ProviderInUse             ReturnType = 0x00110000 // DAT_PROVIDER_IN_USE
	InvalidAddress            ReturnType = 0x00120000 // DAT_INVALID_ADDRESS
	InterruptedCall           ReturnType = 0x00130000 // DAT_INTERRUPTED_CALL
	ConnQualUnavailable       ReturnType = 0x00140000 // DAT_CONN_QUAL_UNAVAILABLE
	ReservedLMR               ReturnType = 0x00150000 // DAT_RESERVED_LMR
	PortInUse                 ReturnType = 0x00160000 // DAT_PORT_IN_USE
	CommNotSupported          ReturnType = 0x00170000 // DAT_COMM_NOT_SUPPORTED
	ExtensionBase             ReturnType = 0x10000000 // DAT_EXTENSION_BASE
	NotImplemented            ReturnType = 0x3fff0000 // DAT_NOT_IMPLEMENTED
)

// ReturnSubtype is the subtype part of a Return, DAT_RETURN_SUBTYPE.
type ReturnSubtype uint32

const (
	NoSubtype                      ReturnSubtype = 0   // DAT_NO_SUBTYPE
	SubInterrupted                 ReturnSubtype = 1   // DAT_SUB_INTERRUPTED
	ResourceMemory                 ReturnSubtype = 2   // DAT_RESOURCE_MEMORY
	ResourceDevice                 ReturnSubtype = 3   // DAT_RESOURCE_DEVICE
	ResourceTEP                    ReturnSubtype = 4   // DAT_RESOURCE_TEP
	ResourceTEVD                   ReturnSubtype = 5   // DAT_RESOURCE_TEVD
	ResourceProtectionDomain       ReturnSubtype = 6   // DAT_RESOURCE_PROTECTION_DOMAIN
	ResourceMemoryRegion           ReturnSubtype = 7   // DAT_RESOURCE_MEMORY_REGION
	ResourceErrorHandler           ReturnSubtype = 8   // DAT_RESOURCE_ERROR_HANDLER
	ResourceCredits                ReturnSubtype = 9   // DAT_RESOURCE_CREDITS
	ResourceSRQ                    ReturnSubtype = 10  // DAT_RESOURCE_SRQ
	InvalidHandleIA                ReturnSubtype = 11  // DAT_INVALID_HANDLE_IA
	InvalidHandleEP                ReturnSubtype = 12  // DAT_INVALID_HANDLE_EP
	InvalidHandleLMR               ReturnSubtype = 13  // DAT_INVALID_HANDLE_LMR
	InvalidHandleRMR               ReturnSubtype = 14  // DAT_INVALID_HANDLE_RMR
	InvalidHandlePZ                ReturnSubtype = 15  // DAT_INVALID_HANDLE_PZ
	InvalidHandlePSP               ReturnSubtype = 16  // DAT_INVALID_HANDLE_PSP
	InvalidHandleRSP               ReturnSubtype = 17  // DAT_INVALID_HANDLE_RSP
	InvalidHandleCR                ReturnSubtype = 18  // DAT_INVALID_HANDLE_CR
	InvalidHandleCNO               ReturnSubtype = 19  // DAT_INVALID_HANDLE_CNO
	InvalidHandleEVDCR             ReturnSubtype = 20  // DAT_INVALID_HANDLE_EVD_CR
	InvalidHandleEVDRequest        ReturnSubtype = 21  // DAT_INVALID_HANDLE_EVD_REQUEST
	InvalidHandleEVDRecv           ReturnSubtype = 22  // DAT_INVALID_HANDLE_EVD_RECV
	InvalidHandleEVDConn           ReturnSubtype = 23  // DAT_INVALID_HANDLE_EVD_CONN
	InvalidHandleEVDAsync          ReturnSubtype = 24  // DAT_INVALID_HANDLE_EVD_ASYNC
	InvalidHandleSRQ               ReturnSubtype = 25  // DAT_INVALID_HANDLE_SRQ
	InvalidHandleCSP               ReturnSubtype = 26  // DAT_INVALID_HANDLE_CSP
	InvalidHandle1                 ReturnSubtype = 27  // DAT_INVALID_HANDLE1
	InvalidHandle2                 ReturnSubtype = 28  // DAT_INVALID_HANDLE2
	InvalidHandle3                 ReturnSubtype = 29  // DAT_INVALID_HANDLE3
	InvalidHandle4                 ReturnSubtype = 30  // DAT_INVALID_HANDLE4
	InvalidHandle5                 ReturnSubtype = 31  // DAT_INVALID_HANDLE5
	InvalidHandle6                 ReturnSubtype = 32  // DAT_INVALID_HANDLE6
	InvalidHandle7                 ReturnSubtype = 33  // DAT_INVALID_HANDLE7
	InvalidHandle8                 ReturnSubtype = 34  // DAT_INVALID_HANDLE8
	InvalidHandle9                 ReturnSubtype = 35  // DAT_INVALID_HANDLE9
	InvalidHandle10                ReturnSubtype = 36  // DAT_INVALID_HANDLE10
	InvalidArg1                    ReturnSubtype = 37  // DAT_INVALID_ARG1
	InvalidArg2                    ReturnSubtype = 38  // DAT_INVALID_ARG2
	InvalidArg3                    ReturnSubtype = 39  // DAT_INVALID_ARG3
	InvalidArg4                    ReturnSubtype = 40  // DAT_INVALID_ARG4
	InvalidArg5                    ReturnSubtype = 41  // DAT_INVALID_ARG5
	InvalidArg6                    ReturnSubtype = 42  // DAT_INVALID_ARG6
	InvalidArg7                    ReturnSubtype = 43  // DAT_INVALID_ARG7
	InvalidArg8                    ReturnSubtype = 44  // DAT_INVALID_ARG8
	InvalidArg9                    ReturnSubtype = 45  // DAT_INVALID_ARG9
	InvalidArg10                   ReturnSubtype = 46  // DAT_INVALID_ARG10
	InvalidStateEPUnconnected      ReturnSubtype = 47  // DAT_INVALID_STATE_EP_UNCONNECTED
	InvalidStateEPActConnPending   ReturnSubtype = 48  // DAT_INVALID_STATE_EP_ACTCONNPENDING
	InvalidStateEPPassConnPending  ReturnSubtype = 49  // DAT_INVALID_STATE_EP_PASSCONNPENDING
	InvalidStateEPTentConnPending  ReturnSubtype = 50  // DAT_INVALID_STATE_EP_TENTCONNPENDING
	InvalidStateEPConnected        ReturnSubtype = 51  // DAT_INVALID_STATE_EP_CONNECTED
	InvalidStateEPDisconnected     ReturnSubtype = 52  // DAT_INVALID_STATE_EP_DISCONNECTED
	InvalidStateEPReserved         ReturnSubtype = 53  // DAT_INVALID_STATE_EP_RESERVED
	InvalidStateEPComplPending     ReturnSubtype = 54  // DAT_INVALID_STATE_EP_COMPLPENDING
	InvalidStateEPDiscPending      ReturnSubtype = 55  // DAT_INVALID_STATE_EP_DISCPENDING
	InvalidStateEPProviderControl  ReturnSubtype = 56  // DAT_INVALID_STATE_EP_PROVIDERCONTROL
	InvalidStateEPNotReady         ReturnSubtype = 57  // DAT_INVALID_STATE_EP_NOTREADY
	InvalidStateEPRecvWatermark    ReturnSubtype = 58  // DAT_INVALID_STATE_EP_RECV_WATERMARK
	InvalidStateEPPZ               ReturnSubtype = 59  // DAT_INVALID_STATE_EP_PZ
	InvalidStateEPEVDRequest       ReturnSubtype = 60  // DAT_INVALID_STATE_EP_EVD_REQUEST
	InvalidStateEPEVDRecv          ReturnSubtype = 61  // DAT_INVALID_STATE_EP_EVD_RECV
	InvalidStateEPEVDConnect       ReturnSubtype = 62  // DAT_INVALID_STATE_EP_EVD_CONNECT
	InvalidStateEPUnconfigured     ReturnSubtype = 63  // DAT_INVALID_STATE_EP_UNCONFIGURED
	InvalidStateEPUnconfReserved   ReturnSubtype = 64  // DAT_INVALID_STATE_EP_UNCONFRESERVED
	InvalidStateEPUnconfPassive    ReturnSubtype = 65  // DAT_INVALID_STATE_EP_UNCONFPASSIVE
	InvalidStateEPUnconfTentative  ReturnSubtype = 66  // DAT_INVALID_STATE_EP_UNCONFTENTATIVE
	InvalidStateCNOInUse           ReturnSubtype = 67  // DAT_INVALID_STATE_CNO_IN_USE
	InvalidStateCNODead            ReturnSubtype = 68  // DAT_INVALID_STATE_CNO_DEAD
	InvalidStateEVDOpen            ReturnSubtype = 69  // DAT_INVALID_STATE_EVD_OPEN
	InvalidStateEVDEnabled         ReturnSubtype = 70  // DAT_INVALID_STATE_EVD_ENABLED
	InvalidStateEVDDisabled        ReturnSubtype = 71  // DAT_INVALID_STATE_EVD_DISABLED
	InvalidStateEVDWaitable        ReturnSubtype = 72  // DAT_INVALID_STATE_EVD_WAITABLE
	InvalidStateEVDUnwaitable      ReturnSubtype = 73  // DAT_INVALID_STATE_EVD_UNWAITABLE
	InvalidStateEVDInUse           ReturnSubtype = 74  // DAT_INVALID_STATE_EVD_IN_USE
	InvalidStateEVDConfigNotify    ReturnSubtype = 75  // DAT_INVALID_STATE_EVD_CONFIG_NOTIFY
	InvalidStateEVDConfigSolicited ReturnSubtype = 76  // DAT_INVALID_STATE_EVD_CONFIG_SOLICITED
	InvalidStateEVDConfigThreshold ReturnSubtype = 77  // DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD
	InvalidStateEVDWaiter          ReturnSubtype = 78  // DAT_INVALID_STATE_EVD_WAITER
	InvalidStateEVDAsync           ReturnSubtype = 79  // DAT_INVALID_STATE_EVD_ASYNC
	InvalidStateIAInUse            ReturnSubtype = 80  // DAT_INVALID_STATE_IA_IN_USE
	InvalidStateLMRInUse           ReturnSubtype = 81  // DAT_INVALID_STATE_LMR_IN_USE
	InvalidStateLMRFree            ReturnSubtype = 82  // DAT_INVALID_STATE_LMR_FREE
	InvalidStatePZInUse            ReturnSubtype = 83  // DAT_INVALID_STATE_PZ_IN_USE
	InvalidStatePZFree             ReturnSubtype = 84  // DAT_INVALID_STATE_PZ_FREE
	InvalidStateSRQOperational     ReturnSubtype = 85  // DAT_INVALID_STATE_SRQ_OPERATIONAL
	InvalidStateSRQError           ReturnSubtype = 86  // DAT_INVALID_STATE_SRQ_ERROR
	InvalidStateSRQInUse           ReturnSubtype = 87  // DAT_INVALID_STATE_SRQ_IN_USE
	InvalidStateSRQShutdown        ReturnSubtype = 88  // DAT_INVALID_STATE_SRQ_SHUTDOWN
	PrivilegesRead                 ReturnSubtype = 89  // DAT_PRIVILEGES_READ
	PrivilegesWrite                ReturnSubtype = 90  // DAT_PRIVILEGES_WRITE
	PrivilegesRDMARead             ReturnSubtype = 91  // DAT_PRIVILEGES_RDMA_READ
	PrivilegesRDMAWrite            ReturnSubtype = 92  // DAT_PRIVILEGES_RDMA_WRITE
	ProtectionRead                 ReturnSubtype = 93  // DAT_PROTECTION_READ
	ProtectionWrite                ReturnSubtype = 94  // DAT_PROTECTION_WRITE
	ProtectionRDMARead             ReturnSubtype = 95  // DAT_PROTECTION_RDMA_READ
	ProtectionRDMAWrite            ReturnSubtype = 96  // DAT_PROTECTION_RDMA_WRITE
	InvalidAddressUnsupported      ReturnSubtype = 97  // DAT_INVALID_ADDRESS_UNSUPPORTED
	InvalidAddressUnreachable      ReturnSubtype = 98  // DAT_INVALID_ADDRESS_UNREACHABLE
	InvalidAddressMalformed        ReturnSubtype = 99  // DAT_INVALID_ADDRESS_MALFORMED
	NameNotRegistered              ReturnSubtype = 100 // DAT_NAME_NOT_REGISTERED
	MajorNotFound                  ReturnSubtype = 101 // DAT_MAJOR_NOT_FOUND
	MinorNotFound                  ReturnSubtype = 102 // DAT_MINOR_NOT_FOUND
	ThreadSafetyNotFound           ReturnSubtype = 103 // DAT_THREAD_SAFETY_NOT_FOUND
)

// IBReturn is a code of the InfiniBand extensions without its class,
// DAT_IB_RETURN. It has no subtype: the header counts on in those bits.
type IBReturn uint32

const (
	IBErr           IBReturn = 0x10000000 // DAT_IB_ERR
	IBCollectiveErr IBReturn = 0x10000001 // DAT_IB_COLLECTIVE_ERR
)
