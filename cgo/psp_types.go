package cgo

// PSPFlags say who creates the endpoint for a connection request, DAT_PSP_FLAGS.
type PSPFlags uint32

const (
	PSPConsumer PSPFlags = 0x00 // DAT_PSP_CONSUMER_FLAG
	PSPProvider PSPFlags = 0x01 // DAT_PSP_PROVIDER_FLAG
)

// PSPParam holds the parameters of a public service point, laid out as DAT_PSP_PARAM.
type PSPParam struct {
	IAHandle  IAHandle  // ia_handle
	ConnQual  uint64    // conn_qual
	EVDHandle EVDHandle // evd_handle
	PSPFlags  PSPFlags  // psp_flags
}

// PSPParamMask names fields of PSPParam, DAT_PSP_PARAM_MASK. They are bits.
type PSPParamMask uint32

const (
	PSPFieldIAHandle  PSPParamMask = 0x01 // DAT_PSP_FIELD_IA_HANDLE
	PSPFieldConnQual  PSPParamMask = 0x02 // DAT_PSP_FIELD_CONN_QUAL
	PSPFieldEVDHandle PSPParamMask = 0x04 // DAT_PSP_FIELD_EVD_HANDLE
	PSPFieldPSPFlags  PSPParamMask = 0x08 // DAT_PSP_FIELD_PSP_FLAGS
	PSPFieldAll       PSPParamMask = 0x0f // DAT_PSP_FIELD_ALL
)
