package cgo

// The handles are integers and not pointers: see include/goudat/native.h. The
// zero value is DAT_HANDLE_NULL.
type (
	// Handle is a DAT_HANDLE: that of an object of any kind.
	Handle uintptr
	// IAHandle is a DAT_IA_HANDLE.
	IAHandle uintptr
	// PZHandle is a DAT_PZ_HANDLE.
	PZHandle uintptr
	// EVDHandle is a DAT_EVD_HANDLE.
	EVDHandle uintptr
	// CNOHandle is a DAT_CNO_HANDLE.
	CNOHandle uintptr
	// EPHandle is a DAT_EP_HANDLE.
	EPHandle uintptr
	// LMRHandle is a DAT_LMR_HANDLE.
	LMRHandle uintptr
	// RMRHandle is a DAT_RMR_HANDLE.
	RMRHandle uintptr
	// PSPHandle is a DAT_PSP_HANDLE.
	PSPHandle uintptr
	// RSPHandle is a DAT_RSP_HANDLE.
	RSPHandle uintptr
	// CRHandle is a DAT_CR_HANDLE.
	CRHandle uintptr
	// SRQHandle is a DAT_SRQ_HANDLE.
	SRQHandle uintptr
)

// HandleType names the kind of object that a handle is of, DAT_HANDLE_TYPE.
type HandleType uint32

const (
	HandleTypeCR            HandleType = 0  // DAT_HANDLE_TYPE_CR
	HandleTypeEP            HandleType = 1  // DAT_HANDLE_TYPE_EP
	HandleTypeEVD           HandleType = 2  // DAT_HANDLE_TYPE_EVD
	HandleTypeIA            HandleType = 3  // DAT_HANDLE_TYPE_IA
	HandleTypeLMR           HandleType = 4  // DAT_HANDLE_TYPE_LMR
	HandleTypePSP           HandleType = 5  // DAT_HANDLE_TYPE_PSP
	HandleTypePZ            HandleType = 6  // DAT_HANDLE_TYPE_PZ
	HandleTypeRMR           HandleType = 7  // DAT_HANDLE_TYPE_RMR
	HandleTypeRSP           HandleType = 8  // DAT_HANDLE_TYPE_RSP
	HandleTypeCNO           HandleType = 9  // DAT_HANDLE_TYPE_CNO
	HandleTypeSRQ           HandleType = 10 // DAT_HANDLE_TYPE_SRQ
	HandleTypeCSP           HandleType = 11 // DAT_HANDLE_TYPE_CSP
	HandleTypeIBExt         HandleType = 12 // DAT_IB_HANDLE_TYPE_EXT
	HandleTypeExtensionBase HandleType = 12 // DAT_HANDLE_TYPE_EXTENSION_BASE
)
