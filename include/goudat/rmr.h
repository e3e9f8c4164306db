/* Remote memory region calls. Why the bind starts from EINVAL: see dto.h. */
#ifndef GOUDAT_RMR_H
#define GOUDAT_RMR_H

#include "dto.h"

static inline DAT_RETURN goudat_rmr_create(goudat_handle pz, goudat_handle *rmr)
{
	DAT_RMR_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_rmr_create((DAT_PZ_HANDLE)pz, &handle);

	*rmr = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_rmr_query(goudat_handle rmr, DAT_RMR_PARAM_MASK mask, void *param)
{
	return dat_rmr_query((DAT_RMR_HANDLE)rmr, mask, param);
}

static inline DAT_RETURN goudat_rmr_bind(goudat_handle rmr, goudat_handle lmr,
					 const DAT_LMR_TRIPLET *lmr_triplet,
					 DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
					 goudat_handle ep, uint64_t cookie,
					 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return dat_rmr_bind((DAT_RMR_HANDLE)rmr, (DAT_LMR_HANDLE)lmr, lmr_triplet, privileges,
			    va_type, (DAT_EP_HANDLE)ep, goudat_dto_cookie(cookie), flags, context);
}

static inline DAT_RETURN goudat_rmr_free(goudat_handle rmr)
{
	return dat_rmr_free((DAT_RMR_HANDLE)rmr);
}

#endif
