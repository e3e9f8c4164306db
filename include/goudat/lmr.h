/* Local memory region calls. */
#ifndef GOUDAT_LMR_H
#define GOUDAT_LMR_H

#include "native.h"

/* The results of dat_lmr_create besides the handle. */
typedef struct goudat_lmr_result {
	uint64_t handle;
	uint64_t registered_length;
	uint64_t registered_address;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
} goudat_lmr_result;

/* The region description is a union. Go fills both words of it. */
static inline DAT_RETURN goudat_lmr_create(goudat_handle ia, DAT_MEM_TYPE mem_type,
					   uintptr_t region, uintptr_t shared_memory_id,
					   DAT_VLEN length, goudat_handle pz,
					   DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
					   goudat_lmr_result *result)
{
	DAT_REGION_DESCRIPTION description = {
		.for_shared_memory = {
			.virtual_address = (DAT_PVOID)region,
			.shared_memory_id = (DAT_LMR_COOKIE)shared_memory_id,
		},
	};
	DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
	DAT_VLEN registered_length = 0;
	DAT_VADDR registered_address = 0;
	DAT_RETURN ret = dat_lmr_create((DAT_IA_HANDLE)ia, mem_type, description, length,
					(DAT_PZ_HANDLE)pz, privileges, va_type, &handle,
					&result->lmr_context, &result->rmr_context,
					&registered_length, &registered_address);

	result->handle = (uint64_t)(uintptr_t)handle;
	result->registered_length = registered_length;
	result->registered_address = registered_address;
	return ret;
}

static inline DAT_RETURN goudat_lmr_free(goudat_handle lmr)
{
	return dat_lmr_free((DAT_LMR_HANDLE)lmr);
}

static inline DAT_RETURN goudat_lmr_query(goudat_handle lmr, DAT_LMR_PARAM_MASK mask, void *param)
{
	return dat_lmr_query((DAT_LMR_HANDLE)lmr, mask, param);
}

static inline DAT_RETURN goudat_lmr_sync_rdma_read(goudat_handle ia,
						   const DAT_LMR_TRIPLET *segments,
						   DAT_VLEN num_segments)
{
	return dat_lmr_sync_rdma_read((DAT_IA_HANDLE)ia, segments, num_segments);
}

static inline DAT_RETURN goudat_lmr_sync_rdma_write(goudat_handle ia,
						    const DAT_LMR_TRIPLET *segments,
						    DAT_VLEN num_segments)
{
	return dat_lmr_sync_rdma_write((DAT_IA_HANDLE)ia, segments, num_segments);
}

#endif
