/* Interface adapter calls. */
#ifndef GOUDAT_IA_H
#define GOUDAT_IA_H

#include "native.h"

static inline DAT_RETURN goudat_ia_openv(const char *name, DAT_COUNT async_evd_min_qlen,
					 goudat_handle *async_evd, goudat_handle *ia,
					 DAT_UINT32 major, DAT_UINT32 minor,
					 DAT_BOOLEAN thread_safe)
{
	DAT_EVD_HANDLE evd_handle = (DAT_EVD_HANDLE)*async_evd;
	DAT_IA_HANDLE ia_handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name, async_evd_min_qlen,
				      &evd_handle, &ia_handle, major, minor, thread_safe);

	*async_evd = (goudat_handle)evd_handle;
	*ia = (goudat_handle)ia_handle;
	return ret;
}

static inline DAT_RETURN goudat_ia_query(goudat_handle ia, goudat_handle *async_evd,
					 DAT_IA_ATTR_MASK ia_mask, void *ia_attr,
					 DAT_PROVIDER_ATTR_MASK provider_mask,
					 void *provider_attr)
{
	DAT_EVD_HANDLE evd_handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_query((DAT_IA_HANDLE)ia, &evd_handle, ia_mask, ia_attr,
				      provider_mask, provider_attr);

	*async_evd = (goudat_handle)evd_handle;
	return ret;
}

static inline DAT_RETURN goudat_ia_close(goudat_handle ia, DAT_CLOSE_FLAGS flags)
{
	return dat_ia_close((DAT_IA_HANDLE)ia, flags);
}

static inline const DAT_NAMED_ATTR *goudat_named_attr(uintptr_t attributes, DAT_COUNT i)
{
	return (const DAT_NAMED_ATTR *)attributes + i;
}

#endif
