/* Endpoints by the thousand: made, connected, used in turn, and freed. */
#include <stdlib.h>

#include "scale.h"

static struct station create_evds(const struct crowd *crowd, int done, int connections)
{
	return (struct station){
		.done = create_evd(&crowd->side, done, DAT_EVD_DTO_FLAG),
		.connections = create_evd(&crowd->side, connections, DAT_EVD_CONNECTION_FLAG),
	};
}

void crowd_create(struct crowd *crowd)
{
	struct station s;

	crowd->stations = calloc((size_t)crowd->count, sizeof(*crowd->stations));
	if (crowd->stations == NULL)
		stop("no memory");
	if (!crowd->own)
		s = create_evds(crowd, crowd->count * (REQUESTS + RECEIVES) + LEAST_SHARED,
				crowd->count * EVENTS_PER_EP + LEAST_SHARED);
	for (int i = 0; i < crowd->count; i++) {
		if (crowd->own)
			s = create_evds(crowd, OWN_LENGTH, OWN_LENGTH);
		s.ep = create_ep(&crowd->side, s.done, s.done, s.connections, REQUESTS, RECEIVES);
		crowd->stations[i] = s;
	}
}

static void free_station(const struct crowd *crowd, const struct station *s)
{
	must("dat_ep_free", dat_ep_free(s->ep));
	if (!crowd->own)
		return;
	must("dat_evd_free", dat_evd_free(s->done));
	must("dat_evd_free", dat_evd_free(s->connections));
}

/* The cookie of a receive is odd. */
static void receive_on(const struct crowd *crowd, int i)
{
	post_receive(&crowd->side, crowd->stations[i].ep, MESSAGE, (DAT_UINT64)i << 1 | 1);
}

static void send_on(const struct crowd *crowd, int i)
{
	post_send(&crowd->side, crowd->stations[i].ep, MESSAGE, (DAT_UINT64)i << 1);
}

/* The connections are made one after the other. */
void crowd_meet(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++) {
		const struct station *s = &crowd->stations[i];

		receive_on(crowd, i);
		side_connect(&crowd->side, s->ep, s->connections, NULL, NULL, 0);
		if (i % ALIVE == ALIVE - 1)
			say("alive");
	}
}

/* Takes one completion. Returns the number of the endpoint whose receive it was, or -1 for a send. */
static int take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_UINT64 cookie;
	DAT_RETURN ret;

	do
		ret = dat_evd_dequeue(evd, &event);
	while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	must("dat_evd_dequeue", ret);
	check_completion(&event);
	cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
	return cookie & 1 ? (int)(cookie >> 1) : -1;
}

/* In each round the client sends a message on each endpoint, and the server answers it. */
void crowd_exchange(struct crowd *crowd, int rounds)
{
	bool server = crowd->side.server;

	for (int round = 0; round < rounds; round++) {
		for (int i = 0; !server && i < crowd->count; i++)
			send_on(crowd, i);
		for (int i = 0; i < crowd->count;) {
			int from = take(crowd->stations[i].done);

			if (from < 0)
				continue;
			receive_on(crowd, from);
			if (server)
				send_on(crowd, from);
			i++;
		}
	}
}

/* The client ends the connections one after the other. The server sees them end in any order, and then frees its endpoints. */
void crowd_part(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++) {
		const struct station *s = &crowd->stations[i];
		DAT_EVENT event;

		if (!crowd->side.server)
			must("dat_ep_disconnect", dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
		connection_event(s->connections, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		if (crowd->side.server)
			continue;
		free_station(crowd, s);
		if (i % ALIVE == ALIVE - 1)
			say("alive");
	}
	for (int i = 0; crowd->side.server && i < crowd->count; i++)
		free_station(crowd, &crowd->stations[i]);
}
