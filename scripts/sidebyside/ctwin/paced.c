/* Round trips at a fixed rate, beside others that make and end connections. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "twin.h"

enum {
	INTERVAL = 1000000, /* from one request to the next, at a fixed rate, in nanoseconds */
	FAR_BEYOND = 100,   /* the difference between the qualifiers of the machine that is cut off and of the server */
};

/*
 * Sends requests. One is due in each interval, whether or not the one before it is answered. No more than the window are
 * outstanding.
 */
struct pacer {
	struct node *node;
	const struct order *order;
	uint64_t begin;
	int sent, outstanding;
	atomic_int answered;
};

/* Reports whether a request is due, and may be sent. */
static bool ready(struct pacer *p)
{
	return p->sent < p->order->count && p->sent - atomic_load(&p->answered) < p->order->window &&
	       now_ns() - p->begin >= (uint64_t)p->sent * INTERVAL;
}

static void post(struct pacer *p)
{
	DAT_LMR_TRIPLET from = segment(p->node, 0, p->order->bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must("dat_ep_post_send", dat_ep_post_send(p->node->ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	p->sent++;
	if (++p->outstanding >= BURST)
		p->outstanding -= take(p->node->requests_done, p->outstanding - 1);
}

static void spin_all(struct pacer *p)
{
	while (p->outstanding > 0)
		p->outstanding -= spin(p->node->requests_done, p->outstanding);
}

static void *run(void *argument)
{
	struct pacer *p = argument;

	while (p->sent < p->order->count) {
		int64_t left = (int64_t)((uint64_t)p->sent * INTERVAL - (now_ns() - p->begin));

		if (left <= 0 && !ready(p))
			left = INTERVAL;
		if (left > 0) {
			struct timespec pause = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };

			nanosleep(&pause, NULL);
			continue;
		}
		post(p);
	}
	spin_all(p);
	return NULL;
}

/* The times are how long after it was due each request was answered. */
static void paced_round_trips(struct node *node, const struct order *o, uint64_t *times)
{
	struct pacer p = { .node = node, .order = o };
	bool polling = strcmp(o->how, "poll") == 0;
	int posted = o->count < MOST_RECEIVES ? o->count : MOST_RECEIVES, used = 0;
	pthread_t sender;

	expect_messages(node, o->bytes, o->count);
	p.begin = now_ns();
	if (!polling && pthread_create(&sender, NULL, run, &p) != 0)
		stop("a thread cannot be made");
	for (int answered = 0; answered < o->count;) {
		uint64_t now;
		int taken;

		while (polling && ready(&p))
			post(&p);
		taken = polling ? take(node->receives_done, BURST) :
				  sleep_for_some(node->receives_done, BURST);
		now = now_ns() - p.begin;
		for (int i = 0; i < taken; i++, answered++)
			times[answered] = now - (uint64_t)answered * INTERVAL;
		atomic_store(&p.answered, answered);
		used += taken;
		if (used >= BURST) {
			int more = o->count - posted < used ? o->count - posted : used;

			post_receives(node, o->bytes, more);
			posted += more;
			used = 0;
		}
	}
	if (polling)
		spin_all(&p);
	else
		pthread_join(sender, NULL);
}

/* What happens beside round trips. */
struct beside {
	struct node *node;
	const struct order *order;
	atomic_bool stop;
	pthread_t thread;
};

/* Makes a connection on an endpoint of its own, and ends it, again and again, until the client is to stop. */
static void churn(const struct node *node, struct beside *b)
{
	for (;;) {
		bool last = !node->server && atomic_load(&b->stop);

		part(node, join(node, &last));
		if (last)
			return;
		if (!node->server)
			usleep((useconds_t)b->order->pause * 1000);
	}
}

static void *do_beside(void *argument)
{
	struct beside *b = argument;

	if (strcmp(b->order->beside, "churn") == 0) {
		churn(b->node, b);
	} else if (strcmp(b->order->beside, "own") == 0) {
		struct node other = *b->node;

		create_evds(&other);
		churn(&other, b);
		free_evds(&other);
	} else if (!b->node->server) {
		must("dat_ep_free", dat_ep_free(b->node->far));
	}
	return NULL;
}

double measure_paced(struct node *node, const struct order *o)
{
	struct beside beside = { .node = node, .order = o };
	bool quiet = strcmp(o->beside, "nothing") == 0;
	uint64_t *times = malloc((size_t)o->count * sizeof(*times));
	double p90 = 0, result = 0;

	if (times == NULL)
		stop("no memory");
	gather(node, o->idle);
	if (!node->server && !quiet) {
		paced_round_trips(node, o, times);
		summarize(node, times, (size_t)o->count);
		p90 = node->tail.p90;
	}
	if (!quiet && pthread_create(&beside.thread, NULL, do_beside, &beside) != 0)
		stop("a thread cannot be made");
	if (node->server)
		measure_round_trip(node, o->bytes, messages_of(o), strcmp(o->how, "poll") == 0, false);
	else
		paced_round_trips(node, o, times);
	atomic_store(&beside.stop, true);
	if (!quiet)
		pthread_join(beside.thread, NULL);
	if (!node->server)
		result = summarize(node, times, (size_t)o->count);
	if (p90 > 0)
		node->tail.over = node->tail.p90 / p90;
	free(times);
	return result;
}

/* Makes or ends connections, until so many are idle. */
void gather(struct node *node, int count)
{
	bool last = false;

	if (count > MOST_IDLE)
		stop("there is no room for %d idle connections", count);
	while (node->crowd_size < count)
		node->crowd[node->crowd_size++] = join(node, &last);
	while (node->crowd_size > count)
		part(node, node->crowd[--node->crowd_size]);
}

/* Connects an endpoint to the machine that will be cut off. */
void join_far(struct node *node, const char *address)
{
	struct node other = *node;
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool last = false;

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		stop("%s is not an IPv4 address", address);
	memcpy(&other.address, &in, sizeof(in));
	other.qual += FAR_BEYOND;
	node->far = join(&other, &last);
}

/* Accepts every connection, and does not look at what becomes of it. */
void accept_all(struct node *node)
{
	for (;;) {
		DAT_CR_HANDLE cr = arrival(node);
		DAT_EVENT event;

		must("dat_cr_accept", dat_cr_accept(cr, endpoint_create(node, FEW, FEW), 0, NULL));
		while (dat_evd_dequeue(node->connections, &event) == DAT_SUCCESS)
			;
	}
}
