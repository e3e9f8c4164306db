/* An adapter with memory, whose endpoints connect to those of another process. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

DAT_EVD_HANDLE create_evd(const struct side *side, int length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	must("dat_evd_create", dat_evd_create(side->ia, length, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

DAT_EP_HANDLE create_ep(const struct side *side, DAT_EVD_HANDLE received, DAT_EVD_HANDLE sent, DAT_EVD_HANDLE connections,
			int requests, int receives)
{
	DAT_EP_ATTR attr = side->attr;
	DAT_EP_HANDLE ep;

	attr.max_request_dtos = requests;
	attr.max_recv_dtos = receives;
	must("dat_ep_create", dat_ep_create(side->ia, side->pz, received, sent, connections, &attr, &ep));
	return ep;
}

/* The provider tells its defaults only of an endpoint that has them. */
static void read_default_attributes(struct side *side)
{
	DAT_EVD_HANDLE done = create_evd(side, 64, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE connections = create_evd(side, 8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	must("dat_ep_create", dat_ep_create(side->ia, side->pz, done, done, connections, NULL, &ep));
	must("dat_ep_query", dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	must("dat_ep_free", dat_ep_free(ep));
	must("dat_evd_free", dat_evd_free(done));
	must("dat_evd_free", dat_evd_free(connections));
	side->attr = param.ep_attr;
}

void side_open(struct side *side, const char *ia_name, const char *address, int qual, size_t size)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct sockaddr_in in = { .sin_family = AF_INET };
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN registered;
	DAT_VADDR virtual_address;

	if (address != NULL && inet_pton(AF_INET, address, &in.sin_addr) != 1)
		stop("%s is not an IPv4 address", address);
	memcpy(&side->address, &in, sizeof(in));
	side->server = address == NULL;
	side->qual = qual;
	must("dat_ia_open", dat_ia_open((char *)(uintptr_t)ia_name, 64, &async, &side->ia));
	must("dat_pz_create", dat_pz_create(side->ia, &side->pz));
	read_default_attributes(side);
	side->size = size;
	side->memory = aligned_alloc(4096, size);
	if (side->memory == NULL)
		stop("no memory");
	memset(side->memory, 0, size);
	region.for_va = side->memory;
	must("dat_lmr_create", dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, size, side->pz, DAT_MEM_PRIV_ALL_FLAG,
					      DAT_VA_TYPE_VA, &side->lmr, &side->lmr_context, &side->rmr_context, &registered,
					      &virtual_address));
}

void side_listen(struct side *side)
{
	DAT_IA_ATTR attr;
	char text[INET_ADDRSTRLEN];

	side->arrivals = create_evd(side, 256, DAT_EVD_CR_FLAG);
	must("dat_psp_create", dat_psp_create(side->ia, side->qual, side->arrivals, DAT_PSP_CONSUMER_FLAG, &side->psp));
	must("dat_ia_query", dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	inet_ntop(AF_INET, &((struct sockaddr_in *)attr.ia_address_ptr)->sin_addr, text, sizeof(text));
	say("listening %s", text);
}

DAT_EP_HANDLE connection_event(DAT_EVD_HANDLE connections, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(connections, DAT_TIMEOUT_INFINITE, 1, event, &more));
	if (event->event_number != expected)
		stop("connection event %#x came in place of %#x", event->event_number, expected);
	return event->event_data.connect_event_data.ep_handle;
}

static void copy_note(void *to, int size, const void *from, int length)
{
	if (size > 0)
		memcpy(to, from, (size_t)(length < size ? length : size));
}

void side_connect(const struct side *side, DAT_EP_HANDLE ep, DAT_EVD_HANDLE connections, const void *note, void *of_peer,
		  int size)
{
	DAT_EVENT event;
	const DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;
	DAT_PVOID own = (DAT_PVOID)(uintptr_t)note;
	DAT_COUNT more;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	if (!side->server) {
		must("dat_ep_connect",
		     dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)&side->address, side->qual, DAT_TIMEOUT_INFINITE, size,
				    own, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		connection_event(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		copy_note(of_peer, size, data->private_data, data->private_data_size);
		return;
	}
	must("dat_evd_wait", dat_evd_wait(side->arrivals, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	must("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	copy_note(of_peer, size, param.private_data, param.private_data_size);
	must("dat_cr_accept", dat_cr_accept(cr, ep, size, own));
	connection_event(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

DAT_LMR_TRIPLET segment(const struct side *side, size_t offset, size_t bytes)
{
	DAT_LMR_TRIPLET triplet = {
		.lmr_context = side->lmr_context,
		.virtual_address = (uintptr_t)side->memory + offset,
		.segment_length = bytes,
	};

	return triplet;
}

void post_receive(const struct side *side, DAT_EP_HANDLE ep, size_t bytes, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET into = segment(side, side->size / 2, bytes);
	DAT_DTO_COOKIE number = { .as_64 = cookie };

	must("dat_ep_post_recv", dat_ep_post_recv(ep, 1, &into, number, DAT_COMPLETION_DEFAULT_FLAG));
}

void post_send(const struct side *side, DAT_EP_HANDLE ep, size_t bytes, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET from = segment(side, 0, bytes);
	DAT_DTO_COOKIE number = { .as_64 = cookie };

	must("dat_ep_post_send", dat_ep_post_send(ep, 1, &from, number, DAT_COMPLETION_DEFAULT_FLAG));
}

void check_completion(const DAT_EVENT *event)
{
	if (event->event_number != DAT_DTO_COMPLETION_EVENT ||
	    event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		stop("event %#x, status %d in place of a completion", event->event_number,
		     event->event_data.dto_completion_event_data.status);
}
