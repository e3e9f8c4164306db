/* Round trips at a fixed rate, beside others that make and end connections. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "twin.h"

enum {
	INTERVAL = 1000000,  /* from one request to the next, in nanoseconds */
	CHURN_PAUSE = 20000, /* from one connection of the others to the next, in microseconds */
};

/* Sends requests. One is due in each interval, whether or not the one before it is answered. */
struct pacer {
	struct node node; /* with a count of its own of what is outstanding */
	const struct order *order;
	uint64_t begin;
	atomic_int answered;
};

static void *run(void *argument)
{
	struct pacer *p = argument;

	for (int sent = 0; sent < p->order->count;) {
		int64_t left = (int64_t)((uint64_t)sent * INTERVAL - (now_ns() - p->begin));

		if (left <= 0 && sent - atomic_load(&p->answered) >= p->order->window)
			left = INTERVAL;
		if (left > 0) {
			struct timespec pause = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };

			nanosleep(&pause, NULL);
			continue;
		}
		answer(&p->node, p->order, 0);
		sent++;
	}
	finish(&p->node);
	return NULL;
}

/* The times are how long after it was due each request was answered. */
static void paced_round_trips(struct node *node, const struct order *o, uint64_t *times)
{
	struct pacer p = { .node = *node, .order = o, .begin = now_ns() };
	pthread_t sender;

	if (pthread_create(&sender, NULL, run, &p) != 0)
		stop("a thread cannot be made");
	for (int answered = 0; answered < o->count;) {
		int taken = some(node->receives_done, BURST, polls(o));
		uint64_t now = now_ns() - p.begin;

		for (int i = 0; i < taken; i++, answered++)
			times[answered] = now - (uint64_t)answered * INTERVAL;
		atomic_store(&p.answered, answered);
		node->used += taken;
		if (node->used >= BURST)
			post_receives(node, o);
	}
	pthread_join(sender, NULL);
}

struct churn {
	const struct node *node;
	atomic_bool stop;
};

/* Makes a connection and ends it, again and again, until the client is to stop. It pauses between two. */
static void *churn(void *argument)
{
	struct churn *c = argument;
	bool server = c->node->side.server;

	while (!connect_once(c->node, !server && atomic_load(&c->stop)))
		if (!server)
			usleep(CHURN_PAUSE);
	return NULL;
}

double paced(struct node *node, const struct order *o, uint64_t *times)
{
	struct churn c = { .node = node };
	bool quiet = is(o->beside, "nothing");
	pthread_t thread;

	if (!quiet && pthread_create(&thread, NULL, churn, &c) != 0)
		stop("a thread cannot be made");
	(node->side.server ? round_trips : paced_round_trips)(node, o, times);
	atomic_store(&c.stop, true);
	if (!quiet)
		pthread_join(thread, NULL);
	return summarize(node, times, o->count);
}
