/*
 * The InfiniBand extensions. Most are macros over dat_extension_op, a variadic function, which Go cannot call.
 *
 * Why posts start from EINVAL: see dto.h.
 */
#ifndef GOUDAT_IB_H
#define GOUDAT_IB_H

/* For struct sockaddr_in6, which the header of the extensions uses without including it. */
#include <netinet/in.h>

#include "dto.h"

#include <dat2/dat_ib_extensions.h>

/* An operation that takes no arguments of its own. */
static inline DAT_RETURN goudat_extension_op(goudat_handle handle, DAT_EXTENDED_OP op)
{
	return dat_extension_op((DAT_HANDLE)handle, op);
}

static inline DAT_RETURN goudat_ib_post_rdma_write_immed(goudat_handle ep, DAT_COUNT num_segments,
							 DAT_LMR_TRIPLET *local_iov,
							 uint64_t cookie,
							 DAT_RMR_TRIPLET *remote_iov,
							 DAT_UINT32 immediate,
							 DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_rdma_write_immed((DAT_EP_HANDLE)ep, num_segments, local_iov,
					    goudat_dto_cookie(cookie), remote_iov, immediate,
					    flags);
}

static inline DAT_RETURN goudat_ib_post_fetch_and_add(goudat_handle ep, DAT_UINT64 add,
						      DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						      DAT_RMR_TRIPLET *remote_iov,
						      DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_fetch_and_add((DAT_EP_HANDLE)ep, add, local_iov,
					 goudat_dto_cookie(cookie), remote_iov, flags);
}

static inline DAT_RETURN goudat_ib_post_cmp_and_swap(goudat_handle ep, DAT_UINT64 compare,
						     DAT_UINT64 swap, DAT_LMR_TRIPLET *local_iov,
						     uint64_t cookie, DAT_RMR_TRIPLET *remote_iov,
						     DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_cmp_and_swap((DAT_EP_HANDLE)ep, compare, swap, local_iov,
					goudat_dto_cookie(cookie), remote_iov, flags);
}

static inline DAT_RETURN goudat_ib_post_send_ud(goudat_handle ep, DAT_COUNT num_segments,
						DAT_LMR_TRIPLET *local_iov, void *ah,
						uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_send_ud((DAT_EP_HANDLE)ep, num_segments, local_iov, ah,
				   goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ib_post_recv_ud(goudat_handle ep, DAT_COUNT num_segments,
						DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_recv_ud((DAT_EP_HANDLE)ep, num_segments, local_iov,
				   goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ib_ud_cm_free(goudat_handle ep, DAT_UINT64 cm)
{
	return dat_ib_ud_cm_free((DAT_EP_HANDLE)ep, cm);
}

static inline DAT_RETURN goudat_ib_ud_ah_free(goudat_handle ep, void *ah)
{
	return dat_ib_ud_ah_free((DAT_EP_HANDLE)ep, ah);
}

static inline DAT_RETURN goudat_ib_open_query(const char *name, goudat_handle *query,
					      DAT_IA_ATTR_MASK ia_mask, void *ia_attr,
					      DAT_PROVIDER_ATTR_MASK provider_mask,
					      void *provider_attr)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ib_open_query((DAT_NAME_PTR)(uintptr_t)name, &handle, ia_mask,
					   ia_attr, provider_mask, provider_attr);

	*query = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_ib_close_query(goudat_handle query)
{
	return dat_ib_close_query((DAT_HANDLE)query);
}

static inline DAT_RETURN goudat_strerror_extension(DAT_IB_RETURN value, const char **message)
{
	*message = "";
	return dat_strerror_extension(value, message);
}

static inline DAT_RETURN goudat_strerror_ext_status(DAT_IB_STATUS value, const char **message)
{
	*message = "";
	return dat_strerror_ext_status(value, message);
}

#endif
