/*
 * Posting of data transfer operations on an endpoint.
 *
 * The providers build the code of a post that the verbs layer refuses from
 * errno, which that layer does not always set: left at 0, a refused post would
 * report success and never complete. Each post therefore starts from EINVAL.
 */
#ifndef GOUDAT_DTO_H
#define GOUDAT_DTO_H

#include <stddef.h>

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
	errno = EINVAL;
	return dat_ep_post_send((DAT_EP_HANDLE)ep, num_segments, local_iov,
				goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ep_post_recv(goudat_handle ep, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
					     DAT_COMPLETION_FLAGS flags)
{
	errno = EINVAL;
	return dat_ep_post_recv((DAT_EP_HANDLE)ep, num_segments, local_iov,
				goudat_dto_cookie(cookie), flags);
}

static inline DAT_RETURN goudat_ep_post_rdma_read(goudat_handle ep, DAT_COUNT num_segments,
						  DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						  const DAT_RMR_TRIPLET *remote_iov,
						  DAT_COMPLETION_FLAGS flags)
{
	errno = EINVAL;
	return dat_ep_post_rdma_read((DAT_EP_HANDLE)ep, num_segments, local_iov,
				     goudat_dto_cookie(cookie), remote_iov, flags);
}

static inline DAT_RETURN goudat_ep_post_rdma_write(goudat_handle ep, DAT_COUNT num_segments,
						   DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
						   const DAT_RMR_TRIPLET *remote_iov,
						   DAT_COMPLETION_FLAGS flags)
{
	errno = EINVAL;
	return dat_ep_post_rdma_write((DAT_EP_HANDLE)ep, num_segments, local_iov,
				      goudat_dto_cookie(cookie), remote_iov, flags);
}

/* One operation of a batch. Its segments follow those of the one before it. */
typedef struct goudat_post {
	uint32_t operation; /* a DAT_DTOS */
	uint32_t segments;
	uint64_t cookie;
	uint64_t remote[sizeof(DAT_RMR_TRIPLET) / sizeof(uint64_t)];
	uint32_t flags;
	uint32_t unused;
} goudat_post;

_Static_assert(sizeof(DAT_RMR_TRIPLET) % sizeof(uint64_t) == 0, "a DAT_RMR_TRIPLET is whole words");
_Static_assert(sizeof(goudat_post) == 40 && offsetof(goudat_post, cookie) == 8 &&
	       offsetof(goudat_post, remote) == 16 && offsetof(goudat_post, flags) == 32,
	       "goudat_post has the layout of Post in Go");

static inline DAT_RETURN goudat_ep_post(goudat_handle ep, const goudat_post *post, DAT_LMR_TRIPLET *iov)
{
	const DAT_RMR_TRIPLET *remote = (const DAT_RMR_TRIPLET *)post->remote;
	const DAT_COUNT segments = (DAT_COUNT)post->segments;
	const DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)post->flags;

	switch (post->operation) {
	case DAT_DTO_SEND:
		return goudat_ep_post_send(ep, segments, iov, post->cookie, flags);
	case DAT_DTO_RECEIVE:
		return goudat_ep_post_recv(ep, segments, iov, post->cookie, flags);
	case DAT_DTO_RDMA_READ:
		return goudat_ep_post_rdma_read(ep, segments, iov, post->cookie, remote, flags);
	case DAT_DTO_RDMA_WRITE:
		return goudat_ep_post_rdma_write(ep, segments, iov, post->cookie, remote, flags);
	}
	return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
}

/* Posts in order until one is refused, whose return value it gives. */
static inline DAT_RETURN goudat_ep_post_batch(goudat_handle ep, const goudat_post *posts, int count,
					      DAT_LMR_TRIPLET *iov, int *accepted)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int n;

	for (n = 0; n < count; n++) {
		ret = goudat_ep_post(ep, &posts[n], iov);
		if (ret != DAT_SUCCESS)
			break;
		iov += posts[n].segments;
	}
	*accepted = n;
	return ret;
}

#endif
