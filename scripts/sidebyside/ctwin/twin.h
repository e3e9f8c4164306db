/* One side of the measurements in C. What it does, and in what order, is what the twin in Go does. */
#ifndef TWIN_H
#define TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

#include "../cprogram/program.h"

enum {
	MOST_REQUESTS = 64,   /* outstanding */
	MOST_RECEIVES = 1024, /* so many that a peer which is not scheduled for a while does not run out of them */
	MOST_BYTES = 1 << 20, /* of a message */
	BURST = 32,	      /* receives that are posted, and completions that are taken, at once */
	FEW = 8,	      /* operations of an endpoint that only connects */
	MOST_IDLE = 1024,     /* connections */
};

/* More of times than their median, in nanoseconds. */
struct tail {
	double p90, p99, p999;
	double over; /* p90 divided by that of nothing beside */
};

/* What a side needs to reach the other's memory; it comes with the connection, big-endian. */
struct remote_memory {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};

struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE requests_done, receives_done, connections, arrivals;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;
	DAT_CONN_QUAL qual;
	DAT_SOCK_ADDR address; /* the server's */
	unsigned char *memory; /* MOST_BYTES to send from, and as many to receive into */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	struct remote_memory mine, peer;
	DAT_EP_HANDLE crowd[MOST_IDLE + 1]; /* idle connections */
	int crowd_size;
	DAT_EP_HANDLE far; /* connected to the machine that is cut off */
	struct tail tail; /* of the times that were measured last */
	bool server;
};

struct order {
	char name[32], how[32];
	size_t bytes;
	int count, window;
	/* of round trips at a fixed rate: */
	char beside[32]; /* what happens meanwhile: "nothing", "churn", churn on its "own" event dispatchers, or "cut" */
	int idle;	 /* more connections on the same event dispatchers */
	int pause;	 /* between one of the others and the next, in milliseconds */
};

/* Sorts the times, keeps their tail, and returns their median. */
double summarize(struct node *node, uint64_t *times, size_t count);

void node_open(struct node *node, const char *ia_name);
void node_listen(struct node *node, DAT_CONN_QUAL qual);
void node_accept(struct node *node);
void node_connect(struct node *node, const char *address, DAT_CONN_QUAL qual);
void node_close(struct node *node);
DAT_EP_HANDLE endpoint_create(const struct node *node, int requests, int receives);
void create_evds(struct node *node);
void free_evds(const struct node *node);
void endpoint_connect(const struct node *node, DAT_EP_HANDLE ep, int size, const void *private_data, DAT_EVENT *event);
bool endpoint_accept(const struct node *node, DAT_EP_HANDLE ep); /* returns the client's note */
DAT_CR_HANDLE arrival(const struct node *node);
void connection_event(const struct node *node, DAT_EVENT_NUMBER expected, DAT_EVENT *event);

/* A connection of an endpoint that is made for it. The client tells the server whether it is the last one. */
DAT_EP_HANDLE join(const struct node *node, bool *last);
void part(const struct node *node, DAT_EP_HANDLE ep);
void gather(struct node *node, int count);
void join_far(struct node *node, const char *address);
void accept_all(struct node *node);

/* Each measures count operations, and the server takes its part in them. */
double measure_round_trip(struct node *node, size_t bytes, int count, bool polling, bool mean); /* ns */
double measure_memory_round_trip(struct node *node, size_t bytes, int count);	      /* ns */
double measure_rate(struct node *node, size_t bytes, int count, int window, bool polling); /* messages per second */
double measure_paced(struct node *node, const struct order *o);			      /* ns */
double measure_rdma(struct node *node, bool write, size_t bytes, int count, int window); /* bytes per second */
double measure_connects(struct node *node, int count);				      /* per second */
double measure_status(struct node *node, int count);				      /* ns for a call */

int messages_of(const struct order *o);
int take(DAT_EVD_HANDLE evd, int most);
int spin(DAT_EVD_HANDLE evd, int most);
int sleep_for_some(DAT_EVD_HANDLE evd, int most);
void check_completion(const DAT_EVENT *event);
DAT_LMR_TRIPLET segment(const struct node *node, size_t offset, size_t bytes);
void post_receives(const struct node *node, size_t bytes, int count);

/* What a server does before the client begins. */
void expect_messages(struct node *node, size_t bytes, int count);
void expect_writes(struct node *node, size_t bytes);

#endif
