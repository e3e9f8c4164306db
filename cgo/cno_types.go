package cgo

// ProxyType says what a CNO calls when it is triggered, DAT_PROXY_TYPE.
type ProxyType uint32

const (
	ProxyTypeNone  ProxyType = 0 // DAT_PROXY_TYPE_NONE
	ProxyTypeAgent ProxyType = 1 // DAT_PROXY_TYPE_AGENT
	ProxyTypeFD    ProxyType = 2 // DAT_PROXY_TYPE_FD
)

// CNOParam holds the parameters of a CNO, laid out as DAT_CNO_PARAM. The
// providers report ProxyTypeAgent with or without an agent.
type CNOParam struct {
	IAHandle  IAHandle   // ia_handle
	ProxyType ProxyType  // proxy_type
	Proxy     [2]uintptr // proxy
}

// CNOParamMask names fields of CNOParam, DAT_CNO_PARAM_MASK. The header's
// values are no bits.
type CNOParamMask uint32

const (
	CNOFieldIAHandle  CNOParamMask = 1 // DAT_CNO_FIELD_IA_HANDLE
	CNOFieldProxyType CNOParamMask = 2 // DAT_CNO_FIELD_PROXY_TYPE
	CNOFieldProxy     CNOParamMask = 3 // DAT_CNO_FIELD_PROXY
	CNOFieldAll       CNOParamMask = 4 // DAT_CNO_FIELD_ALL
)
