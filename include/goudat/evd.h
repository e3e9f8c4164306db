/* Event dispatcher calls. */
#ifndef GOUDAT_EVD_H
#define GOUDAT_EVD_H

#include <string.h>
#include <time.h>

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

static inline DAT_RETURN goudat_evd_set_unwaitable(goudat_handle evd)
{
	return dat_evd_set_unwaitable((DAT_EVD_HANDLE)evd);
}

static inline DAT_RETURN goudat_evd_clear_unwaitable(goudat_handle evd)
{
	return dat_evd_clear_unwaitable((DAT_EVD_HANDLE)evd);
}

static inline DAT_RETURN goudat_evd_resize(goudat_handle evd, DAT_COUNT min_qlen)
{
	return dat_evd_resize((DAT_EVD_HANDLE)evd, min_qlen);
}

/* The pointer of a software event carries a number. */
static inline DAT_RETURN goudat_evd_post_se(goudat_handle evd, DAT_EVENT_NUMBER number,
					    uint64_t pointer)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = number;
	event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)pointer;
	return dat_evd_post_se((DAT_EVD_HANDLE)evd, &event);
}

/* The library leaves parts of an event unwritten. Zeroed first, they have a defined value. */
static inline DAT_RETURN goudat_evd_dequeue(goudat_handle evd, goudat_event *event)
{
	memset(event, 0, sizeof(*event));
	return dat_evd_dequeue((DAT_EVD_HANDLE)evd, (DAT_EVENT *)event);
}

static inline DAT_RETURN goudat_evd_wait(goudat_handle evd, DAT_TIMEOUT timeout,
					 DAT_COUNT threshold, goudat_event *event,
					 DAT_COUNT *n_more)
{
	memset(event, 0, sizeof(*event));
	*n_more = 0;
	return dat_evd_wait((DAT_EVD_HANDLE)evd, timeout, threshold, (DAT_EVENT *)event, n_more);
}

/*
 * Takes up to max events. Of each, the library writes what its kind has, and nothing else is defined. The return value
 * is that of the last call.
 */
static inline DAT_RETURN goudat_evd_take(goudat_handle evd, goudat_event *events, int max, int *count)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 0;

	while (n < max && (ret = dat_evd_dequeue((DAT_EVD_HANDLE)evd, (DAT_EVENT *)&events[n])) == DAT_SUCCESS)
		n++;
	*count = n;
	return ret;
}

/*
 * Waits until threshold events are there, and takes up to max events, at least threshold, in one crossing. The return
 * value is that of the wait, if that fails.
 */
static inline DAT_RETURN goudat_evd_wait_batch(goudat_handle evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
					       goudat_event *events, int max, int *count)
{
	DAT_COUNT more;
	DAT_RETURN ret = goudat_evd_wait(evd, timeout, threshold, events, &more);
	int rest = 0;

	*count = 0;
	if (ret != DAT_SUCCESS)
		return ret;
	if (max > 1)
		ret = goudat_evd_take(evd, &events[1], max - 1, &rest);
	*count = 1 + rest;
	return ret;
}

/* Takes up to max events, at least 1, in one crossing. */
static inline DAT_RETURN goudat_evd_dequeue_batch(goudat_handle evd, goudat_event *events, int max,
						  int *count)
{
	return goudat_evd_take(evd, events, max, count);
}

static inline uint64_t goudat_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Tells the processor that this is a spin loop. */
static inline void goudat_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * goudat_evd_dequeue_batch that polls for up to budget nanoseconds until there is an event. Reading the clock can cost
 * as much as many polls. So the clock is first read when nothing has come for a while, and then after twice as many
 * polls each time.
 *
 * Each poll takes the EVD's lock, which is not fair. The pause after an empty poll lets a thread that posts an event
 * get the lock. There is no pause before the first poll.
 */
static inline DAT_RETURN goudat_evd_spin(goudat_handle evd, goudat_event *events, int max,
					 uint64_t budget, int *count)
{
	const int most_looks = 512;
	uint64_t begin = 0;

	for (int looks = 32;; looks = looks < most_looks ? 2 * looks : most_looks) {
		uint64_t now;
		DAT_RETURN ret;

		for (int i = 0; i < looks; i++) {
			ret = goudat_evd_take(evd, events, max, count);
			if (*count > 0 || DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
				return ret;
			goudat_cpu_pause();
		}
		now = goudat_monotonic_ns();
		if (begin == 0)
			begin = now;
		if (now - begin >= budget)
			return ret;
	}
}

#endif
