package udat

// IBAddrHandle names the peer of an unreliable datagram. There is none: see PostSendUD.
type IBAddrHandle struct{}

const noUD = "unreliable datagrams need a provider whose connection manager exchanges address handles: none does over RoCE, and the CMA provider has no such endpoints"

// PostSendUD fails with ErrModelNotSupported. Endpoints for unreliable datagrams
// cannot be made: the socket CM provider makes them and cannot connect them over
// RoCE, after which they can neither be disconnected nor used, and the CMA
// provider refuses them.
//
// Stands in for:
//
//	DAT_RETURN dat_ib_post_send_ud(IN DAT_EP_HANDLE ep,
//	                               IN DAT_COUNT segments,
//	                               IN DAT_LMR_TRIPLET *lbuf,
//	                               IN DAT_IB_ADDR_HANDLE *ah_ptr,
//	                               IN DAT_DTO_COOKIE cookie,
//	                               IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostSendUD(iov []Segment, to IBAddrHandle, cookie uint64, flags CompletionFlags) error {
	return ep.noUD("dat_ib_post_send_ud")
}

// PostRecvUD fails with ErrModelNotSupported: see PostSendUD.
//
// Stands in for:
//
//	DAT_RETURN dat_ib_post_recv_ud(IN DAT_EP_HANDLE ep,
//	                               IN DAT_COUNT segments,
//	                               IN DAT_LMR_TRIPLET *lbuf,
//	                               IN DAT_DTO_COOKIE cookie,
//	                               IN DAT_COMPLETION_FLAGS flgs)
func (ep *EP) PostRecvUD(iov []Segment, cookie uint64, flags CompletionFlags) error {
	return ep.noUD("dat_ib_post_recv_ud")
}

// FreeUDCM fails with ErrModelNotSupported: see PostSendUD.
//
// Stands in for:
//
//	DAT_RETURN dat_ib_ud_cm_free(IN DAT_EP_HANDLE ep,
//	                             IN DAT_CONTEXT cm_ptr)
func (ep *EP) FreeUDCM(cm uint64) error { return ep.noUD("dat_ib_ud_cm_free") }

// FreeUDAH fails with ErrModelNotSupported: see PostSendUD.
//
// Stands in for:
//
//	DAT_RETURN dat_ib_ud_ah_free(IN DAT_EP_HANDLE ep,
//	                             IN DAT_IB_ADDR_HANDLE *ah_ptr)
func (ep *EP) FreeUDAH(ah IBAddrHandle) error { return ep.noUD("dat_ib_ud_ah_free") }

func (ep *EP) noUD(op string) error {
	return ep.object().refused(op, InvalidHandleEP, refuse(op, ErrModelNotSupported, NoSubtype, noUD))
}
