package cgo

// CSPParam holds the parameters of a common service point, laid out as DAT_CSP_PARAM.
type CSPParam struct {
	IAHandle   IAHandle  // ia_handle
	Comm       uintptr   // comm
	AddressPtr uintptr   // address_ptr
	EVDHandle  EVDHandle // evd_handle
}

// CSPParamMask names fields of CSPParam, DAT_CSP_PARAM_MASK. They are bits.
type CSPParamMask uint32

const (
	CSPFieldIAHandle  CSPParamMask = 0x01 // DAT_CSP_FIELD_IA_HANDLE
	CSPFieldComm      CSPParamMask = 0x02 // DAT_CSP_FIELD_COMM
	CSPFieldIAAddress CSPParamMask = 0x04 // DAT_CSP_FIELD_IA_ADDRESS
	CSPFieldEVDHandle CSPParamMask = 0x08 // DAT_CSP_FIELD_EVD_HANDLE
	CSPFieldAll       CSPParamMask = 0x0f // DAT_CSP_FIELD_ALL
)
