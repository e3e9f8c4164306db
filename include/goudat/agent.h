/*
 * Wait-proxy agents: how a notification reaches Go without a thread that blocks in C.
 *
 * A CNO calls its agent once, on the thread that posted the event, often with
 * library locks held. If a single goroutine waits on the EVD, it sleeps on a seat,
 * an eventfd to which the agent writes. Otherwise the agent links itself into its
 * queue and makes the queue's eventfd readable. Go's poller waits for these
 * descriptors. The identifiers of the agents that were called are taken from the queue.
 */
#ifndef GOUDAT_AGENT_H
#define GOUDAT_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cno.h"
#include "evd.h"

/* Not an eventfd: the agent has no seat, or keeps the one that it has. */
enum { GOUDAT_NO_SEAT = -1, GOUDAT_SAME_SEAT = -2 };

typedef struct goudat_agent {
	struct goudat_agent_queue *queue;
	struct goudat_agent *next;
	uint64_t id;
	uint64_t called_at; /* in nanoseconds */
	int seat;	    /* the eventfd to write once instead of joining the queue, or GOUDAT_NO_SEAT */
	bool queued;
	bool called; /* since the EVD was armed last, or arming it has failed */
} goudat_agent;

typedef struct goudat_agent_queue {
	pthread_mutex_t lock;
	goudat_agent *head;
	goudat_agent **tail;
	int eventfd;
} goudat_agent_queue;

/* The queue does not own eventfd. Returns 0 when there is no memory. */
static inline uintptr_t goudat_agent_queue_create(int eventfd)
{
	goudat_agent_queue *queue = calloc(1, sizeof(*queue));

	if (queue == NULL)
		return 0;
	pthread_mutex_init(&queue->lock, NULL);
	queue->tail = &queue->head;
	queue->eventfd = eventfd;
	return (uintptr_t)queue;
}

static inline void goudat_agent_queue_free(uintptr_t queue_address)
{
	goudat_agent_queue *queue = (goudat_agent_queue *)queue_address;

	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/*
 * Takes the identifiers of up to max agents that were called since the last call, and returns how many nanoseconds ago
 * the first of them was called.
 */
static inline int goudat_agent_queue_take(uintptr_t queue_address, uint64_t *ids, int max,
					  uint64_t *age)
{
	goudat_agent_queue *queue = (goudat_agent_queue *)queue_address;
	int n = 0;

	pthread_mutex_lock(&queue->lock);
	*age = queue->head != NULL ? goudat_monotonic_ns() - queue->head->called_at : 0;
	while (n < max && queue->head != NULL) {
		goudat_agent *agent = queue->head;

		queue->head = agent->next;
		if (queue->head == NULL)
			queue->tail = &queue->head;
		agent->next = NULL;
		agent->queued = false;
		ids[n++] = agent->id;
	}
	pthread_mutex_unlock(&queue->lock);
	return n;
}

static inline uintptr_t goudat_agent_create(uintptr_t queue_address, uint64_t id)
{
	goudat_agent *agent = calloc(1, sizeof(*agent));

	if (agent == NULL)
		return 0;
	agent->queue = (goudat_agent_queue *)queue_address;
	agent->id = id;
	agent->seat = GOUDAT_NO_SEAT;
	return (uintptr_t)agent;
}

/* Only for an agent whose CNO is freed: nothing may call it any more. */
static inline void goudat_agent_free(uintptr_t agent_address)
{
	goudat_agent *agent = (goudat_agent *)agent_address;
	goudat_agent_queue *queue = agent->queue;

	pthread_mutex_lock(&queue->lock);
	if (agent->queued) {
		goudat_agent **link = &queue->head;

		while (*link != agent)
			link = &(*link)->next;
		*link = agent->next;
		if (queue->tail == &agent->next)
			queue->tail = link;
	}
	pthread_mutex_unlock(&queue->lock);
	free(agent);
}

/* A full counter leaves the descriptor readable, which is all that matters. */
static inline void goudat_eventfd_poke(int eventfd)
{
	static const uint64_t one = 1;

	if (write(eventfd, &one, sizeof(one)) < 0)
		return;
}

/*
 * The DAT_AGENT_FUNC. It disables the EVD, so that the provider's thread is not
 * woken for each further completion while nobody waits.
 *
 * Once it has released the lock, the agent and its queue may be freed: it writes
 * before that. It leaves errno as it was, since the library builds return values
 * from it. It must never enter Go: a call that takes events, arms an EVD or posts
 * a software event may call it, and cgo is told that those do not call back.
 */
static inline void goudat_agent_called(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	goudat_agent *agent = instance;
	goudat_agent_queue *queue = agent->queue;
	const int saved_errno = errno;

	if (evd != DAT_HANDLE_NULL)
		dat_evd_disable(evd);
	pthread_mutex_lock(&queue->lock);
	agent->called = true;
	agent->called_at = goudat_monotonic_ns();
	if (agent->seat >= 0) {
		goudat_eventfd_poke(agent->seat);
		agent->seat = GOUDAT_NO_SEAT;
	} else if (!agent->queued) {
		const bool was_empty = queue->head == NULL;

		agent->queued = true;
		*queue->tail = agent;
		queue->tail = &agent->next;
		if (was_empty)
			goudat_eventfd_poke(queue->eventfd);
	}
	pthread_mutex_unlock(&queue->lock);
	errno = saved_errno;
}

/* Where the agent's function is, for dat_cno_create. */
static inline uintptr_t goudat_agent_func(void)
{
	return (uintptr_t)goudat_agent_called;
}

/* Has the next goudat_evd_arm take all its steps: the EVD may not be armed any more. Forgets the seat. */
static inline void goudat_agent_disarm(uintptr_t agent_address)
{
	goudat_agent *agent = (goudat_agent *)agent_address;

	pthread_mutex_lock(&agent->queue->lock);
	agent->called = true;
	agent->seat = GOUDAT_NO_SEAT;
	pthread_mutex_unlock(&agent->queue->lock);
}

/*
 * Makes sure that the next event calls the agent. An EVD whose agent was not
 * called since the last time is armed still, which costs nothing to find out.
 *
 * Once it has called its agent, a CNO forgets it and stays triggered, and
 * silent, until dat_cno_wait. The agent is put back before that, so that a CNO
 * that is not triggered has one at any time.
 *
 * When a step fails, the EVD counts as not armed, and the next call takes all
 * steps again: dat_cno_wait then finds nothing, if it had succeeded before.
 */
static inline DAT_RETURN goudat_agent_arm(goudat_agent *agent, goudat_handle evd, goudat_handle cno, int seat)
{
	goudat_handle triggered;
	DAT_RETURN ret;
	bool called;

	pthread_mutex_lock(&agent->queue->lock);
	called = agent->called;
	agent->called = false;
	if (seat != GOUDAT_SAME_SEAT)
		agent->seat = seat;
	pthread_mutex_unlock(&agent->queue->lock);
	if (!called)
		return DAT_SUCCESS;
	ret = goudat_cno_modify_agent(cno, (uintptr_t)agent, goudat_agent_func());
	if (ret == DAT_SUCCESS) {
		ret = goudat_cno_wait(cno, 0, &triggered);
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			ret = DAT_SUCCESS;
	}
	if (ret == DAT_SUCCESS)
		ret = goudat_evd_enable(evd);
	if (ret != DAT_SUCCESS)
		goudat_agent_disarm((uintptr_t)agent);
	return ret;
}

/*
 * Arms the EVD, and then takes what is there already. When it is not armed, the return value says why. seat is an
 * eventfd that the agent writes once instead of joining the queue, GOUDAT_NO_SEAT or GOUDAT_SAME_SEAT.
 */
static inline DAT_RETURN goudat_evd_arm(goudat_handle evd, goudat_handle cno, uintptr_t agent_address, int seat,
					goudat_event *events, int max, int *count, bool *armed)
{
	DAT_RETURN ret = goudat_agent_arm((goudat_agent *)agent_address, evd, cno, seat);

	*count = 0;
	*armed = ret == DAT_SUCCESS;
	if (!*armed)
		return ret;
	return goudat_evd_dequeue_batch(evd, events, max, count);
}

/*
 * Takes up to max events, which is at least 1. The agent does not use its seat any more. age is how many nanoseconds ago
 * the agent was called, 0 if it was not called since it was armed, or has the seat still.
 */
static inline DAT_RETURN goudat_evd_leave_seat(goudat_handle evd, uintptr_t agent_address, goudat_event *events, int max,
					     int *count, uint64_t *age)
{
	goudat_agent *agent = (goudat_agent *)agent_address;

	pthread_mutex_lock(&agent->queue->lock);
	*age = agent->called && agent->seat < 0 ? goudat_monotonic_ns() - agent->called_at : 0;
	agent->seat = GOUDAT_NO_SEAT;
	pthread_mutex_unlock(&agent->queue->lock);
	return goudat_evd_dequeue_batch(evd, events, max, count);
}

#endif
