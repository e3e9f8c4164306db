/* Endpoints by the thousand: made, connected, used in turn, and freed. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

DAT_EVD_HANDLE create_evd(DAT_IA_HANDLE ia, int length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	must("dat_evd_create", dat_evd_create(ia, length, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

static void create_memory(struct crowd *crowd)
{
	const size_t size = 4096;
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered;
	DAT_VADDR address;

	crowd->memory = aligned_alloc(size, size);
	if (crowd->memory == NULL)
		stop("no memory");
	memset(crowd->memory, 0, size);
	region.for_va = crowd->memory;
	must("dat_lmr_create", dat_lmr_create(crowd->ia, DAT_MEM_TYPE_VIRTUAL, region, size, crowd->pz,
					      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &crowd->lmr, &crowd->lmr_context,
					      &rmr_context, &registered, &address));
}

static void create_station(const struct crowd *crowd, struct station *s)
{
	s->done = crowd->own ? create_evd(crowd->ia, OWN_LENGTH, DAT_EVD_DTO_FLAG) : crowd->done;
	s->connections = crowd->own ? create_evd(crowd->ia, OWN_LENGTH, DAT_EVD_CONNECTION_FLAG) : crowd->connections;
	must("dat_ep_create",
	     dat_ep_create(crowd->ia, crowd->pz, s->done, s->done, s->connections, &crowd->attr, &s->ep));
}

static void free_station(const struct crowd *crowd, struct station *s)
{
	must("dat_ep_free", dat_ep_free(s->ep));
	if (!crowd->own)
		return;
	must("dat_evd_free", dat_evd_free(s->done));
	must("dat_evd_free", dat_evd_free(s->connections));
}

/* The provider tells its defaults only of an endpoint that has them. */
static void read_default_attributes(struct crowd *crowd)
{
	DAT_EVD_HANDLE done = create_evd(crowd->ia, 64, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE connections = create_evd(crowd->ia, OWN_LENGTH, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	must("dat_ep_create", dat_ep_create(crowd->ia, crowd->pz, done, done, connections, NULL, &ep));
	must("dat_ep_query", dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	must("dat_ep_free", dat_ep_free(ep));
	must("dat_evd_free", dat_evd_free(done));
	must("dat_evd_free", dat_evd_free(connections));
	crowd->attr = param.ep_attr;
	crowd->attr.max_request_dtos = REQUESTS;
	crowd->attr.max_recv_dtos = RECEIVES;
}

void crowd_open(struct crowd *crowd, const char *ia_name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	must("dat_ia_open", dat_ia_open((char *)(uintptr_t)ia_name, 64, &async, &crowd->ia));
	must("dat_pz_create", dat_pz_create(crowd->ia, &crowd->pz));
	read_default_attributes(crowd);
	create_memory(crowd);
	crowd->stations = calloc((size_t)crowd->count, sizeof(*crowd->stations));
	if (crowd->stations == NULL)
		stop("no memory");
}

void crowd_create(struct crowd *crowd)
{
	if (!crowd->own) {
		crowd->done = create_evd(crowd->ia, crowd->count * (REQUESTS + RECEIVES) + LEAST_SHARED, DAT_EVD_DTO_FLAG);
		crowd->connections =
			create_evd(crowd->ia, crowd->count * EVENTS_PER_EP + LEAST_SHARED, DAT_EVD_CONNECTION_FLAG);
	}
	for (int i = 0; i < crowd->count; i++)
		create_station(crowd, &crowd->stations[i]);
}

void crowd_listen(struct crowd *crowd)
{
	DAT_IA_ATTR attr;
	char text[INET_ADDRSTRLEN];

	crowd->arrivals = create_evd(crowd->ia, LEAST_SHARED, DAT_EVD_CR_FLAG);
	must("dat_psp_create",
	     dat_psp_create(crowd->ia, crowd->qual, crowd->arrivals, DAT_PSP_CONSUMER_FLAG, &crowd->psp));
	must("dat_ia_query", dat_ia_query(crowd->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	inet_ntop(AF_INET, &((struct sockaddr_in *)attr.ia_address_ptr)->sin_addr, text, sizeof(text));
	say("listening %s", text);
}

static void connection_event(const struct station *s, DAT_EVENT_NUMBER expected, bool of_any)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(s->connections, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	if (event.event_number != expected ||
	    (!of_any && event.event_data.connect_event_data.ep_handle != s->ep))
		stop("connection event %#x came in place of %#x", event.event_number, expected);
}

static void post_receive(const struct crowd *crowd, int i)
{
	DAT_LMR_TRIPLET into = { .lmr_context = crowd->lmr_context,
				 .virtual_address = (uintptr_t)crowd->memory + MESSAGE,
				 .segment_length = MESSAGE };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i << 1 | 1 };

	must("dat_ep_post_recv",
	     dat_ep_post_recv(crowd->stations[i].ep, 1, &into, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(const struct crowd *crowd, int i)
{
	DAT_LMR_TRIPLET from = { .lmr_context = crowd->lmr_context,
				 .virtual_address = (uintptr_t)crowd->memory,
				 .segment_length = MESSAGE };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i << 1 };

	must("dat_ep_post_send",
	     dat_ep_post_send(crowd->stations[i].ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The connections are made one after the other. */
void crowd_meet(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++) {
		struct station *s = &crowd->stations[i];
		DAT_EVENT event;
		DAT_COUNT more;

		post_receive(crowd, i);
		if (crowd->server) {
			must("dat_evd_wait", dat_evd_wait(crowd->arrivals, DAT_TIMEOUT_INFINITE, 1, &event, &more));
			must("dat_cr_accept",
			     dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL));
		} else {
			must("dat_ep_connect",
			     dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)&crowd->address, crowd->qual,
					    DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
					    DAT_CONNECT_DEFAULT_FLAG));
		}
		connection_event(s, DAT_CONNECTION_EVENT_ESTABLISHED, false);
		if (i % ALIVE == ALIVE - 1)
			say("alive");
	}
}

/* Takes one completion. Returns the number of the endpoint whose receive it was, or -1 for a send. */
static int take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;
	DAT_RETURN ret;

	do
		ret = dat_evd_dequeue(evd, &event);
	while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	must("dat_evd_dequeue", ret);
	if (event.event_number != DAT_DTO_COMPLETION_EVENT || data->status != DAT_DTO_SUCCESS)
		stop("event %#x, status %d in place of a completion", event.event_number, data->status);
	return data->user_cookie.as_64 & 1 ? (int)(data->user_cookie.as_64 >> 1) : -1;
}

/* Has the endpoint a receive again, which the server follows with its answer. */
static void received(const struct crowd *crowd, int i)
{
	post_receive(crowd, i);
	if (crowd->server)
		post_send(crowd, i);
}

/* A message came to each endpoint. */
static void take_round(const struct crowd *crowd)
{
	for (int i = 0; i < crowd->count;) {
		int from = take(crowd->own ? crowd->stations[i].done : crowd->done);

		if (from < 0)
			continue;
		received(crowd, from);
		i++;
	}
}

/* In each round the client sends a message on each endpoint, and the server answers it. */
void crowd_exchange(struct crowd *crowd, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		if (!crowd->server)
			for (int i = 0; i < crowd->count; i++)
				post_send(crowd, i);
		take_round(crowd);
	}
}

/*
 * The client ends the connections one after the other. The server sees them end in whatever order the library looks at
 * them, and frees its endpoints after that.
 */
void crowd_part(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++) {
		struct station *s = &crowd->stations[i];

		if (crowd->server) {
			connection_event(s, DAT_CONNECTION_EVENT_DISCONNECTED, !crowd->own);
			continue;
		}
		must("dat_ep_disconnect", dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
		connection_event(s, DAT_CONNECTION_EVENT_DISCONNECTED, false);
		free_station(crowd, s);
		if (i % ALIVE == ALIVE - 1)
			say("alive");
	}
	for (int i = 0; crowd->server && i < crowd->count; i++)
		free_station(crowd, &crowd->stations[i]);
}

void crowd_close(struct crowd *crowd)
{
	must("dat_ia_close", dat_ia_close(crowd->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(crowd->stations);
	free(crowd->memory);
}
