/*
 * The twin in C: "ctwin server ADAPTER QUALIFIER" or "ctwin client ADAPTER ADDRESS QUALIFIER". Once connected it takes one
 * measurement per line of standard input, and says on standard output when the server is ready and what the result is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin.h"

struct order {
	char name[32], how[32];
	size_t bytes;
	int count, window;
};

static double measure(struct node *node, const struct order *o)
{
	if (strcmp(o->name, "roundtrip") == 0)
		return measure_round_trip(node, o->bytes, o->count, strcmp(o->how, "poll") == 0, false);
	if (strcmp(o->name, "sustained") == 0)
		return measure_round_trip(node, o->bytes, o->count, true, true);
	if (strcmp(o->name, "mailbox") == 0)
		return measure_memory_round_trip(node, o->bytes, o->count);
	if (strcmp(o->name, "rate") == 0)
		return measure_rate(node, o->bytes, o->count, o->window);
	if (strcmp(o->name, "connect") == 0)
		return measure_connects(node, o->count);
	if (node->server)
		return 0; /* it takes no part in the others */
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

static void obey(struct node *node)
{
	char line[256];
	struct order o;

	while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
		double result;

		if (sscanf(line, "%31s %31s %zu %d %d", o.name, o.how, &o.bytes, &o.count, &o.window) != 5)
			stop("this is not a measurement: %s", line);
		check(&o);
		if (node->server) {
			if (strcmp(o.name, "roundtrip") == 0 || strcmp(o.name, "sustained") == 0 || strcmp(o.name, "rate") == 0)
				expect_messages(node, o.bytes, o.count);
			if (strcmp(o.name, "mailbox") == 0)
				expect_writes(node, o.bytes);
			puts("ready");
			fflush(stdout);
		}
		result = measure(node, &o);
		printf("result %.17g\n", result);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static struct node node;

	if (argc == 4 && strcmp(argv[1], "server") == 0) {
		node_open(&node, argv[2]);
		node_listen(&node, strtoul(argv[3], NULL, 10));
		node_accept(&node);
	} else if (argc == 5 && strcmp(argv[1], "client") == 0) {
		node_open(&node, argv[2]);
		node_connect(&node, argv[3], strtoul(argv[4], NULL, 10));
	} else {
		stop("server ADAPTER QUALIFIER or client ADAPTER ADDRESS QUALIFIER");
	}
	puts("connected");
	fflush(stdout);
	obey(&node);
	node_close(&node);
	return 0;
}
