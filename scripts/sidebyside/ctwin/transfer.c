/* Messages and RDMA operations. */
#include <stdlib.h>

#include "twin.h"

DAT_LMR_TRIPLET segment(const struct node *node, size_t offset, size_t bytes)
{
	DAT_LMR_TRIPLET triplet = {
		.lmr_context = node->lmr_context,
		.virtual_address = (uintptr_t)node->memory + offset,
		.segment_length = bytes,
	};

	return triplet;
}

void post_receives(const struct node *node, size_t bytes, int count)
{
	DAT_LMR_TRIPLET into = segment(node, MOST_BYTES, bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	for (int i = 0; i < count; i++)
		must("dat_ep_post_recv", dat_ep_post_recv(node->ep, 1, &into, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

void check_completion(const DAT_EVENT *event)
{
	if (event->event_number != DAT_DTO_COMPLETION_EVENT ||
	    event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		stop("event %#x, status %d in place of a completion", event->event_number,
		     event->event_data.dto_completion_event_data.status);
}

/* Takes completions until there are none, or as many as given. */
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

/* Takes one completion or more, up to as many as given. */
int spin(DAT_EVD_HANDLE evd, int most)
{
	int taken;

	do
		taken = take(evd, most);
	while (taken == 0);
	return taken;
}

/* Sleeps for one completion, and takes more, up to as many as given. */
int sleep_for_some(DAT_EVD_HANDLE evd, int most)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	check_completion(&event);
	return 1 + take(evd, most - 1);
}

/* Takes one completion or more, up to as many as given. */
static int some(DAT_EVD_HANDLE evd, int most, bool polling)
{
	return polling ? spin(evd, most) : sleep_for_some(evd, most);
}

void expect_messages(struct node *node, size_t bytes, int count)
{
	post_receives(node, bytes, count < MOST_RECEIVES ? count : MOST_RECEIVES);
}

/*
 * The server answers each message. Whatever can wait until a message is on its way is done then: receives are posted,
 * and completions of sends are taken, many at a time.
 */
double measure_round_trip(struct node *node, size_t bytes, int count, bool polling, bool mean)
{
	DAT_LMR_TRIPLET from = segment(node, 0, bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	uint64_t *times = malloc((size_t)count * sizeof(*times));
	int posted = count < MOST_RECEIVES ? count : MOST_RECEIVES, outstanding = 0, used = 0;
	uint64_t begin, before;
	double result;

	if (times == NULL)
		stop("no memory");
	if (!node->server)
		expect_messages(node, bytes, count);
	begin = before = now_ns();
	for (int i = 0; i < count; i++) {
		uint64_t after;

		if (node->server)
			some(node->receives_done, 1, polling);
		must("dat_ep_post_send", dat_ep_post_send(node->ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		if (++outstanding >= BURST)
			outstanding -= take(node->requests_done, outstanding - 1);
		if (used == BURST) {
			int more = count - posted < used ? count - posted : used;

			post_receives(node, bytes, more);
			posted += more;
			used = 0;
		}
		if (!node->server)
			some(node->receives_done, 1, polling);
		used++;
		after = now_ns();
		times[i] = after - before;
		before = after;
	}
	while (outstanding > 0)
		outstanding -= spin(node->requests_done, outstanding);
	result = summarize(node, times, (size_t)count);
	if (mean)
		result = (double)(before - begin) / count;
	free(times);
	return result;
}

void expect_writes(struct node *node, size_t bytes) { node->memory[MOST_BYTES + bytes - 1] = 0; }

/*
 * Both sides write to the other's memory in turn, and look at the last byte of their own, which counts the writes.
 * Completions are taken many at a time, while a write is on its way.
 */
double measure_memory_round_trip(struct node *node, size_t bytes, int count)
{
	DAT_LMR_TRIPLET from = segment(node, 0, bytes);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = node->peer.context,
		.virtual_address = node->peer.address + MOST_BYTES,
		.segment_length = bytes,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	const unsigned char *last = node->memory + MOST_BYTES + bytes - 1;
	uint64_t *times = malloc((size_t)count * sizeof(*times));
	int outstanding = 0;
	uint64_t before;
	double result;

	if (times == NULL)
		stop("no memory");
	if (!node->server)
		expect_writes(node, bytes);
	before = now_ns();
	for (int i = 0; i < count; i++) {
		unsigned char number = i + 1;
		uint64_t after;

		if (node->server)
			while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != number)
				;
		node->memory[bytes - 1] = number;
		must("dat_ep_post_rdma_write",
		     dat_ep_post_rdma_write(node->ep, 1, &from, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
		if (++outstanding >= BURST)
			outstanding -= take(node->requests_done, outstanding - 1);
		if (!node->server)
			while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != number)
				;
		after = now_ns();
		times[i] = after - before;
		before = after;
	}
	while (outstanding > 0)
		outstanding -= spin(node->requests_done, outstanding);
	result = summarize(node, times, (size_t)count);
	free(times);
	return result;
}

/* The server takes messages, and posts receives in their place. */
static void sink(struct node *node, size_t bytes, int count, bool polling)
{
	int posted = count < MOST_RECEIVES ? count : MOST_RECEIVES, used = 0;

	for (int left = count; left > 0;) {
		int taken = some(node->receives_done, BURST, polling);

		left -= taken;
		used += taken;
		if (used >= BURST) {
			int more = count - posted < used ? count - posted : used;

			post_receives(node, bytes, more);
			posted += more;
			used = 0;
		}
	}
}

double measure_rate(struct node *node, size_t bytes, int count, int window, bool polling)
{
	DAT_LMR_TRIPLET from = segment(node, 0, bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	int posted = 0;
	uint64_t begin;

	if (node->server) {
		sink(node, bytes, count, polling);
		return 0;
	}
	begin = now_ns();
	for (int completed = 0; completed < count;) {
		for (; posted < count && posted - completed < window; posted++)
			must("dat_ep_post_send", dat_ep_post_send(node->ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		completed += some(node->requests_done, BURST, polling);
	}
	return count / ((double)(now_ns() - begin) / 1e9);
}

double measure_rdma(struct node *node, bool write, size_t bytes, int count, int window)
{
	DAT_LMR_TRIPLET local = segment(node, 0, bytes);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = node->peer.context,
		.virtual_address = node->peer.address,
		.segment_length = bytes,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	int posted = 0;
	uint64_t begin = now_ns();

	for (int completed = 0; completed < count;) {
		for (; posted < count && posted - completed < window; posted++) {
			if (write)
				must("dat_ep_post_rdma_write",
				     dat_ep_post_rdma_write(node->ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
			else
				must("dat_ep_post_rdma_read",
				     dat_ep_post_rdma_read(node->ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
		}
		completed += spin(node->requests_done, BURST);
	}
	return (double)bytes * count / ((double)(now_ns() - begin) / 1e9);
}
