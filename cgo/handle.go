package cgo

// The handles are integers and not pointers: see include/goudat/native.h. The
// zero value is DAT_HANDLE_NULL.
type (
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
	// PSPHandle is a DAT_PSP_HANDLE.
	PSPHandle uintptr
	// CRHandle is a DAT_CR_HANDLE.
	CRHandle uintptr
	// SRQHandle is a DAT_SRQ_HANDLE.
	SRQHandle uintptr
)
