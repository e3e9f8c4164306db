/* Messages and RDMA operations. */
#include <stdlib.h>

#include "twin.h"

/* Makes ready for what the peer will send or write. */
void prepare(struct node *node, const struct order *o)
{
	if (is(o->name, "mailbox"))
		node->side.memory[MOST_BYTES + o->bytes - 1] = 0;
	else if (is(o->name, "roundtrip") || is(o->name, "paced") || (is(o->name, "rate") && node->side.server)) {
		node->left = o->count;
		node->used = o->count < MOST_RECEIVES ? o->count : MOST_RECEIVES;
		post_receives(node, o);
	}
}

/* Posts those that are used, unless no more messages will come. */
void post_receives(struct node *node, const struct order *o)
{
	for (; node->used > 0 && node->left > 0; node->used--, node->left--)
		post_receive(&node->side, node->ep, o->bytes, 0);
	node->used = 0;
}

/* Takes the completions that are there, up to a number. */
int take(DAT_EVD_HANDLE evd, int most)
{
	DAT_EVENT event;
	int taken = 0;

	while (taken < most) {
		DAT_RETURN ret = dat_evd_dequeue(evd, &event);

		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			break;
		must("dat_evd_dequeue", ret);
		check_completion(&event);
		taken++;
	}
	return taken;
}

/* Takes at least one completion, and up to a number. It spins or sleeps until one is there. */
int some(DAT_EVD_HANDLE evd, int most, bool polling)
{
	DAT_EVENT event;
	DAT_COUNT more;
	int taken = 0;

	while (polling && taken == 0)
		taken = take(evd, most);
	if (polling)
		return taken;
	must("dat_evd_wait", dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	check_completion(&event);
	return 1 + take(evd, most - 1);
}

/* Takes the completions of all outstanding sends and writes. */
void finish(struct node *node)
{
	while (node->outstanding > 0)
		node->outstanding -= some(node->requests_done, node->outstanding, true);
}

static void post_rdma(const struct node *node, bool write, size_t bytes, size_t into)
{
	DAT_LMR_TRIPLET local = segment(&node->side, 0, bytes);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = node->peer.context,
		.virtual_address = node->peer.address + into,
		.segment_length = bytes,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	if (write)
		must("dat_ep_post_rdma_write",
		     dat_ep_post_rdma_write(node->ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	else
		must("dat_ep_post_rdma_read",
		     dat_ep_post_rdma_read(node->ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Sends a message, or writes one whose last byte is the number into the peer's memory. Of many, completions are taken. */
void answer(struct node *node, const struct order *o, unsigned char number)
{
	if (is(o->name, "mailbox")) {
		node->side.memory[o->bytes - 1] = number;
		post_rdma(node, true, o->bytes, MOST_BYTES);
	} else {
		post_send(&node->side, node->ep, o->bytes, 0);
	}
	if (++node->outstanding >= BURST)
		node->outstanding -= take(node->requests_done, node->outstanding - 1);
}

/* Takes one message, or spins until the peer has written the number. */
static void await(struct node *node, const struct order *o, unsigned char number)
{
	const unsigned char *last = node->side.memory + MOST_BYTES + o->bytes - 1;

	if (is(o->name, "mailbox")) {
		while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != number)
			;
		return;
	}
	node->used++;
	some(node->receives_done, 1, polls(o));
}

/*
 * Says how long each round trip took. The server answers each message, or each write to its memory. Whatever can wait
 * until a message is on its way is done then: receives are posted, and completions are taken, many at a time.
 */
void round_trips(struct node *node, const struct order *o, uint64_t *times)
{
	uint64_t before = now_ns();

	for (int i = 0; i < o->count; i++) {
		uint64_t after;

		if (node->side.server)
			await(node, o, i + 1);
		answer(node, o, i + 1);
		if (node->used >= BURST)
			post_receives(node, o);
		if (!node->side.server)
			await(node, o, i + 1);
		after = now_ns();
		times[i] = after - before;
		before = after;
	}
	finish(node);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the median, and keeps the tail. */
double summarize(struct node *node, uint64_t *times, int count)
{
	qsort(times, (size_t)count, sizeof(*times), compare);
	node->tail = (struct tail){ .p90 = (double)times[count * 90L / 100], .p99 = (double)times[count * 99L / 100] };
	return (double)times[count * 50L / 100];
}

double timed_trips(struct node *node, const struct order *o)
{
	uint64_t *times = calloc((size_t)o->count, sizeof(*times));
	double result;

	if (times == NULL)
		stop("no memory");
	if (is(o->name, "paced")) {
		result = paced(node, o, times);
	} else {
		round_trips(node, o, times);
		result = summarize(node, times, o->count);
	}
	free(times);
	return result;
}

/* Takes messages, and posts their receives again. */
double sink(struct node *node, const struct order *o)
{
	for (int left = o->count; left > 0;) {
		int taken = some(node->receives_done, BURST, polls(o));

		left -= taken;
		node->used += taken;
		if (node->used >= BURST)
			post_receives(node, o);
	}
	return 0;
}

/* Keeps as many requests outstanding as the window has. */
double stream(struct node *node, const struct order *o)
{
	uint64_t begin = now_ns();
	int posted = 0;

	for (int completed = 0; completed < o->count;) {
		for (; posted < o->count && posted - completed < o->window; posted++) {
			if (is(o->name, "rate"))
				post_send(&node->side, node->ep, o->bytes, 0);
			else
				post_rdma(node, is(o->name, "write"), o->bytes, 0);
		}
		completed += some(node->requests_done, BURST, polls(o));
	}
	return (double)(now_ns() - begin) / o->count;
}
