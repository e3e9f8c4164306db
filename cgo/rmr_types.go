package cgo

// RMRParam holds the parameters of a remote memory region, laid out as DAT_RMR_PARAM.
type RMRParam struct {
	IAHandle   IAHandle   // ia_handle
	PZHandle   PZHandle   // pz_handle
	LMRTriplet LMRTriplet // lmr_triplet
	MemPriv    MemPriv    // mem_priv
	RMRContext uint32     // rmr_context
	RMRScope   RMRScope   // rmr_scope
	VAType     VAType     // va_type
}

// RMRParamMask names fields of RMRParam, DAT_RMR_PARAM_MASK. They are bits.
type RMRParamMask uint32

const (
	RMRFieldIAHandle   RMRParamMask = 0x01 // DAT_RMR_FIELD_IA_HANDLE
	RMRFieldPZHandle   RMRParamMask = 0x02 // DAT_RMR_FIELD_PZ_HANDLE
	RMRFieldLMRTriplet RMRParamMask = 0x04 // DAT_RMR_FIELD_LMR_TRIPLET
	RMRFieldMemPriv    RMRParamMask = 0x08 // DAT_RMR_FIELD_MEM_PRIV
	RMRFieldRMRContext RMRParamMask = 0x10 // DAT_RMR_FIELD_RMR_CONTEXT
	RMRFieldRMRScope   RMRParamMask = 0x20 // DAT_RMR_FIELD_RMR_SCOPE
	RMRFieldVAType     RMRParamMask = 0x40 // DAT_RMR_FIELD_VA_TYPE
	RMRFieldAll        RMRParamMask = 0x7f // DAT_RMR_FIELD_ALL
)
