/* An adapter with what is made on it, and its connections. */
#include <endian.h>
#include <stdlib.h>

#include "twin.h"

void node_open(struct node *node, const char *ia_name, const char *address, int qual)
{
	struct side *side = &node->side;

	side_open(side, ia_name, address, qual, 2 * MOST_BYTES);
	node->requests_done = create_evd(side, MOST_REQUESTS + FEW, DAT_EVD_DTO_FLAG);
	node->receives_done = create_evd(side, MOST_RECEIVES + FEW, DAT_EVD_DTO_FLAG);
	node->connections = create_evd(side, 256, DAT_EVD_CONNECTION_FLAG);
	node->ep = create_ep(side, node->receives_done, node->requests_done, node->connections, MOST_REQUESTS, MOST_RECEIVES);
	if (side->server)
		side_listen(side);
}

void node_meet(struct node *node)
{
	struct remote_memory mine = {
		.address = htobe64((uintptr_t)node->side.memory),
		.length = htobe32(2 * MOST_BYTES),
		.context = htobe32(node->side.rmr_context),
	};

	side_connect(&node->side, node->ep, node->connections, &mine, &node->peer, sizeof(mine));
	node->peer.address = be64toh(node->peer.address);
	node->peer.length = be32toh(node->peer.length);
	node->peer.context = be32toh(node->peer.context);
}

/* The server sees connections end in any order. */
static void part(const struct node *node, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	if (!node->side.server)
		must("dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	ep = connection_event(node->connections, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	must("dat_ep_free", dat_ep_free(ep));
}

bool connect_once(const struct node *node, bool last)
{
	DAT_EP_HANDLE ep = create_ep(&node->side, node->receives_done, node->requests_done, node->connections, FEW, FEW);
	unsigned char note = last, of_peer = 0;

	side_connect(&node->side, ep, node->connections, &note, &of_peer, sizeof(note));
	part(node, ep);
	return node->side.server ? of_peer != 0 : last;
}

double connects(const struct node *node, int count)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < count; i++)
		connect_once(node, false);
	return (double)(now_ns() - begin) / count;
}

double statuses(const struct node *node, int count)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < count; i++) {
		DAT_EP_STATE state;
		DAT_BOOLEAN recv_idle, request_idle;

		must("dat_ep_get_status", dat_ep_get_status(node->ep, &state, &recv_idle, &request_idle));
		if (state != DAT_EP_STATE_CONNECTED)
			stop("the endpoint's state is %d", state);
	}
	return (double)(now_ns() - begin) / count;
}

/* The client ends the connection, and the server sees it end. */
void node_close(struct node *node)
{
	part(node, node->ep);
	must("dat_lmr_free", dat_lmr_free(node->side.lmr));
	if (node->side.server) {
		must("dat_psp_free", dat_psp_free(node->side.psp));
		must("dat_evd_free", dat_evd_free(node->side.arrivals));
	}
	must("dat_evd_free", dat_evd_free(node->requests_done));
	must("dat_evd_free", dat_evd_free(node->receives_done));
	must("dat_evd_free", dat_evd_free(node->connections));
	must("dat_pz_free", dat_pz_free(node->side.pz));
	must("dat_ia_close", dat_ia_close(node->side.ia, DAT_CLOSE_ABRUPT_FLAG));
	free(node->side.memory);
}
