/* One side of the measurements in C. What it does, and in what order, is what the twin in Go does. */
#ifndef TWIN_H
#define TWIN_H

#include "../cprogram/program.h"

enum {
	MOST_REQUESTS = 64,   /* outstanding */
	MOST_RECEIVES = 1024, /* enough for a peer that is not scheduled for a while */
	MOST_BYTES = 1 << 20, /* of a message */
	BURST = 32,	      /* receives to post, and completions to take, at once */
	FEW = 8,	      /* operations of an endpoint that only connects */
};

/* What a side needs to reach the other's memory; it comes with the connection, big-endian. */
struct remote_memory {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};

/* More of times than their median, in nanoseconds. */
struct tail {
	double p90, p99;
};

struct node {
	struct side side;
	DAT_EVD_HANDLE requests_done, receives_done, connections;
	DAT_EP_HANDLE ep;
	struct remote_memory peer;

	/* Of the order: */
	int left, used;	 /* receives to post still, and to post again */
	int outstanding; /* sends and writes */
	struct tail tail;
};

struct order {
	char name[32], how[32];
	size_t bytes;
	int count, window;
	char beside[32]; /* what happens meanwhile, of round trips at a fixed rate: "nothing" or "churn" */
};

bool is(const char *text, const char *other);
bool polls(const struct order *o);

void node_open(struct node *node, const char *ia_name, const char *address, int qual);
void node_meet(struct node *node);
void node_close(struct node *node);
bool connect_once(const struct node *node, bool last); /* tells whether it was the last one */

void prepare(struct node *node, const struct order *o);
void post_receives(struct node *node, const struct order *o);
int take(DAT_EVD_HANDLE evd, int most);
int some(DAT_EVD_HANDLE evd, int most, bool polling);
void answer(struct node *node, const struct order *o, unsigned char number);
void finish(struct node *node);
double summarize(struct node *node, uint64_t *times, int count);
void round_trips(struct node *node, const struct order *o, uint64_t *times);

/* Each returns the time of one operation in ns. */
double connects(const struct node *node, int count);
double statuses(const struct node *node, int count);
double stream(struct node *node, const struct order *o);
double sink(struct node *node, const struct order *o);
double timed_trips(struct node *node, const struct order *o);
double paced(struct node *node, const struct order *o, uint64_t *times);

#endif
