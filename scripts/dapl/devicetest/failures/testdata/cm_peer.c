/*
 * A peer of the CMA provider that does not do as it should. "cm_peer connect ADDRESS PORT" asks for connections in odd
 * ways; "cm_peer listen ADDRESS PORT" answers requests in odd ways, until its input ends.
 */
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int patience = 3000; /* milliseconds for an answer */

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

/* Returns the next event, or NULL if none comes. */
static struct rdma_cm_event *event_of(struct rdma_event_channel *channel)
{
	struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&ready, 1, patience) != 1)
		return NULL;
	check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	return event;
}

static void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = event_of(channel);

	check(event == NULL || event->event != type, rdma_event_str(type));
	rdma_ack_cm_event(event);
}

/* Parameters with private data of some length, and a queue pair that does not exist. */
static struct rdma_conn_param odd(int number)
{
	static const uint8_t lengths[] = {0, 1, 3, 55, 56};
	static char data[56];

	memset(data, 0x80 + number, sizeof(data));
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = lengths[number % 5],
		.responder_resources = number % 2 ? 0 : 255,
		.initiator_depth = number % 3 ? 0 : 255,
		.qp_num = 0xfffff0 + number,
	};
}

static void ask(struct sockaddr *to, int number)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = odd(number);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	check(channel == NULL, "rdma_create_event_channel");
	check(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_resolve_addr(id, NULL, to, patience), "rdma_resolve_addr");
	expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	check(rdma_resolve_route(id, patience), "rdma_resolve_route");
	expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	check(rdma_connect(id, &param), "rdma_connect");
	/* The others leave: at once, or when they are answered, established or not. */
	if (number % 4 != 0 && (event = event_of(channel)) != NULL) {
		if (number % 4 == 2 && event->event == RDMA_CM_EVENT_CONNECT_RESPONSE)
			rdma_establish(id);
		if (number % 4 == 3)
			rdma_disconnect(id);
		rdma_ack_cm_event(event);
	}
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

static void answer(struct sockaddr *at)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener, *id;

	check(channel == NULL, "rdma_create_event_channel");
	check(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(listener, at), "rdma_bind_addr");
	check(rdma_listen(listener, 16), "rdma_listen");
	puts("ready");
	fflush(stdout);
	for (int number = 0;;) {
		struct pollfd ready[] = {{.fd = channel->fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
		struct rdma_conn_param param = odd(number);

		check(poll(ready, 2, -1) < 0, "poll");
		if (ready[1].revents)
			break;
		check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		id = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
		rdma_ack_cm_event(event);
		if (id == NULL)
			continue;
		switch (number++ % 5) {
		case 0: /* silence */
			break;
		case 1:
			rdma_destroy_id(id);
			break;
		case 2:
			rdma_reject(id, param.private_data, param.private_data_len);
			rdma_destroy_id(id);
			break;
		case 3:
			rdma_accept(id, &param);
			rdma_destroy_id(id);
			break;
		case 4: /* and nothing when the other side leaves */
			rdma_accept(id, &param);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	struct addrinfo *address, numeric = {.ai_flags = AI_NUMERICHOST};

	if (argc != 4 || getaddrinfo(argv[2], argv[3], &numeric, &address) != 0)
		return 2;
	if (strcmp(argv[1], "listen") == 0)
		answer(address->ai_addr);
	else
		for (int number = 0; number < 20; number++)
			ask(address->ai_addr, number);
	return 0;
}
