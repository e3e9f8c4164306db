/* What the two halves of the library in between share: calls that fail (failing.c), and a device with other limits (shape.c). */
#ifndef BETWEEN_H
#define BETWEEN_H
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#undef ibv_query_port

#define SIX long a, long b, long c, long d, long e, long f
typedef long call(SIX);

/* Returns the function that the library hides. */
void *next(const char *function);

/* Where the call in progress comes from. */
extern __thread void *calling;

/* Returns the function that stands for an exported one on a device of another shape, or NULL. */
call *shaped(const char *function);

/* The functions of the device, below those that fail. */
struct below {
	struct ibv_context_ops ops;
	int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);
};

/* Notes that a completion queue has told that it has completions. */
void shape_announced(struct ibv_cq *cq);

/* Gives a device that was just opened its shape, if there is one. */
void shape_context(struct ibv_context *context, struct below *below);

#endif
