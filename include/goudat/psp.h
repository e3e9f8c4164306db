/* Public service point calls. */
#ifndef GOUDAT_PSP_H
#define GOUDAT_PSP_H

#include "native.h"

static inline DAT_RETURN goudat_psp_create(goudat_handle ia, DAT_CONN_QUAL qual, goudat_handle evd,
					   DAT_PSP_FLAGS flags, goudat_handle *psp)
{
	DAT_PSP_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_psp_create((DAT_IA_HANDLE)ia, qual, (DAT_EVD_HANDLE)evd, flags, &handle);

	*psp = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_psp_create_any(goudat_handle ia, DAT_CONN_QUAL *qual,
					       goudat_handle evd, DAT_PSP_FLAGS flags,
					       goudat_handle *psp)
{
	DAT_PSP_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_psp_create_any((DAT_IA_HANDLE)ia, qual, (DAT_EVD_HANDLE)evd, flags,
					    &handle);

	*psp = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_psp_query(goudat_handle psp, DAT_PSP_PARAM_MASK mask, void *param)
{
	return dat_psp_query((DAT_PSP_HANDLE)psp, mask, param);
}

static inline DAT_RETURN goudat_psp_free(goudat_handle psp)
{
	return dat_psp_free((DAT_PSP_HANDLE)psp);
}

#endif
