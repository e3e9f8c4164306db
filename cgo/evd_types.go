package cgo

// EVDFlags name the event streams that may feed an EVD, DAT_EVD_FLAGS. They are bits.
type EVDFlags uint32

const (
	EVDSoftware      EVDFlags = 0x001 // DAT_EVD_SOFTWARE_FLAG
	EVDCR            EVDFlags = 0x010 // DAT_EVD_CR_FLAG
	EVDDTO           EVDFlags = 0x020 // DAT_EVD_DTO_FLAG
	EVDConnection    EVDFlags = 0x040 // DAT_EVD_CONNECTION_FLAG
	EVDRMRBind       EVDFlags = 0x080 // DAT_EVD_RMR_BIND_FLAG
	EVDAsync         EVDFlags = 0x100 // DAT_EVD_ASYNC_FLAG
	EVDDefault       EVDFlags = 0x1f0 // DAT_EVD_DEFAULT_FLAG
	EVDExtensionBase EVDFlags = 0x200 // DAT_EVD_EXTENSION_BASE
	EVDIBExtension   EVDFlags = 0x200 // DAT_IB_EVD_EXTENSION_FLAG
)

// EVDState holds the three independent parts of an EVD's state, DAT_EVD_STATE. They are bits.
type EVDState uint32

const (
	EVDStateEnabled         EVDState = 0x01 // DAT_EVD_STATE_ENABLED
	EVDStateDisabled        EVDState = 0x02 // DAT_EVD_STATE_DISABLED
	EVDStateWaitable        EVDState = 0x04 // DAT_EVD_STATE_WAITABLE
	EVDStateUnwaitable      EVDState = 0x08 // DAT_EVD_STATE_UNWAITABLE
	EVDStateConfigNotify    EVDState = 0x10 // DAT_EVD_STATE_CONFIG_NOTIFY
	EVDStateConfigSolicited EVDState = 0x20 // DAT_EVD_STATE_CONFIG_SOLICITED
	EVDStateConfigThreshold EVDState = 0x30 // DAT_EVD_STATE_CONFIG_THRESHOLD
)

// EVDParam holds the parameters of an EVD, laid out as DAT_EVD_PARAM.
type EVDParam struct {
	IAHandle  IAHandle  // ia_handle
	QLen      int32     // evd_qlen
	State     EVDState  // evd_state
	CNOHandle CNOHandle // cno_handle
	Flags     EVDFlags  // evd_flags
}

// EVDParamMask names fields of EVDParam, DAT_EVD_PARAM_MASK. They are bits.
type EVDParamMask uint32

const (
	EVDFieldIAHandle EVDParamMask = 0x01 // DAT_EVD_FIELD_IA_HANDLE
	EVDFieldEVDQlen  EVDParamMask = 0x02 // DAT_EVD_FIELD_EVD_QLEN
	EVDFieldEVDState EVDParamMask = 0x04 // DAT_EVD_FIELD_EVD_STATE
	EVDFieldCNO      EVDParamMask = 0x08 // DAT_EVD_FIELD_CNO
	EVDFieldEVDFlags EVDParamMask = 0x10 // DAT_EVD_FIELD_EVD_FLAGS
	EVDFieldAll      EVDParamMask = 0x1f // DAT_EVD_FIELD_ALL
)
