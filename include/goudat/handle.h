/* Calls that take a handle of any kind. */
#ifndef GOUDAT_HANDLE_H
#define GOUDAT_HANDLE_H

#include "native.h"

static inline DAT_RETURN goudat_set_consumer_context(goudat_handle handle, uint64_t value)
{
	DAT_CONTEXT context;

	context.as_64 = value;
	return dat_set_consumer_context((DAT_HANDLE)handle, context);
}

static inline DAT_RETURN goudat_get_consumer_context(goudat_handle handle, uint64_t *value)
{
	DAT_CONTEXT context;
	DAT_RETURN ret;

	context.as_64 = 0;
	ret = dat_get_consumer_context((DAT_HANDLE)handle, &context);
	*value = context.as_64;
	return ret;
}

static inline DAT_RETURN goudat_get_handle_type(goudat_handle handle, DAT_HANDLE_TYPE *type)
{
	return dat_get_handle_type((DAT_HANDLE)handle, type);
}

/* The library exports this function, but no header declares it. */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

static inline DAT_RETURN goudat_get_ia_handle(goudat_handle handle, goudat_handle *ia)
{
	DAT_IA_HANDLE ia_handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dats_get_ia_handle((DAT_IA_HANDLE)handle, &ia_handle);

	*ia = (goudat_handle)ia_handle;
	return ret;
}

#endif
