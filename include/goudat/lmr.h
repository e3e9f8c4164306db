/* Local memory region calls. */
#ifndef GOUDAT_LMR_H
#define GOUDAT_LMR_H

#include "native.h"

/* What dat_lmr_create gives back beside the handle. */
typedef struct goudat_lmr_result {
	uint64_t handle;
	uint64_t registered_length;
	uint64_t registered_address;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
} goudat_lmr_result;

/* Registers memory of type DAT_MEM_TYPE_VIRTUAL, whose region description is a bare address. */
static inline DAT_RETURN goudat_lmr_create_virtual(goudat_handle ia, uintptr_t address,
						   DAT_VLEN length, goudat_handle pz,
						   DAT_MEM_PRIV_FLAGS privileges,
						   DAT_VA_TYPE va_type, goudat_lmr_result *result)
{
	DAT_REGION_DESCRIPTION region = {.for_va = (DAT_PVOID)address};
	DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
	DAT_VLEN registered_length = 0;
	DAT_VADDR registered_address = 0;
	DAT_RETURN ret = dat_lmr_create((DAT_IA_HANDLE)ia, DAT_MEM_TYPE_VIRTUAL, region, length,
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

#endif
