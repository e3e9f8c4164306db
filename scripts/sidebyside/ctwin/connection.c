/* Connections that come and go, and the status of one that stays. */
#include "twin.h"

DAT_EP_HANDLE join(const struct node *node, bool *last)
{
	DAT_EP_HANDLE ep = endpoint_create(node, FEW, FEW);
	unsigned char note = *last;
	DAT_EVENT event;

	if (node->server)
		*last = endpoint_accept(node, ep);
	else
		endpoint_connect(node, ep, sizeof(note), &note, &event);
	return ep;
}

/* The server sees connections end in any order. */
void part(const struct node *node, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	if (!node->server)
		must("dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	connection_event(node, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	must("dat_ep_free", dat_ep_free(event.event_data.connect_event_data.ep_handle));
}

/* Each connection has an endpoint of its own, which the client ends in order. */
double measure_connects(struct node *node, int count)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < count; i++) {
		bool last = false;

		part(node, join(node, &last));
	}
	return count / ((double)(now_ns() - begin) / 1e9);
}

double measure_status(struct node *node, int count)
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
