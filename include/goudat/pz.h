/* Protection zone calls. */
#ifndef GOUDAT_PZ_H
#define GOUDAT_PZ_H

#include "native.h"

static inline DAT_RETURN goudat_pz_create(goudat_handle ia, goudat_handle *pz)
{
	DAT_PZ_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_pz_create((DAT_IA_HANDLE)ia, &handle);

	*pz = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_pz_query(goudat_handle pz, DAT_PZ_PARAM_MASK mask, void *param)
{
	return dat_pz_query((DAT_PZ_HANDLE)pz, mask, param);
}

static inline DAT_RETURN goudat_pz_free(goudat_handle pz)
{
	return dat_pz_free((DAT_PZ_HANDLE)pz);
}

#endif
