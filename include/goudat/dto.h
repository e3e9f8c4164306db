/* Posting of data transfer operations on an endpoint. */
#ifndef GOUDAT_DTO_H
#define GOUDAT_DTO_H

#include "native.h"

static inline DAT_DTO_COOKIE goudat_dto_cookie(uint64_t value)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = value;
	return cookie;
}

static inline DAT_RETURN goudat_ep_post_send(goudat_handle ep, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
					     DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_send((DAT_EP_HANDLE)ep, num_segments, local_iov,
				goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ep_post_recv(goudat_handle ep, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
					     DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_recv((DAT_EP_HANDLE)ep, num_segments, local_iov,
				goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ep_post_rdma_read(goudat_handle ep, DAT_COUNT num_segments,
						  DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						  const DAT_RMR_TRIPLET *remote_iov,
						  DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_read((DAT_EP_HANDLE)ep, num_segments, local_iov,
				     goudat_dto_cookie(cookie), remote_iov, flags);
}

static inline DAT_RETURN goudat_ep_post_rdma_write(goudat_handle ep, DAT_COUNT num_segments,
						   DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						   const DAT_RMR_TRIPLET *remote_iov,
						   DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_write((DAT_EP_HANDLE)ep, num_segments, local_iov,
				      goudat_dto_cookie(cookie), remote_iov, flags);
}

#endif
