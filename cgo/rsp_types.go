package cgo

// RSPParam holds the parameters of a reserved service point, laid out as DAT_RSP_PARAM.
type RSPParam struct {
	IAHandle  IAHandle  // ia_handle
	ConnQual  uint64    // conn_qual
	EVDHandle EVDHandle // evd_handle
	EPHandle  EPHandle  // ep_handle
}

// RSPParamMask names fields of RSPParam, DAT_RSP_PARAM_MASK. They are bits.
type RSPParamMask uint32

const (
	RSPFieldIAHandle  RSPParamMask = 0x01 // DAT_RSP_FIELD_IA_HANDLE
	RSPFieldConnQual  RSPParamMask = 0x02 // DAT_RSP_FIELD_CONN_QUAL
	RSPFieldEVDHandle RSPParamMask = 0x04 // DAT_RSP_FIELD_EVD_HANDLE
	RSPFieldEPHandle  RSPParamMask = 0x08 // DAT_RSP_FIELD_EP_HANDLE
	RSPFieldAll       RSPParamMask = 0x0f // DAT_RSP_FIELD_ALL
)
