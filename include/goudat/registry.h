/* Registry and error text calls. */
#ifndef GOUDAT_REGISTRY_H
#define GOUDAT_REGISTRY_H

#include <stdlib.h>

#include "native.h"

#include <dat2/dat_registry.h>

/* Fills infos[0..max). The native call wants an array of pointers, each to one entry. */
static inline DAT_RETURN goudat_registry_list_providers(DAT_COUNT max, DAT_COUNT *count,
							void *infos)
{
	DAT_PROVIDER_INFO *entries = infos;
	DAT_PROVIDER_INFO **list = calloc(max > 0 ? (size_t)max : 1, sizeof(*list));
	DAT_RETURN ret;

	if (list == NULL)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	for (DAT_COUNT i = 0; i < max; i++)
		list[i] = &entries[i];
	ret = dat_registry_list_providers(max, count, list);
	free(list);
	return ret;
}

static inline DAT_RETURN goudat_registry_add_provider(uintptr_t provider, const void *info)
{
	return dat_registry_add_provider((const DAT_PROVIDER *)provider, info);
}

static inline DAT_RETURN goudat_registry_remove_provider(uintptr_t provider, const void *info)
{
	return dat_registry_remove_provider((const DAT_PROVIDER *)provider, info);
}

/* An unknown type leaves the minor text unset, so both texts start empty. */
static inline DAT_RETURN goudat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	*major = "";
	*minor = "";
	return dat_strerror(value, major, minor);
}

#endif
