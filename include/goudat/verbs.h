/* What libibverbs says of the RDMA devices. */
#ifndef GOUDAT_VERBS_H
#define GOUDAT_VERBS_H

#include <string.h>

#include "native.h"
#include <infiniband/verbs.h>

static inline struct ibv_device *goudat_ibv_device(goudat_handle list, int i)
{
	return ((struct ibv_device **)list)[i];
}

static inline struct ibv_context *goudat_ibv_context(goudat_handle context)
{
	return (struct ibv_context *)context;
}

/* The functions fail with an errno, or with -1 and errno set. */
static inline int goudat_ibv_errno(int ret)
{
	return ret < 0 ? errno : ret;
}

static inline int goudat_ibv_get_device_list(goudat_handle *list, int *count)
{
	errno = 0;
	*list = (goudat_handle)ibv_get_device_list(count);
	return *list != 0 ? 0 : errno;
}

static inline void goudat_ibv_free_device_list(goudat_handle list)
{
	ibv_free_device_list((struct ibv_device **)list);
}

static inline int goudat_ibv_open_device(goudat_handle list, int i, goudat_handle *context)
{
	errno = 0;
	*context = (goudat_handle)ibv_open_device(goudat_ibv_device(list, i));
	if (*context != 0)
		return 0;
	return errno != 0 ? errno : EIO;
}

static inline int goudat_ibv_close_device(goudat_handle context)
{
	return goudat_ibv_errno(ibv_close_device(goudat_ibv_context(context)));
}

static inline int goudat_ibv_query_device(goudat_handle context, struct ibv_device_attr *attr)
{
	return goudat_ibv_errno(ibv_query_device(goudat_ibv_context(context), attr));
}

static inline int goudat_ibv_query_port(goudat_handle context, uint8_t port,
					struct ibv_port_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	return goudat_ibv_errno(ibv_query_port(goudat_ibv_context(context), port, attr));
}

static inline int goudat_ibv_query_gid(goudat_handle context, uint8_t port, int index, void *gid)
{
	union ibv_gid value;
	int ret = goudat_ibv_errno(
		ibv_query_gid(goudat_ibv_context(context), port, index, &value));

	if (ret == 0)
		memcpy(gid, value.raw, sizeof(value.raw));
	return ret;
}

#endif
