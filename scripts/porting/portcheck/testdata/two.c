/* A program for uDAPL 2.0. Each comment "want" names the subjects of the warnings on its line. */
#include <dat2/udat.h>
#include "two.h"

static struct peer peers[4];
static DAT_EVD_HANDLE shared;

#define TRY(function, ...)                                                                       \
	do {                                                                                     \
		if (failed(#function, function(__VA_ARGS__)))                                    \
			return -1;                                                               \
	} while (0)
#define SEND(ep, iov, cookie) dat_ep_post_send(ep, 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG) /* want: macro */

int evds(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_EVD_HANDLE own, dto;
	int i;

	TRY(dat_evd_create, ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto); /* want: EVD length, macro */
	if (dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &own) != DAT_SUCCESS)
		return -1;
	for (i = 0; i < 4; i++)
		if (dat_ep_create(ia, pz, dto, dto, own, NULL, &peers[i].ep)) /* want: shared EVD, shared EVD */
			return -1;
	return 0;
}

int alone(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, struct peer *peer, DAT_EVD_HANDLE dto)
{
	DAT_EVD_HANDLE single;

	if (dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &single))
		return -1;
	return dat_ep_create(ia, pz, DAT_HANDLE_NULL, dto, single, NULL, &peer->ep);
}

int service(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, struct peer *peer, DAT_EVD_HANDLE dto)
{
	DAT_PSP_HANDLE psp;

	if (dat_psp_create(ia, 7000, shared, DAT_PSP_CONSUMER_FLAG, &psp))
		return -1;
	return dat_ep_create(ia, pz, DAT_HANDLE_NULL, dto, shared, NULL, &peer->ep); /* want: shared EVD, shared EVD */
}

void cookies(struct peer *peer, DAT_LMR_TRIPLET *iov, uint64_t index)
{
	DAT_DTO_COOKIE cookie = { .as_64 = index }, pointer = { .as_64 = (uintptr_t)peer }; /* want: cookie */
	DAT_CONTEXT context;

	context.as_ptr = peer;
	dat_set_consumer_context(peer->ep, context); /* want: code */
	cookie.as_64 = 17;
	cookie.as_ptr = NULL;
	cookie.as_ptr = peer; /* want: cookie */
	cookie.as_64 = (DAT_UINT64)(unsigned long)&peers[1]; /* want: cookie */
	cookie = *(DAT_DTO_COOKIE *)&peer; /* want: cookie */
	if (SEND(peer->ep, iov, cookie))
		return;
	dat_ep_post_recv(peer->ep, 1, iov, cookie, 0); /* want: code */
	(void)dat_ep_free(peer->ep); /* want: code */
}

int events(struct peer *peer, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_CONNECTION_EVENT_DATA *connected = &event->event_data.connect_event_data;
	DAT_RETURN ret = dat_evd_dequeue(shared, event);

	if (ret == DAT_QUEUE_EMPTY) /* want: code */
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		return -1;
	if ((ret & DAT_TYPE_MASK) == DAT_QUEUE_EMPTY)
		return 0;
	switch (ret) {
	case DAT_SUCCESS:
	case DAT_QUEUE_EMPTY: /* want: code */
		return 0;
	}
	switch (ret & DAT_TYPE_MASK) {
	case DAT_QUEUE_EMPTY:
		return 0;
	}
	switch (DAT_GET_TYPE(ret)) {
	case DAT_QUEUE_EMPTY:
		return 0;
	}
	if (peer->ep == DAT_HANDLE_NULL)
		return -1;
	if (connected->ep_handle == peer->ep) /* want: handle */
		peer->greeting = connected->private_data; /* want: private data */
	if (connected->private_data_size < 4) /* want: private data */
		return -1;
	if (((struct greeting *)connected->private_data)->magic != 7) /* want: wire */
		return -1;
	if (((int *)connected->private_data)[0] != 7) /* want: wire */
		return -1;
	memcpy(&peer->copy, connected->private_data, 4);
	return dto->status == DAT_DTO_SUCCESS && peer->status == 0;
}

DAT_RETURN answers(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, const DAT_CR_ARRIVAL_EVENT_DATA *arrived)
{
	struct greeting m;
	unsigned char packed[8];
	DAT_CR_PARAM param;
	DAT_LMR_TRIPLET iov;
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;
	DAT_COUNT more;
	struct poptOption options[] = {
		POPT_AUTOHELP
		POPT_TABLEEND
	};

	take((struct greeting *)param.private_data); /* want: wire */
	struct greeting *kept = (struct greeting *)param.private_data; /* want: private data, wire */
	use((const unsigned char *)param.private_data, (void *)param.private_data);
	if (dat_ep_connect(ep, address, 7, DAT_TIMEOUT_INFINITE, sizeof m, &m, 0, 0) || /* want: wire */
	    dat_ep_connect(ep, address, 7, 5, sizeof packed, packed, 0, 0) || dat_ep_connect(ep, address, 7, 5, 8, &packed[0], 0, 0) ||
	    dat_cr_reject(cr, sizeof m, (const DAT_PVOID)&m)) /* want: wire */
		return -1;
	if (dat_cr_accept(cr, ep, sizeof m, &m) || /* want: wire */
	    dat_ep_post_recv(ep, 1, &iov, cookie, 0) ||
	    dat_ep_post_send(ep, 1, &iov, cookie, 0)) /* want: accept */
		return -1;
	if (dat_evd_wait(shared, DAT_TIMEOUT_INFINITE, 1, &event, &more))
		return -1;
	return dat_ep_post_rdma_write(ep, 1, &iov, cookie, NULL, 0);
}

void polling(struct peer *peer, unsigned char *last)
{
	volatile int number = 3;
	volatile char *mark; /* want: polling */

	while (*(volatile unsigned char *)last != number) /* want: polling, polling */
		;
	while (last[7] != 3) { /* want: polling */
		sched_yield();
	}
	while (last[7] != 3) /* want: polling */
		continue;
	while (last[7] != 3) /* want: polling */
		number++;
	while (last[number] != 3)
		number++;
	while (peer->copy != 3)
		peer->copy++;
	while (*last++)
		;
	while (last[1])
		handle(peer);
	pthread_mutex_lock(&peer->lock); /* want: lock */
	if (dat_evd_dequeue(shared, &peer->event))
		mark = 0;
	pthread_mutex_unlock(&peer->lock);
	pthread_rwlock_wrlock(&peer->lock); /* want: lock */
	pthread_rwlock_rdlock(&peer->lock); /* want: lock */
	pthread_rwlock_unlock(&peer->lock);
}

void send(DAT_LMR_TRIPLET **iov, int n)
{
	*iov = malloc(n * sizeof(DAT_LMR_TRIPLET));
}

void casts(struct peer *peer, DAT_DTO_COOKIE cookie, struct peer **list, int number)
{
	cookie.as_64 = (uintptr_t)number;
	cookie.as_64 = (uintptr_t)(peer->copy);
	cookie.as_64 = (uintptr_t)9;
	cookie.as_64 = (uintptr_t)peer->greeting; /* want: cookie */
	cookie.as_64 = (uintptr_t)peer->ep; /* want: cookie */
	cookie.as_64 = (uintptr_t)list[number]; /* want: cookie */
	cookie.as_64 = (uintptr_t)&number; /* want: cookie */
}

void without_library(struct peer *peer)
{
	pthread_mutex_lock(&peer->lock);
	DAT_OWN_NAME(peer);
}
