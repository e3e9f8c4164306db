package udat

import (
	"net/netip"
	"time"
)

// What the C headers declare and the library does not export stands here. Each
// call fails with ErrNotImplemented, once its objects are found to be alive.

func notExported(op string, o Object, invalid ReturnSubtype) error {
	return o.object().refused(op, invalid, refuseNotExported(op))
}

func refuseNotExported(op string) error {
	return refuse(op, ErrNotImplemented, NoSubtype, "the native library declares this function and does not export it")
}

// CreateCNOFD fails with ErrNotImplemented: the library does not export the
// function. A goroutine in CNO.Wait holds no thread, so that there is no need to
// poll a file descriptor.
//
// Implements:
//
//	DAT_RETURN dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
//	                             OUT DAT_FD *file_descriptor,
//	                             OUT DAT_CNO_HANDLE *cno_handle)
func CreateCNOFD(ia *IA) (*CNO, int, error) {
	return nil, -1, notExported("dat_cno_fd_create", ia, InvalidHandleIA)
}

// Trigger fails with ErrNotImplemented: the library does not export the function.
//
// Implements:
//
//	DAT_RETURN dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
//	                           OUT DAT_EVD_HANDLE *evd_handle)
func (cno *CNO) Trigger() (*EVD, error) {
	return nil, notExported("dat_cno_trigger", cno, InvalidHandleCNO)
}

// CSP is a common service point. There is none: CreateCSP fails.
type CSP struct {
	obj object
}

func (csp *CSP) object() *object {
	if csp == nil {
		return nil
	}
	return &csp.obj
}

// CSPParam holds the parameters of a common service point.
type CSPParam struct {
	IA      *IA
	Address netip.Addr
	EVD     *EVD
}

// CreateCSP fails with ErrNotImplemented: the library does not export the
// function.
//
// Implements:
//
//	DAT_RETURN dat_csp_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_COMM *comm,
//	                          IN DAT_IA_ADDRESS_PTR address,
//	                          IN DAT_EVD_HANDLE evd_handle,
//	                          OUT DAT_CSP_HANDLE *csp_handle)
func CreateCSP(ia *IA, address netip.Addr, evd *EVD) (*CSP, error) {
	return nil, notExported("dat_csp_create", ia, InvalidHandleIA)
}

// Query fails: the library does not export the function.
//
// Implements:
//
//	DAT_RETURN dat_csp_query(IN DAT_CSP_HANDLE csp_handle,
//	                         IN DAT_CSP_PARAM_MASK csp_param_mask,
//	                         OUT DAT_CSP_PARAM *csp_param)
func (csp *CSP) Query() (CSPParam, error) {
	return CSPParam{}, notExported("dat_csp_query", csp, InvalidHandleCSP)
}

// Free fails: the library does not export the function.
//
// Implements:
//
//	DAT_RETURN dat_csp_free(IN DAT_CSP_HANDLE csp_handle)
func (csp *CSP) Free() error { return notExported("dat_csp_free", csp, InvalidHandleCSP) }

// CommonConnect fails with ErrNotImplemented: the library does not export the
// function.
//
// Implements:
//
//	DAT_RETURN dat_ep_common_connect(IN DAT_EP_HANDLE ep_handle,
//	                                 IN DAT_IA_ADDRESS_PTR remote_ia_address,
//	                                 IN DAT_TIMEOUT timeout,
//	                                 IN DAT_COUNT private_data_size,
//	                                 IN const DAT_PVOID private_data)
func (ep *EP) CommonConnect(remote netip.Addr, timeout time.Duration, privateData []byte) error {
	return notExported("dat_ep_common_connect", ep, InvalidHandleEP)
}

// PostRDMAReadToRMR fails with ErrNotImplemented: the library does not export
// the function.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle,
//	                                        IN const DAT_RMR_TRIPLET *local_iov,
//	                                        IN DAT_DTO_COOKIE user_cookie,
//	                                        IN const DAT_RMR_TRIPLET *remote_iov,
//	                                        IN DAT_COMPLETION_FLAGS completion_flags)
func (ep *EP) PostRDMAReadToRMR(local RMRTriplet, cookie uint64, remote RMRTriplet, flags CompletionFlags) error {
	return notExported("dat_ep_post_rdma_read_to_rmr", ep, InvalidHandleEP)
}

// PostSendWithInvalidate fails with ErrNotImplemented: the library does not
// export the function.
//
// Implements:
//
//	DAT_RETURN dat_ep_post_send_with_invalidate(IN DAT_EP_HANDLE ep_handle,
//	                                            IN DAT_COUNT num_segments,
//	                                            IN DAT_LMR_TRIPLET *local_iov,
//	                                            IN DAT_DTO_COOKIE user_cookie,
//	                                            IN DAT_COMPLETION_FLAGS completion_flags,
//	                                            IN DAT_BOOLEAN invalidate_flag,
//	                                            IN DAT_RMR_CONTEXT rmr_context)
func (ep *EP) PostSendWithInvalidate(iov []Segment, cookie uint64, flags CompletionFlags, invalidate bool, rmrContext uint32) error {
	return notExported("dat_ep_post_send_with_invalidate", ep, InvalidHandleEP)
}

// CreateRMRForEP fails with ErrNotImplemented: the library does not export the
// function.
//
// Implements:
//
//	DAT_RETURN dat_rmr_create_for_ep(IN DAT_PZ_HANDLE pz_handle,
//	                                 OUT DAT_RMR_HANDLE *rmr_handle)
func CreateRMRForEP(pz *PZ) (*RMR, error) {
	return nil, notExported("dat_rmr_create_for_ep", pz, InvalidHandlePZ)
}
