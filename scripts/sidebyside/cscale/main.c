/*
 * "cscale server ADAPTER QUALIFIER COUNT own|shared ROUNDS" and "cscale client ADAPTER ADDRESS QUALIFIER COUNT own|shared
 * ROUNDS" connect that many endpoints, exchange messages on all of them, and part. "cscale waiters ADAPTER COUNT EVDS" has
 * that many threads wait, each on an event dispatcher. The result is for each, in a line as Go's benchmarks print it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

static long line_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256];
	long value = -1;

	if (file == NULL)
		stop("%s cannot be read", path);
	while (value < 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = atol(line + strlen(name));
	fclose(file);
	return value;
}

/* Of the resident size /proc/self/status would have an estimate only. */
struct stock take_stock(void)
{
	struct stock stock = {
		.resident = line_of("/proc/self/smaps_rollup", "Rss:") << 10,
		.threads = line_of("/proc/self/status", "Threads:"),
		.files = -3, /* ".", ".." and the folder itself */
	};
	DIR *dir = opendir("/proc/self/fd");

	if (dir == NULL)
		stop("/proc/self/fd cannot be read");
	while (readdir(dir) != NULL)
		stock.files++;
	closedir(dir);
	return stock;
}

static int number(const char *text)
{
	int n = atoi(text);

	if (n < 1)
		stop("%s is not a number of them", text);
	return n;
}

/* The two sides go through the same, and what takes long is measured on each. */
static void measure(struct crowd *crowd)
{
	struct stock before = take_stock(), after;
	uint64_t start = now_ns(), created, begun, met, start_exchange, exchanged, parted;
	double count = crowd->count;

	crowd_create(crowd);
	created = now_ns();
	if (crowd->side.server)
		side_listen(&crowd->side);
	begun = now_ns();
	crowd_meet(crowd);
	met = now_ns();
	after = take_stock();
	crowd_exchange(crowd, 1); /* until both are through with the above */
	start_exchange = now_ns();
	crowd_exchange(crowd, crowd->rounds);
	exchanged = now_ns();
	crowd_part(crowd);
	parted = now_ns();
	say("result %.0f create-ns/op\t%.0f connect-ns/op\t%.0f message-ns/op\t%.0f free-ns/op\t%.0f B/op\t%.3f files/op",
	    (created - start) / count, (met - begun) / count, (exchanged - start_exchange) / (2 * count * crowd->rounds),
	    (parted - exchanged) / count, (after.resident - before.resident) / count, (after.files - before.files) / count);
	must("dat_ia_close", dat_ia_close(crowd->side.ia, DAT_CLOSE_ABRUPT_FLAG));
	free(crowd->stations);
	free(crowd->side.memory);
}

int main(int argc, char **argv)
{
	static struct crowd crowd;
	bool client = argc == 8 && strcmp(argv[1], "client") == 0;
	char **rest = argv + argc - 4;

	if (argc == 5 && strcmp(argv[1], "waiters") == 0) {
		measure_waiters(argv[2], number(argv[3]));
		return 0;
	}
	if (!client && !(argc == 7 && strcmp(argv[1], "server") == 0))
		stop("server ADAPTER QUALIFIER COUNT own|shared ROUNDS, client ADAPTER ADDRESS QUALIFIER COUNT own|shared ROUNDS, or waiters ADAPTER COUNT EVDS");
	side_open(&crowd.side, argv[2], client ? argv[3] : NULL, number(rest[0]), 4096);
	crowd.count = number(rest[1]);
	crowd.own = strcmp(rest[2], "own") == 0;
	crowd.rounds = number(rest[3]);
	measure(&crowd);
	return 0;
}
