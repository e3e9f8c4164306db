package cgo

// PZParam holds the parameters of a protection zone, laid out as DAT_PZ_PARAM.
type PZParam struct {
	IAHandle IAHandle // ia_handle
}

// PZParamMask names fields of PZParam, DAT_PZ_PARAM_MASK. They are bits.
type PZParamMask uint32

const (
	PZFieldIAHandle PZParamMask = 0x01 // DAT_PZ_FIELD_IA_HANDLE
	PZFieldAll      PZParamMask = 0x01 // DAT_PZ_FIELD_ALL
)
