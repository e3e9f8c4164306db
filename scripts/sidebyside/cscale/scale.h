/* Many endpoints, and many that wait, in C. What it does, and in what order, is what goscale does. */
#ifndef SCALE_H
#define SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

#include "../cprogram/program.h"

enum {
	REQUESTS = 4,	   /* of an endpoint, outstanding */
	RECEIVES = 2,	   /* of an endpoint, outstanding */
	OWN_LENGTH = 8,	   /* length of an event dispatcher that one endpoint has for itself */
	EVENTS_PER_EP = 4, /* on the event dispatcher for connections */
	LEAST_SHARED = 256,
	MESSAGE = 8, /* bytes */
	ALIVE = 256, /* connections after which the process says that it goes on */
};

/* What an endpoint is made of. The event dispatchers are the same for all where they are shared. */
struct station {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE done, connections;
};

struct crowd {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_ATTR attr;
	DAT_EVD_HANDLE arrivals, done, connections; /* the last two where they are shared */
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_SOCK_ADDR address; /* the server's */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	unsigned char *memory; /* a message to send from, and one to receive into, for all */
	struct station *stations;
	int count, rounds;
	bool server, own;
};

/* A line on the standard output, at once. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

long resident(void); /* KiB */
long threads(void);
long descriptors(void); /* that are open */

DAT_EVD_HANDLE create_evd(DAT_IA_HANDLE ia, int length, DAT_EVD_FLAGS flags);

/* The parts of a measurement, in this order. */
void crowd_open(struct crowd *crowd, const char *ia_name);
void crowd_create(struct crowd *crowd);
void crowd_listen(struct crowd *crowd);
void crowd_meet(struct crowd *crowd);
void crowd_exchange(struct crowd *crowd, int rounds);
void crowd_part(struct crowd *crowd);
void crowd_close(struct crowd *crowd);

/* As many threads as event dispatchers, one on each, since none may wait where another does. */
void measure_waiters(const char *ia_name, int count);

#endif
