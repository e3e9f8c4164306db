/*
 * "cscale server ADAPTER QUALIFIER COUNT own|shared ROUNDS" and "cscale client ADAPTER ADDRESS QUALIFIER COUNT own|shared
 * ROUNDS" connect that many endpoints, exchange messages on all of them, and part. "cscale waiters ADAPTER COUNT" has that
 * many threads wait. The result is a line of the standard output; times are in ns, memory is in bytes for each.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

static int number(const char *text)
{
	int n = atoi(text);

	if (n < 1)
		stop("%s is not a number of them", text);
	return n;
}

/* The two sides go through the same, and what takes long is measured on each. */
static void measure(struct crowd *crowd, const char *ia_name)
{
	uint64_t start, created, met, begun, start_exchange, exchanged, parted;
	long before, after, files, most;

	crowd_open(crowd, ia_name);
	files = descriptors();
	before = resident();
	start = now_ns();
	crowd_create(crowd);
	created = now_ns();
	if (crowd->server)
		crowd_listen(crowd);
	begun = now_ns();
	crowd_meet(crowd);
	met = now_ns();
	after = resident();
	files = descriptors() - files;
	most = threads();
	crowd_exchange(crowd, 1); /* until both are through with the above */
	start_exchange = now_ns();
	crowd_exchange(crowd, crowd->rounds);
	exchanged = now_ns();
	crowd_part(crowd);
	parted = now_ns();
	say("result create=%llu connect=%llu memory=%ld message=%.17g free=%llu threads=%ld files=%.17g",
	    (unsigned long long)(created - start) / crowd->count, (unsigned long long)(met - begun) / crowd->count,
	    (after - before) * 1024 / crowd->count, (double)(exchanged - start_exchange) / (2.0 * crowd->count * crowd->rounds),
	    (unsigned long long)(parted - exchanged) / crowd->count, most, (double)files / crowd->count);
	crowd_close(crowd);
}

int main(int argc, char **argv)
{
	static struct crowd crowd;
	char **rest;

	if (argc == 4 && strcmp(argv[1], "waiters") == 0) {
		measure_waiters(argv[2], number(argv[3]));
		return 0;
	}
	crowd.server = argc == 7 && strcmp(argv[1], "server") == 0;
	if (!crowd.server && !(argc == 8 && strcmp(argv[1], "client") == 0))
		stop("server ADAPTER QUALIFIER COUNT own|shared ROUNDS, client ADAPTER ADDRESS QUALIFIER COUNT own|shared ROUNDS, or waiters ADAPTER COUNT");
	rest = argv + argc - 4;
	if (!crowd.server) {
		struct sockaddr_in in = { .sin_family = AF_INET };

		if (inet_pton(AF_INET, argv[3], &in.sin_addr) != 1)
			stop("%s is not an IPv4 address", argv[3]);
		memcpy(&crowd.address, &in, sizeof(in));
	}
	crowd.qual = number(rest[0]);
	crowd.count = number(rest[1]);
	crowd.own = strcmp(rest[2], "own") == 0;
	crowd.rounds = number(rest[3]);
	measure(&crowd, argv[2]);
	return 0;
}
