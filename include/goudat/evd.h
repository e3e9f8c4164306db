/* Event dispatcher calls. */
#ifndef GOUDAT_EVD_H
#define GOUDAT_EVD_H

#include <string.h>

#include "native.h"

/* A DAT_EVENT as words, so that Go can pass its own memory without a pointer check. */
typedef struct goudat_event {
	uint64_t words[15];
} goudat_event;

_Static_assert(sizeof(goudat_event) == sizeof(DAT_EVENT), "goudat_event has the size of DAT_EVENT");

static inline DAT_RETURN goudat_evd_create(goudat_handle ia, DAT_COUNT min_qlen, goudat_handle cno,
					   DAT_EVD_FLAGS flags, goudat_handle *evd)
{
	DAT_EVD_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_evd_create((DAT_IA_HANDLE)ia, min_qlen, (DAT_CNO_HANDLE)cno, flags,
					&handle);

	*evd = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_evd_free(goudat_handle evd)
{
	return dat_evd_free((DAT_EVD_HANDLE)evd);
}

static inline DAT_RETURN goudat_evd_query(goudat_handle evd, DAT_EVD_PARAM_MASK mask, void *param)
{
	return dat_evd_query((DAT_EVD_HANDLE)evd, mask, param);
}

static inline DAT_RETURN goudat_evd_modify_cno(goudat_handle evd, goudat_handle cno)
{
	return dat_evd_modify_cno((DAT_EVD_HANDLE)evd, (DAT_CNO_HANDLE)cno);
}

static inline DAT_RETURN goudat_evd_enable(goudat_handle evd)
{
	return dat_evd_enable((DAT_EVD_HANDLE)evd);
}

static inline DAT_RETURN goudat_evd_disable(goudat_handle evd)
{
	return dat_evd_disable((DAT_EVD_HANDLE)evd);
}

/* The library leaves parts of an event unwritten; zeroed first, they are at least the same each time. */
static inline DAT_RETURN goudat_evd_dequeue(goudat_handle evd, goudat_event *event)
{
	memset(event, 0, sizeof(*event));
	return dat_evd_dequeue((DAT_EVD_HANDLE)evd, (DAT_EVENT *)event);
}

/* Takes up to max events in one crossing. The return value is that of the call that ended it. */
static inline DAT_RETURN goudat_evd_dequeue_batch(goudat_handle evd, goudat_event *events, int max,
						  int *count)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 0;

	while (n < max && (ret = goudat_evd_dequeue(evd, &events[n])) == DAT_SUCCESS)
		n++;
	*count = n;
	return ret;
}

#endif
