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
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, *evds = calloc((size_t)count, sizeof(*evds));
	pthread_t *waiters = calloc((size_t)count, sizeof(*waiters));
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_IA_HANDLE ia;
	pthread_attr_t attr;
	uint64_t begin, wake;
	long before, made, waiting, most;

	if (evds == NULL || waiters == NULL)
		stop("no memory");
	must("dat_ia_open", dat_ia_open((char *)(uintptr_t)ia_name, 64, &async, &ia));
	before = resident();
	for (int i = 0; i < count; i++)
		evds[i] = create_evd(ia, OWN_LENGTH, DAT_EVD_SOFTWARE_FLAG);
	made = resident();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < count; i++)
		if (pthread_create(&waiters[i], &attr, wait_once, evds[i]) != 0)
			stop("only %d threads can be started", i);
	until(&entered, count);
	usleep(500000); /* they enter the wait */
	waiting = resident();
	most = threads();
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
	must("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	say("result wake=%llu evd=%ld waiter=%ld threads=%ld", (unsigned long long)wake, (made - before) * 1024 / count,
	    (waiting - made) * 1024 / count, most);
	free(evds);
	free(waiters);
}
