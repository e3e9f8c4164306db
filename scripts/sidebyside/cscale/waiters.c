/* Threads that wait. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "scale.h"

static atomic_int entered, woken;

static void *wait_once(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	entered++;
	must("dat_evd_wait", dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	woken++;
	return NULL;
}

/* Waits for the others, and yields the processor to them. */
static void until(atomic_int *counter, int count)
{
	while (*counter < count)
		usleep(1000);
}

void measure_waiters(const char *ia_name, int count)
{
	static struct side side;
	DAT_EVD_HANDLE *evds = calloc((size_t)count, sizeof(*evds));
	pthread_t *waiters = calloc((size_t)count, sizeof(*waiters));
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	pthread_attr_t attr;
	struct stock before, made, waiting;
	uint64_t begin, wake;

	if (evds == NULL || waiters == NULL)
		stop("no memory");
	side_open(&side, ia_name, NULL, 0, 4096);
	before = take_stock();
	for (int i = 0; i < count; i++)
		evds[i] = create_evd(&side, OWN_LENGTH, DAT_EVD_SOFTWARE_FLAG);
	made = take_stock();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < count; i++)
		if (pthread_create(&waiters[i], &attr, wait_once, evds[i]) != 0)
			stop("only %d threads can be started", i);
	until(&entered, count);
	usleep(500000); /* they enter the wait */
	waiting = take_stock();
	say("alive");
	begin = now_ns();
	for (int i = 0; i < count; i++) {
		event.event_data.software_event_data.pointer = NULL;
		must("dat_evd_post_se", dat_evd_post_se(evds[i], &event));
	}
	until(&woken, count);
	wake = now_ns() - begin;
	for (int i = 0; i < count; i++) {
		pthread_join(waiters[i], NULL);
		must("dat_evd_free", dat_evd_free(evds[i]));
	}
	must("dat_ia_close", dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG));
	say("result %llu wake-ns/op\t%ld evd-B/op\t%ld waiter-B/op\t%ld threads/op", (unsigned long long)wake,
	    (made.resident - before.resident) / count, (waiting.resident - made.resident) / count, waiting.threads);
	free(evds);
	free(waiters);
	free(side.memory);
}
