package udat

// RMR is a remote memory region: a window that is bound to different pieces of
// registered memory in turn. No provider implements them, on any hardware, so
// that CreateRMR fails and there is none. Give a peer access to memory with
// LMR.RMRTriplet instead, and take it back with LMR.Free.
type RMR struct {
	obj object
}

func (rmr *RMR) object() *object {
	if rmr == nil {
		return nil
	}
	return &rmr.obj
}

// RMRParam holds the parameters of a remote memory region.
type RMRParam struct {
	IA         *IA
	PZ         *PZ
	LMR        *LMR
	Privileges MemPriv
	RMRContext uint32
}

const noRMR = "no provider implements remote memory regions: register memory with remote privileges instead"

// CreateRMR fails with ErrModelNotSupported: see RMR.
//
// Stands in for:
//
//	DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
//	                          OUT DAT_RMR_HANDLE *rmr_handle)
func CreateRMR(pz *PZ) (*RMR, error) {
	const op = "dat_rmr_create"
	return nil, pz.object().refused(op, InvalidHandlePZ, refuse(op, ErrModelNotSupported, NoSubtype, noRMR))
}

// Bind fails: there is no region to bind.
//
// Stands in for:
//
//	DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle,
//	                        IN DAT_LMR_HANDLE lmr_handle,
//	                        IN const DAT_LMR_TRIPLET *lmr_triplet,
//	                        IN DAT_MEM_PRIV_FLAGS mem_priv,
//	                        IN DAT_VA_TYPE va_type,
//	                        IN DAT_EP_HANDLE ep_handle,
//	                        IN DAT_RMR_COOKIE user_cookie,
//	                        IN DAT_COMPLETION_FLAGS completion_flags,
//	                        OUT DAT_RMR_CONTEXT *context)
func (rmr *RMR) Bind(segment Segment, privileges MemPriv, ep *EP, cookie uint64, flags CompletionFlags) (RMRTriplet, error) {
	return RMRTriplet{}, rmr.object().enter("dat_rmr_bind", InvalidHandleRMR)
}

// Query fails: there is no region to ask.
//
// Stands in for:
//
//	DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
//	                         IN DAT_RMR_PARAM_MASK rmr_param_mask,
//	                         OUT DAT_RMR_PARAM *rmr_param)
func (rmr *RMR) Query() (RMRParam, error) {
	return RMRParam{}, rmr.object().enter("dat_rmr_query", InvalidHandleRMR)
}

// Free fails: there is no region to free.
//
// Stands in for:
//
//	DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle)
func (rmr *RMR) Free() error {
	return rmr.object().enter("dat_rmr_free", InvalidHandleRMR)
}
