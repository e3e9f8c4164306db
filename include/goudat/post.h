/*
 * Posts one or several data transfer operations of any kind in one crossing, from records that Go fills.
 */
#ifndef GOUDAT_POST_H
#define GOUDAT_POST_H

#include <stddef.h>

#include "dto.h"
#include "ib.h"

/* One operation. In a batch, its segments follow those of the one before it. */
typedef struct goudat_post {
	uint32_t operation; /* a DAT_DTOS, or one of the extension's operations */
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

/*
 * operands are those of the extension's operations, NULL for any other: the immediate value, the number to add, or the
 * numbers to compare and to swap.
 */
static inline DAT_RETURN goudat_ep_post(goudat_handle ep, goudat_post *post, DAT_LMR_TRIPLET *iov,
					const uint64_t *operands)
{
	DAT_RMR_TRIPLET *remote = (DAT_RMR_TRIPLET *)post->remote;
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
	if (operands == NULL)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	switch (post->operation) {
	case DAT_IB_DTO_RDMA_WRITE_IMMED:
		return goudat_ib_post_rdma_write_immed(ep, segments, iov, post->cookie, remote,
						       (DAT_UINT32)operands[0], flags);
	case DAT_IB_DTO_FETCH_ADD:
		return goudat_ib_post_fetch_and_add(ep, operands[0], iov, post->cookie, remote, flags);
	case DAT_IB_DTO_CMP_SWAP:
		return goudat_ib_post_cmp_and_swap(ep, operands[0], operands[1], iov, post->cookie, remote,
						   flags);
	}
	return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
}

/* Posts operations in order until one is refused, and returns the return value of that one. */
static inline DAT_RETURN goudat_ep_post_batch(goudat_handle ep, goudat_post *posts, int count,
					      DAT_LMR_TRIPLET *iov, int *accepted)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int n;

	for (n = 0; n < count; n++) {
		ret = goudat_ep_post(ep, &posts[n], iov, NULL);
		if (ret != DAT_SUCCESS)
			break;
		iov += posts[n].segments;
	}
	*accepted = n;
	return ret;
}

#endif
