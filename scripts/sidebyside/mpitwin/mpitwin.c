/*
 * Measures what examples/mpi/mpiperf measures, with the MPI library that it is compiled for, and prints the same lines:
 * the test, the bytes, the value and its unit, with commas between.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { window = 64 };

struct buffers {
	size_t size;
	char *out, *in;
	MPI_Request requests[2 * window];
	MPI_Status statuses[2 * window];
	double *took; /* by each repetition, on rank 0, where there is a test that asks for it */
	long kept, room;
};

static void *memory(size_t size)
{
	void *m = calloc(1, size > 0 ? size : 1);
	if (m == NULL) {
		fprintf(stderr, "mpitwin: no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return m;
}

static void pingpong(MPI_Comm comm, struct buffers *b, long times)
{
	int rank;
	double began, now;
	if (times > b->room) {
		free(b->took);
		b->took = memory((size_t)times * sizeof(double));
		b->room = times;
	}
	MPI_Comm_rank(comm, &rank);
	began = MPI_Wtime();
	for (b->kept = 0; times > 0; times--) {
		if (rank == 0) {
			MPI_Send(b->out, (int)b->size, MPI_CHAR, 1, 0, comm);
			MPI_Recv(b->in, (int)b->size, MPI_CHAR, 1, 0, comm, MPI_STATUS_IGNORE);
			now = MPI_Wtime();
			b->took[b->kept++] = now - began;
			began = now;
		} else {
			MPI_Recv(b->in, (int)b->size, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
			MPI_Send(b->out, (int)b->size, MPI_CHAR, 0, 0, comm);
		}
	}
}

/* A window of messages, and an answer. */
static void stream(MPI_Comm comm, struct buffers *b, long times)
{
	int rank;
	char answer = 0;
	MPI_Comm_rank(comm, &rank);
	for (; times > 0; times--) {
		for (int i = 0; i < window; i++) {
			if (rank == 0)
				MPI_Isend(b->out, (int)b->size, MPI_CHAR, 1, 0, comm, &b->requests[i]);
			else
				MPI_Irecv(b->in, (int)b->size, MPI_CHAR, 0, 0, comm, &b->requests[i]);
		}
		MPI_Waitall(window, b->requests, b->statuses);
		if (rank == 0)
			MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
		else
			MPI_Send(&answer, 1, MPI_CHAR, 0, 1, comm);
	}
}

/* A window of messages in each direction. */
static void both_ways(MPI_Comm comm, struct buffers *b, long times)
{
	int rank;
	MPI_Comm_rank(comm, &rank);
	for (; times > 0; times--) {
		for (int i = 0; i < window; i++)
			MPI_Irecv(b->in, (int)b->size, MPI_CHAR, 1 - rank, 0, comm, &b->requests[i]);
		for (int i = 0; i < window; i++)
			MPI_Isend(b->out, (int)b->size, MPI_CHAR, 1 - rank, 0, comm, &b->requests[window + i]);
		MPI_Waitall(2 * window, b->requests, b->statuses);
	}
}

static void barrier(MPI_Comm comm, struct buffers *b, long times)
{
	(void)b;
	for (; times > 0; times--)
		MPI_Barrier(comm);
}

static void allreduce(MPI_Comm comm, struct buffers *b, long times)
{
	int count = (int)(b->size / sizeof(double));
	if (count == 0)
		count = 1;
	for (; times > 0; times--)
		MPI_Allreduce(b->out, b->in, count, MPI_DOUBLE, MPI_SUM, comm);
}

/* Messages of the size for each rank. */
static void alltoall(MPI_Comm comm, struct buffers *b, long times)
{
	for (; times > 0; times--)
		MPI_Alltoall(b->out, (int)b->size, MPI_CHAR, b->in, (int)b->size, MPI_CHAR, comm);
}

static const struct test {
	const char *name, *unit;
	int pair;   /* for two ranks */
	int sized;  /* messages have sizes */
	void (*act)(MPI_Comm comm, struct buffers *b, long times);
	double bytes; /* of a repetition, in sizes; 0 for a test of time */
	double messages;
	double quantile; /* if not 0, which of the times that repetitions take is the result, instead of their average */
} tests[] = {
	{"latency", "us", 1, 1, pingpong, 0, 0, 0.5},
	{"latency p99", "us", 1, 1, pingpong, 0, 0, 0.99},
	{"bandwidth", "MB/s", 1, 1, stream, window, 0, 0},
	{"both ways", "MB/s", 1, 1, both_ways, 2 * window, 0, 0},
	{"messages", "thousand/s", 1, 1, stream, 0, window, 0},
	{"barrier", "us", 0, 0, barrier, 0, 0, 0},
	{"allreduce", "us", 0, 1, allreduce, 0, 0, 0},
	{"alltoall", "us", 0, 1, alltoall, 0, 0, 0},
};

static double processor_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* The processor time, in milliseconds a second, that a rank takes while it waits for a message that comes late. */
static double waiting(MPI_Comm comm, double least)
{
	int rank;
	double value = 0, began, before;
	MPI_Comm_rank(comm, &rank);
	MPI_Barrier(comm);
	if (rank == 0) {
		usleep((useconds_t)(5e6 * least));
		MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, comm);
		MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, comm, MPI_STATUS_IGNORE);
		return value;
	}
	began = MPI_Wtime();
	before = processor_seconds();
	MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
	value = (processor_seconds() - before) * 1e3 / (MPI_Wtime() - began);
	MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, comm);
	return value;
}

/* Repeats a test for as long as it should take. Rank 0 decides how many times that is. */
static double repeat(MPI_Comm comm, const struct test *t, struct buffers *b, double least)
{
	long times = 1;
	for (;;) {
		long done = times;
		double began = MPI_Wtime(), took;
		t->act(comm, b, times);
		took = MPI_Wtime() - began;
		times = 0;
		if (took < least) {
			times = done * 2;
			if (took > least / 50)
				times = (long)(1.2 * (double)done * least / took) + 1;
		}
		MPI_Bcast(&times, 1, MPI_LONG, 0, comm);
		if (times == 0)
			return took / (double)done;
	}
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void measure(const struct test *t, MPI_Comm comm, size_t size, double least)
{
	struct buffers b = {.size = size};
	double took, value;
	int rank, ranks;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	b.out = memory(size * (size_t)ranks + sizeof(double));
	b.in = memory(size * (size_t)ranks + sizeof(double));
	took = repeat(comm, t, &b, least);
	if (t->quantile > 0 && b.kept > 0) {
		qsort(b.took, (size_t)b.kept, sizeof(double), compare_times);
		took = b.took[(long)(t->quantile * (double)(b.kept - 1))];
	}
	value = took * 1e6;
	if (t->bytes > 0)
		value = t->bytes * (double)size / took / 1e6;
	else if (t->messages > 0)
		value = t->messages / took / 1e3;
	if (rank == 0) {
		printf("%s,%zu,%g,%s\n", t->name, size, value, t->unit);
		fflush(stdout);
	}
	free(b.out);
	free(b.in);
	free(b.took);
}

/* Arguments: the least seconds of a measurement, and the sizes. */
int main(int argc, char **argv)
{
	int rank, ranks;
	double least;
	MPI_Comm pair;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 3 || ranks < 2) {
		fprintf(stderr, "usage: mpitwin SECONDS BYTES..., with 2 ranks at least\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	least = strtod(argv[1], NULL);
	MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		const struct test *t = &tests[i];
		for (int arg = 2; arg < (t->sized ? argc : 3); arg++) {
			size_t size = t->sized ? strtoul(argv[arg], NULL, 10) : 0;
			if (!t->pair)
				measure(t, MPI_COMM_WORLD, size, least);
			else if (rank < 2)
				measure(t, pair, size, least);
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	if (rank < 2) {
		double value = waiting(pair, least);
		if (rank == 0)
			printf("waiting,0,%g,ms/s\n", value);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
