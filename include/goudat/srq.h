/* Shared receive queue calls. Why posts start from EINVAL: see dto.h. */
#ifndef GOUDAT_SRQ_H
#define GOUDAT_SRQ_H

#include "dto.h"

static inline DAT_RETURN goudat_srq_create(goudat_handle ia, goudat_handle pz, void *attr,
					   goudat_handle *srq)
{
	DAT_SRQ_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_srq_create((DAT_IA_HANDLE)ia, (DAT_PZ_HANDLE)pz, attr, &handle);

	*srq = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_srq_free(goudat_handle srq)
{
	return dat_srq_free((DAT_SRQ_HANDLE)srq);
}

static inline DAT_RETURN goudat_srq_post_recv(goudat_handle srq, DAT_COUNT num_segments,
					      DAT_LMR_TRIPLET *local_iov, uint64_t cookie)
{
	return dat_srq_post_recv((DAT_SRQ_HANDLE)srq, num_segments, local_iov,
				 goudat_dto_cookie(cookie));
}

static inline DAT_RETURN goudat_srq_query(goudat_handle srq, DAT_SRQ_PARAM_MASK mask, void *param)
{
	return dat_srq_query((DAT_SRQ_HANDLE)srq, mask, param);
}

static inline DAT_RETURN goudat_srq_resize(goudat_handle srq, DAT_COUNT max_recv_dtos)
{
	return dat_srq_resize((DAT_SRQ_HANDLE)srq, max_recv_dtos);
}

static inline DAT_RETURN goudat_srq_set_lw(goudat_handle srq, DAT_COUNT low_watermark)
{
	return dat_srq_set_lw((DAT_SRQ_HANDLE)srq, low_watermark);
}

#endif
