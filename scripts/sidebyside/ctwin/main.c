/*
 * The twin in C: "ctwin server ADAPTER QUALIFIER" or "ctwin client ADAPTER ADDRESS QUALIFIER". "ctwin far
 * ADAPTER QUALIFIER" accepts every connection, on a machine that is cut off later. Once connected, the twin takes one
 * measurement per line of standard input, and says on standard output when the server is ready and what the result is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "twin.h"

/* The first half of them have nothing beside. */
int messages_of(const struct order *o)
{
	return strcmp(o->name, "paced") == 0 && strcmp(o->beside, "nothing") != 0 ? 2 * o->count : o->count;
}

static double measure(struct node *node, const struct order *o)
{
	if (strcmp(o->name, "roundtrip") == 0)
		return measure_round_trip(node, o->bytes, o->count, strcmp(o->how, "poll") == 0, false);
	if (strcmp(o->name, "sustained") == 0)
		return measure_round_trip(node, o->bytes, o->count, true, true);
	if (strcmp(o->name, "mailbox") == 0)
		return measure_memory_round_trip(node, o->bytes, o->count);
	if (strcmp(o->name, "rate") == 0)
		return measure_rate(node, o->bytes, o->count, o->window, strcmp(o->how, "poll") == 0);
	if (strcmp(o->name, "paced") == 0)
		return measure_paced(node, o);
	if (strcmp(o->name, "connect") == 0)
		return measure_connects(node, o->count);
	if (node->server)
		return 0; /* it takes no part in the others */
	if (strcmp(o->name, "far") == 0) {
		join_far(node, o->how);
		return 0;
	}
	if (strcmp(o->name, "write") == 0 || strcmp(o->name, "read") == 0)
		return measure_rdma(node, strcmp(o->name, "write") == 0, o->bytes, o->count, o->window);
	if (strcmp(o->name, "status") == 0)
		return measure_status(node, o->count);
	stop("there is no measurement \"%s\"", o->name);
}

static void check(const struct order *o)
{
	if (o->count < 1 || o->bytes > MOST_BYTES || (o->bytes == 0 && strcmp(o->name, "mailbox") == 0) || o->window < 1 || o->window > MOST_REQUESTS)
		stop("such a measurement cannot be made: %s of %zu bytes, %d times, %d outstanding", o->name, o->bytes,
		     o->count, o->window);
}

/* In nanoseconds. */
static double between(const struct timeval *before, const struct timeval *after)
{
	return (after->tv_sec - before->tv_sec) * 1e9 + (after->tv_usec - before->tv_usec) * 1e3;
}

static void obey(struct node *node)
{
	char line[256];
	struct order o;

	while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
		struct rusage before, after;
		double result;

		if (sscanf(line, "%31s %31s %zu %d %d %31s %d %d", o.name, o.how, &o.bytes, &o.count, &o.window, o.beside,
			   &o.idle, &o.pause) != 8)
			stop("this is not a measurement: %s", line);
		check(&o);
		if (node->server) {
			if (strcmp(o.name, "roundtrip") == 0 || strcmp(o.name, "sustained") == 0 ||
			    strcmp(o.name, "rate") == 0 || strcmp(o.name, "paced") == 0)
				expect_messages(node, o.bytes, messages_of(&o));
			if (strcmp(o.name, "mailbox") == 0)
				expect_writes(node, o.bytes);
			puts("ready");
			fflush(stdout);
		}
		getrusage(RUSAGE_SELF, &before);
		result = measure(node, &o);
		getrusage(RUSAGE_SELF, &after);
		printf("result value=%.17g p90=%.17g p99=%.17g p999=%.17g over=%.17g user=%.17g system=%.17g\n", result,
		       node->tail.p90, node->tail.p99, node->tail.p999, node->tail.over,
		       between(&before.ru_utime, &after.ru_utime) / o.count,
		       between(&before.ru_stime, &after.ru_stime) / o.count);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static struct node node;

	if (argc == 4 && strcmp(argv[1], "far") == 0) {
		node_open(&node, argv[2]);
		node_listen(&node, strtoul(argv[3], NULL, 10));
		accept_all(&node);
	} else if (argc == 4 && strcmp(argv[1], "server") == 0) {
		node_open(&node, argv[2]);
		node_listen(&node, strtoul(argv[3], NULL, 10));
		node_accept(&node);
	} else if (argc == 5 && strcmp(argv[1], "client") == 0) {
		node_open(&node, argv[2]);
		node_connect(&node, argv[3], strtoul(argv[4], NULL, 10));
	} else {
		stop("server ADAPTER QUALIFIER, client ADAPTER ADDRESS QUALIFIER or far ADAPTER QUALIFIER");
	}
	puts("connected");
	fflush(stdout);
	obey(&node);
	node_close(&node);
	return 0;
}
