package cgo

// CRParam holds the parameters of a connection request, laid out as DAT_CR_PARAM.
// The pointers point into the library's memory and dangle once the request is answered.
type CRParam struct {
	RemoteIAAddressPtr uintptr  // remote_ia_address_ptr
	RemotePortQual     uint64   // remote_port_qual
	PrivateDataSize    int32    // private_data_size
	PrivateData        uintptr  // private_data
	LocalEPHandle      EPHandle // local_ep_handle
}

// CRParamMask names fields of CRParam, DAT_CR_PARAM_MASK. They are bits.
type CRParamMask uint32

const (
	CRFieldRemoteIAAddressPtr CRParamMask = 0x01 // DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR
	CRFieldRemotePortQual     CRParamMask = 0x02 // DAT_CR_FIELD_REMOTE_PORT_QUAL
	CRFieldPrivateDataSize    CRParamMask = 0x04 // DAT_CR_FIELD_PRIVATE_DATA_SIZE
	CRFieldPrivateData        CRParamMask = 0x08 // DAT_CR_FIELD_PRIVATE_DATA
	CRFieldLocalEPHandle      CRParamMask = 0x10 // DAT_CR_FIELD_LOCAL_EP_HANDLE
	CRFieldAll                CRParamMask = 0x1f // DAT_CR_FIELD_ALL
)
