/* Reserved service point calls. */
#ifndef GOUDAT_RSP_H
#define GOUDAT_RSP_H

#include "native.h"

static inline DAT_RETURN goudat_rsp_create(goudat_handle ia, DAT_CONN_QUAL qual, goudat_handle ep,
					   goudat_handle evd, goudat_handle *rsp)
{
	DAT_RSP_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_rsp_create((DAT_IA_HANDLE)ia, qual, (DAT_EP_HANDLE)ep,
					(DAT_EVD_HANDLE)evd, &handle);

	*rsp = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_rsp_query(goudat_handle rsp, DAT_RSP_PARAM_MASK mask, void *param)
{
	return dat_rsp_query((DAT_RSP_HANDLE)rsp, mask, param);
}

static inline DAT_RETURN goudat_rsp_free(goudat_handle rsp)
{
	return dat_rsp_free((DAT_RSP_HANDLE)rsp);
}

#endif
