/* What times have in common. */
#include <stdlib.h>

#include "twin.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

double summarize(struct node *node, uint64_t *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare);
	node->tail = (struct tail){
		.p90 = (double)times[count * 900 / 1000],
		.p99 = (double)times[count * 990 / 1000],
		.p999 = (double)times[count * 999 / 1000],
	};
	return (double)times[count * 500 / 1000];
}
