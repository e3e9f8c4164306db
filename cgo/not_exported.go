package cgo

// The functions that the C headers declare and the library does not export, so
// that a program that calls them cannot be linked. Here they exist, and return
// NotImplemented without calling anything.

// CSPCreate would listen for connection requests at a socket address. The
// library does not export it: the call returns NotImplemented.
//
//	Implements: DAT_RETURN dat_csp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COMM *communicator,
//	    IN DAT_IA_ADDRESS_PTR address, IN DAT_EVD_HANDLE evd_handle,
//	    OUT DAT_CSP_HANDLE *csp_handle)
func CSPCreate(IAHandle, *Comm, *SockAddr, EVDHandle) (CSPHandle, Return) {
	return 0, NotImplemented.Return()
}

// CSPQuery would fill the parameters of a common service point. The library
// does not export it: the call returns NotImplemented.
//
//	Implements: DAT_RETURN dat_csp_query(IN DAT_CSP_HANDLE csp_handle,
//	    IN DAT_CSP_PARAM_MASK csp_param_mask, OUT DAT_CSP_PARAM *csp_param)
func CSPQuery(CSPHandle, CSPParamMask, *CSPParam) Return {
	return NotImplemented.Return()
}

// CSPFree would free a common service point. The library does not export it:
// the call returns NotImplemented.
//
//	Implements: DAT_RETURN dat_csp_free(IN DAT_CSP_HANDLE csp_handle)
func CSPFree(CSPHandle) Return {
	return NotImplemented.Return()
}

// EPCommonConnect would connect to a common service point; timeout is in
// microseconds. The library does not export it: the call returns
// NotImplemented.
//
//	Implements: DAT_RETURN dat_ep_common_connect(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_IA_ADDRESS_PTR remote_ia_address, IN DAT_TIMEOUT timeout,
//	    IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data)
func EPCommonConnect(ep EPHandle, remote *SockAddr, timeout uint32, privateData []byte) Return {
	return NotImplemented.Return()
}

// EPPostRDMAReadToRMR would post a read into memory that a context for remote
// access names. The library does not export it: the call returns
// NotImplemented.
//
//	Implements: DAT_RETURN dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle,
//	    IN const DAT_RMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags)
func EPPostRDMAReadToRMR(ep EPHandle, local *RMRTriplet, cookie uint64, remote *RMRTriplet, flags CompletionFlags) Return {
	return NotImplemented.Return()
}

// EPPostSendWithInvalidate would post a send that also takes back a context for
// remote access of the peer's. The library does not export it: the call returns
// NotImplemented.
//
//	Implements: DAT_RETURN dat_ep_post_send_with_invalidate(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags, IN DAT_BOOLEAN invalidate_flag,
//	    IN DAT_RMR_CONTEXT rmr_context)
func EPPostSendWithInvalidate(ep EPHandle, iov []LMRTriplet, cookie uint64, flags CompletionFlags, invalidate bool, rmrContext uint32) Return {
	return NotImplemented.Return()
}

// RMRCreateForEP would create a remote memory region for use by one endpoint at
// a time. The library does not export it: the call returns NotImplemented.
//
//	Implements: DAT_RETURN dat_rmr_create_for_ep(IN DAT_PZ_HANDLE pz_handle,
//	    OUT DAT_RMR_HANDLE *rmr_handle)
func RMRCreateForEP(PZHandle) (RMRHandle, Return) {
	return 0, NotImplemented.Return()
}

// RegistryProvidersRelated would report whether two adapters share hardware, so that one can stand in for the other.
// The library does not export it: the call returns NotImplemented.
//
//	Implements: DAT_RETURN dat_registry_providers_related(IN const DAT_NAME_PTR name1,
//	    IN const DAT_NAME_PTR name2, OUT DAT_HA_RELATIONSHIP *relationship)
func RegistryProvidersRelated(name1, name2 string) (HARelationship, Return) {
	return HAUnknown, NotImplemented.Return()
}
