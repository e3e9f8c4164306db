/* Endpoint calls, without the posting of data transfer operations (dto.h). */
#ifndef GOUDAT_EP_H
#define GOUDAT_EP_H

#include "native.h"

static inline DAT_RETURN goudat_ep_create(goudat_handle ia, goudat_handle pz, goudat_handle recv_evd,
					  goudat_handle request_evd, goudat_handle connect_evd,
					  const void *attr, goudat_handle *ep)
{
	DAT_EP_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ep_create((DAT_IA_HANDLE)ia, (DAT_PZ_HANDLE)pz,
				       (DAT_EVD_HANDLE)recv_evd, (DAT_EVD_HANDLE)request_evd,
				       (DAT_EVD_HANDLE)connect_evd, attr, &handle);

	*ep = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_ep_create_with_srq(goudat_handle ia, goudat_handle pz,
						   goudat_handle recv_evd,
						   goudat_handle request_evd,
						   goudat_handle connect_evd, goudat_handle srq,
						   const void *attr, goudat_handle *ep)
{
	DAT_EP_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ep_create_with_srq((DAT_IA_HANDLE)ia, (DAT_PZ_HANDLE)pz,
						(DAT_EVD_HANDLE)recv_evd,
						(DAT_EVD_HANDLE)request_evd,
						(DAT_EVD_HANDLE)connect_evd, (DAT_SRQ_HANDLE)srq,
						attr, &handle);

	*ep = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_ep_query(goudat_handle ep, DAT_EP_PARAM_MASK mask, void *param)
{
	return dat_ep_query((DAT_EP_HANDLE)ep, mask, param);
}

static inline DAT_RETURN goudat_ep_modify(goudat_handle ep, DAT_EP_PARAM_MASK mask, const void *param)
{
	return dat_ep_modify((DAT_EP_HANDLE)ep, mask, param);
}

static inline DAT_RETURN goudat_ep_get_status(goudat_handle ep, DAT_EP_STATE *state,
					      DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	return dat_ep_get_status((DAT_EP_HANDLE)ep, state, recv_idle, request_idle);
}

/* Private data is uint8_t: for void, cgo would refuse bytes that lie beside pointers of Go. */
static inline DAT_RETURN goudat_ep_connect(goudat_handle ep, void *remote_address,
					   DAT_CONN_QUAL remote_qual, DAT_TIMEOUT timeout,
					   DAT_COUNT private_data_size, const uint8_t *private_data,
					   DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	return dat_ep_connect((DAT_EP_HANDLE)ep, (DAT_IA_ADDRESS_PTR)remote_address, remote_qual,
			      timeout, private_data_size, (DAT_PVOID)(uintptr_t)private_data, qos,
			      flags);
}

static inline DAT_RETURN goudat_ep_dup_connect(goudat_handle ep, goudat_handle dup,
					       DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
					       const uint8_t *private_data, DAT_QOS qos)
{
	return dat_ep_dup_connect((DAT_EP_HANDLE)ep, (DAT_EP_HANDLE)dup, timeout, private_data_size,
				  (DAT_PVOID)(uintptr_t)private_data, qos);
}

static inline DAT_RETURN goudat_ep_disconnect(goudat_handle ep, DAT_CLOSE_FLAGS flags)
{
	return dat_ep_disconnect((DAT_EP_HANDLE)ep, flags);
}

static inline DAT_RETURN goudat_ep_reset(goudat_handle ep)
{
	return dat_ep_reset((DAT_EP_HANDLE)ep);
}

static inline DAT_RETURN goudat_ep_free(goudat_handle ep)
{
	return dat_ep_free((DAT_EP_HANDLE)ep);
}

static inline DAT_RETURN goudat_ep_recv_query(goudat_handle ep, DAT_COUNT *allocated,
					      DAT_COUNT *span)
{
	return dat_ep_recv_query((DAT_EP_HANDLE)ep, allocated, span);
}

static inline DAT_RETURN goudat_ep_set_watermark(goudat_handle ep, DAT_COUNT soft, DAT_COUNT hard)
{
	return dat_ep_set_watermark((DAT_EP_HANDLE)ep, soft, hard);
}

#endif
