/* An adapter with what is made on it, and its connections. */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twin.h"

static DAT_EVD_HANDLE create_evd(const struct node *node, int length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	must("dat_evd_create", dat_evd_create(node->ia, length, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

/* Makes the event dispatchers of endpoints. */
void create_evds(struct node *node)
{
	node->requests_done = create_evd(node, MOST_REQUESTS + FEW, DAT_EVD_DTO_FLAG);
	node->receives_done = create_evd(node, MOST_RECEIVES + FEW, DAT_EVD_DTO_FLAG);
	node->connections = create_evd(node, 256, DAT_EVD_CONNECTION_FLAG);
}

void free_evds(const struct node *node)
{
	must("dat_evd_free", dat_evd_free(node->requests_done));
	must("dat_evd_free", dat_evd_free(node->receives_done));
	must("dat_evd_free", dat_evd_free(node->connections));
}

/* The provider tells its defaults only of an endpoint that has them. */
static void read_default_attributes(struct node *node)
{
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	must("dat_ep_create", dat_ep_create(node->ia, node->pz, node->receives_done, node->requests_done,
					    node->connections, NULL, &ep));
	must("dat_ep_query", dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	must("dat_ep_free", dat_ep_free(ep));
	node->attr = param.ep_attr;
}

static void create_memory(struct node *node)
{
	const size_t size = 2 * MOST_BYTES;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN registered;
	DAT_VADDR address;
	DAT_RMR_CONTEXT rmr_context;

	node->memory = aligned_alloc(4096, size);
	if (node->memory == NULL)
		stop("no memory");
	memset(node->memory, 0, size);
	region.for_va = node->memory;
	must("dat_lmr_create", dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region, size, node->pz,
					      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &node->lmr,
					      &node->lmr_context, &rmr_context, &registered, &address));
	node->mine.address = htobe64((uintptr_t)node->memory);
	node->mine.length = htobe32(size);
	node->mine.context = htobe32(rmr_context);
}

void node_open(struct node *node, const char *ia_name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	must("dat_ia_open", dat_ia_open((char *)(uintptr_t)ia_name, 64, &async, &node->ia));
	must("dat_pz_create", dat_pz_create(node->ia, &node->pz));
	create_evds(node);
	read_default_attributes(node);
	create_memory(node);
	node->ep = endpoint_create(node, MOST_REQUESTS, MOST_RECEIVES);
}

DAT_EP_HANDLE endpoint_create(const struct node *node, int requests, int receives)
{
	DAT_EP_ATTR attr = node->attr;
	DAT_EP_HANDLE ep;

	attr.max_request_dtos = requests;
	attr.max_recv_dtos = receives;
	must("dat_ep_create", dat_ep_create(node->ia, node->pz, node->receives_done, node->requests_done,
					    node->connections, &attr, &ep));
	return ep;
}

void node_listen(struct node *node, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;
	char text[INET_ADDRSTRLEN];

	node->server = true;
	node->arrivals = create_evd(node, 256, DAT_EVD_CR_FLAG);
	must("dat_psp_create", dat_psp_create(node->ia, qual, node->arrivals, DAT_PSP_CONSUMER_FLAG, &node->psp));
	must("dat_ia_query", dat_ia_query(node->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	inet_ntop(AF_INET, &((struct sockaddr_in *)attr.ia_address_ptr)->sin_addr, text, sizeof(text));
	printf("listening %s\n", text);
	fflush(stdout);
}

void connection_event(const struct node *node, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(node->connections, DAT_TIMEOUT_INFINITE, 1, event, &more));
	if (event->event_number != expected)
		stop("connection event %#x came in place of %#x", event->event_number, expected);
}

DAT_CR_HANDLE arrival(const struct node *node)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(node->arrivals, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static void accept_request(const struct node *node, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, int size, const void *private_data)
{
	DAT_EVENT event;

	must("dat_cr_accept", dat_cr_accept(cr, ep, size, (DAT_PVOID)(uintptr_t)private_data));
	connection_event(node, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

bool endpoint_accept(const struct node *node, DAT_EP_HANDLE ep)
{
	DAT_CR_HANDLE cr = arrival(node);
	DAT_CR_PARAM param;
	bool note;

	must("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	note = *(const unsigned char *)param.private_data != 0;
	accept_request(node, cr, ep, 0, NULL);
	return note;
}

static void read_peer(struct node *node, const void *private_data, int size)
{
	if (size < (int)sizeof(node->peer))
		stop("the peer did not say where its memory is");
	memcpy(&node->peer, private_data, sizeof(node->peer));
	node->peer.address = be64toh(node->peer.address);
	node->peer.length = be32toh(node->peer.length);
	node->peer.context = be32toh(node->peer.context);
}

void node_accept(struct node *node)
{
	DAT_CR_HANDLE cr = arrival(node);
	DAT_CR_PARAM param;

	must("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	read_peer(node, param.private_data, param.private_data_size);
	accept_request(node, cr, node->ep, sizeof(node->mine), &node->mine);
}

void endpoint_connect(const struct node *node, DAT_EP_HANDLE ep, int size, const void *private_data, DAT_EVENT *event)
{
	must("dat_ep_connect", dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)&node->address, node->qual,
					      DAT_TIMEOUT_INFINITE, size, (DAT_PVOID)(uintptr_t)private_data,
					      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	connection_event(node, DAT_CONNECTION_EVENT_ESTABLISHED, event);
}

void node_connect(struct node *node, const char *address, DAT_CONN_QUAL qual)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	DAT_EVENT event;
	const DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		stop("%s is not an IPv4 address", address);
	memcpy(&node->address, &in, sizeof(in));
	node->qual = qual;
	endpoint_connect(node, node->ep, sizeof(node->mine), &node->mine, &event);
	read_peer(node, data->private_data, data->private_data_size);
}

/* The client ends the connections, and the server sees them end. */
void node_close(struct node *node)
{
	node->crowd[node->crowd_size++] = node->ep;
	gather(node, 0);
	must("dat_lmr_free", dat_lmr_free(node->lmr));
	if (node->server) {
		must("dat_psp_free", dat_psp_free(node->psp));
		must("dat_evd_free", dat_evd_free(node->arrivals));
	}
	free_evds(node);
	must("dat_pz_free", dat_pz_free(node->pz));
	must("dat_ia_close", dat_ia_close(node->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(node->memory);
}
