/*
 * The twin in C: "ctwin server ADAPTER QUALIFIER" or "ctwin client ADAPTER ADDRESS QUALIFIER". Once connected, the twin
 * takes one measurement per line of standard input, and says on standard output when the server is ready and what the
 * result is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "twin.h"

bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

bool polls(const struct order *o) { return is(o->how, "poll"); }

/* How long one of the operations takes, in nanoseconds. */
static double measure(struct node *node, const struct order *o)
{
	if (is(o->name, "roundtrip") || is(o->name, "mailbox") || is(o->name, "paced"))
		return timed_trips(node, o);
	if (is(o->name, "connect"))
		return connects(node, o->count);
	if (is(o->name, "rate") && node->side.server)
		return sink(node, o);
	if (node->side.server)
		return 0; /* it takes no part in the others */
	if (is(o->name, "rate") || is(o->name, "write") || is(o->name, "read"))
		return stream(node, o);
	if (is(o->name, "status"))
		return statuses(node, o->count);
	stop("there is no measurement \"%s\"", o->name);
}

/* What this process has used, in nanoseconds. */
static double processor_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* Says what the order takes, as Go's benchmarks print it. The processor time is that of this side. */
static void obey(struct node *node, const struct order *o)
{
	double used, ns;

	prepare(node, o);
	if (node->side.server)
		say("ready");
	node->tail = (struct tail){ 0 };
	used = processor_time();
	ns = measure(node, o);
	used = processor_time() - used;
	printf("result %.2f ns/op", ns);
	if (node->tail.p99 > 0)
		printf("\t%.0f p90-ns/op\t%.0f p99-ns/op", node->tail.p90, node->tail.p99);
	if (!node->side.server && (is(o->name, "rate") || is(o->name, "write") || is(o->name, "read")))
		printf("\t%.2f MB/s", o->bytes / ns * 1e3);
	if (!polls(o) && !is(o->name, "paced") && used > 0) /* the kernel counts in clock ticks */
		printf("\t%.0f cpu-ns/op", used / o->count);
	say("%s", "");
}

int main(int argc, char **argv)
{
	static struct node node;
	char line[256];
	struct order o;

	if (argc == 4 && is(argv[1], "server"))
		node_open(&node, argv[2], NULL, atoi(argv[3]));
	else if (argc == 5 && is(argv[1], "client"))
		node_open(&node, argv[2], argv[3], atoi(argv[4]));
	else
		stop("server ADAPTER QUALIFIER or client ADAPTER ADDRESS QUALIFIER");
	node_meet(&node);
	say("connected");
	while (fgets(line, sizeof(line), stdin) != NULL && !is(line, "end\n")) {
		if (sscanf(line, "%31s %31s %zu %d %d %31s", o.name, o.how, &o.bytes, &o.count, &o.window, o.beside) != 6)
			stop("this is not a measurement: %s", line);
		if (o.count < 1 || o.bytes > MOST_BYTES || (o.bytes == 0 && is(o.name, "mailbox")) || o.window < 1 ||
		    o.window > MOST_REQUESTS)
			stop("such a measurement cannot be made: %s", line);
		obey(&node, &o);
	}
	node_close(&node);
	return 0;
}
