/* What the programs in C have in common: how they end and what they say, and an adapter with memory and a connection. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

/* Says why, under the name of the program, and ends the process at once. */
_Noreturn void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
void must(const char *call, DAT_RETURN ret);

/* A line on the standard output, at once. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t now_ns(void);

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_ATTR attr; /* the provider's defaults */
	DAT_EVD_HANDLE arrivals;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_SOCK_ADDR address; /* the server's */
	bool server;
	unsigned char *memory; /* the first half is to send from, the other to receive into */
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* address is NULL for the server. */
void side_open(struct side *side, const char *ia_name, const char *address, int qual, size_t size);
void side_listen(struct side *side);
DAT_EVD_HANDLE create_evd(const struct side *side, int length, DAT_EVD_FLAGS flags);
DAT_EP_HANDLE create_ep(const struct side *side, DAT_EVD_HANDLE received, DAT_EVD_HANDLE sent, DAT_EVD_HANDLE connections,
			int requests, int receives);

/*
 * Connects an endpoint, with a note for the peer, and copies that of the peer, which may be shorter.
 * The endpoint has its connection events on connections.
 */
void side_connect(const struct side *side, DAT_EP_HANDLE ep, DAT_EVD_HANDLE connections, const void *note, void *of_peer,
		  int size);
/* Waits for an event, and returns its endpoint. */
DAT_EP_HANDLE connection_event(DAT_EVD_HANDLE connections, DAT_EVENT_NUMBER expected, DAT_EVENT *event);

DAT_LMR_TRIPLET segment(const struct side *side, size_t offset, size_t bytes);
void post_receive(const struct side *side, DAT_EP_HANDLE ep, size_t bytes, DAT_UINT64 cookie);
void post_send(const struct side *side, DAT_EP_HANDLE ep, size_t bytes, DAT_UINT64 cookie);
void check_completion(const DAT_EVENT *event);

#endif
