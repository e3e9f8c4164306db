/* Many endpoints, and many that wait, in C. What it does, and in what order, is what goscale does. */
#ifndef SCALE_H
#define SCALE_H

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
	struct side side;
	struct station *stations;
	int count, rounds;
	bool own;
};

/* What the process uses. */
struct stock {
	long resident; /* bytes */
	long threads;
	long files; /* descriptors that are open */
};
struct stock take_stock(void);

/* The parts of a measurement, in this order. */
void crowd_create(struct crowd *crowd);
void crowd_meet(struct crowd *crowd);
void crowd_exchange(struct crowd *crowd, int rounds);
void crowd_part(struct crowd *crowd);

/* As many threads as event dispatchers, one on each, since none may wait where another does. */
void measure_waiters(const char *ia_name, int count);

#endif
