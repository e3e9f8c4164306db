/*
 * Calls that fail: preloaded, this library comes before those that the native uDAPL libraries call. It counts their calls
 * of each kind, and has one of them fail, which does nothing then. The test says which in the file that
 * UDAT_TEST_FAILURE names, and that both have in memory: struct control.
 */
#include "between.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { VERBS, RELEASES, POSTS, POLLS, CM, SOCKETS, WAKEUPS, THREADS, MEMORY, KINDS };

/* As control in control_test.go. */
struct control {
	int32_t kind;         /* which kind of call is to fail */
	int32_t nth;          /* which of that kind, from 1 on; 0: none */
	int32_t calls[KINDS]; /* how many there were */
	int32_t threads;      /* that the libraries have started, and that have not ended */
	int32_t objects;      /* of the device, that the libraries have made, and not released */
	int32_t pieces;       /* of memory that the libraries have allocated, and not freed */
	char failed[100];     /* the call that has failed */
};

static struct control nobody, *control = &nobody;

__attribute__((constructor)) static void map_control(void)
{
	const char *name = getenv("UDAT_TEST_FAILURE");
	int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return; /* a program that the test starts */
	memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		abort();
	close(fd);
	control = memory;
}

/* Returns the name of the library that calls the function if it is one of those that are tested, or else NULL. */
static const char *tested(const char *function, void *caller, long *offset)
{
	struct dl_find_object object;
	const char *name;

	if (_dl_find_object(caller, &object) != 0)
		return NULL;
	*offset = (char *)caller - (char *)object.dlfo_map_start;
	name = strrchr(object.dlfo_link_map->l_name, '/');
	if (name == NULL)
		return NULL;
	name++;
	if (strncmp(name, "libdapl", 7) == 0 || strncmp(name, "libdat2", 7) == 0)
		return name;
	/* The CMA provider has librdmacm make the queue pairs. */
	if (strncmp(function, "ibv_", 4) == 0 && strncmp(name, "librdmacm", 9) == 0)
		return name;
	return NULL;
}

static int fails(enum kind kind, const char *function, void *caller)
{
	long offset;
	const char *library = tested(function, caller, &offset);

	/* What librdmacm does not release stays with librdmacm. */
	if (library == NULL || (kind == RELEASES && strncmp(library, "librdmacm", 9) == 0))
		return 0;
	if (__atomic_add_fetch(&control->calls[kind], 1, __ATOMIC_SEQ_CST) != control->nth || control->kind != (int)kind)
		return 0;
	snprintf(control->failed, sizeof(control->failed), "%s, which %s calls at %#lx", function, library, offset);
	return 1;
}

/* The libraries load librdmacm themselves, so that it is not in the list of the program's. */
void *next(const char *function)
{
	static const char *const libraries[] = {"libibverbs.so.1", "librdmacm.so.1"};
	void *found = dlsym(RTLD_NEXT, function), *library;

	for (unsigned i = 0; found == NULL && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (library != NULL) {
			found = dlsym(library, function);
			dlclose(library);
		}
	}
	if (found == NULL)
		abort();
	return found;
}

/*
 * The calls, and how each fails. All take numbers and pointers, so that one prototype with enough of them does for any,
 * and passes on what there is. The names are those that the linker sees, since the headers declare others.
 */
__thread void *calling;

#define CALL(kind, name, value, error, count)                                \
	long failing_##name(SIX) __asm__(#name);                             \
	long failing_##name(SIX)                                             \
	{                                                                    \
		static call *real;                                           \
		void *caller = __builtin_return_address(0);                  \
		long result;                                                 \
		if (fails(kind, #name, caller)) {                            \
			errno = error;                                       \
			return value;                                        \
		}                                                            \
		if (real == NULL)                                            \
			real = shaped(#name) ? shaped(#name) : (call *)next(#name); \
		calling = caller;                                            \
		result = real(a, b, c, d, e, f);                             \
		if ((count > 0 && result != 0) || (count < 0 && (int)result == 0)) \
			count_objects(#name, caller, count);                 \
		return result;                                               \
	}
#define FAILING(kind, name, value, error) CALL(kind, name, value, error, 0)
#define MAKING(name) CALL(VERBS, name, 0, ENOMEM, 1)
#define RELEASING(name) CALL(RELEASES, name, EBUSY, EBUSY, -1)

static void count_objects(const char *function, void *caller, int n)
{
	long offset;

	if (tested(function, caller, &offset) != NULL)
		__atomic_add_fetch(&control->objects, n, __ATOMIC_SEQ_CST);
}

FAILING(VERBS, ibv_get_device_list, 0, ENOMEM)
FAILING(VERBS, ibv_query_device, EIO, EIO)
FAILING(VERBS, ibv_query_gid, -1, EIO)
FAILING(VERBS, ibv_query_pkey, -1, EIO)
MAKING(ibv_alloc_pd)
MAKING(ibv_reg_mr)
FAILING(VERBS, ibv_create_comp_channel, 0, EMFILE)
MAKING(ibv_create_cq)
MAKING(ibv_create_srq)
MAKING(ibv_create_qp)
MAKING(ibv_create_ah)
FAILING(VERBS, ibv_modify_qp, EINVAL, EINVAL)
FAILING(VERBS, ibv_modify_srq, EINVAL, EINVAL)
FAILING(VERBS, ibv_resize_cq, ENOMEM, ENOMEM)
FAILING(VERBS, ibv_query_qp, EIO, EIO)

RELEASING(ibv_dealloc_pd)
RELEASING(ibv_dereg_mr)
RELEASING(ibv_destroy_cq)
RELEASING(ibv_destroy_srq)
RELEASING(ibv_destroy_qp)
RELEASING(ibv_destroy_ah)

FAILING(CM, rdma_create_event_channel, 0, EMFILE)
FAILING(CM, rdma_create_id, -1, ENOMEM)
FAILING(CM, rdma_set_option, -1, EINVAL)
FAILING(CM, rdma_bind_addr, -1, EADDRINUSE)
FAILING(CM, rdma_listen, -1, EADDRINUSE)
FAILING(CM, rdma_resolve_addr, -1, ENETUNREACH)
FAILING(CM, rdma_resolve_route, -1, ENETUNREACH)
FAILING(CM, rdma_create_qp, -1, ENOMEM)
FAILING(CM, rdma_connect, -1, EINVAL)
FAILING(CM, rdma_accept, -1, EINVAL)
FAILING(CM, rdma_reject, -1, EINVAL)
FAILING(CM, rdma_disconnect, -1, EINVAL)

FAILING(SOCKETS, getaddrinfo, -10, EIO) /* EAI_MEMORY */
FAILING(SOCKETS, getifaddrs, -1, ENOMEM)
FAILING(SOCKETS, gethostname, -1, ENAMETOOLONG)
FAILING(SOCKETS, socket, -1, EMFILE)
FAILING(SOCKETS, setsockopt, -1, ENOBUFS)
FAILING(SOCKETS, getsockopt, -1, ENOBUFS)
FAILING(SOCKETS, getsockname, -1, ENOBUFS)
FAILING(SOCKETS, ioctl, -1, EIO)
FAILING(SOCKETS, fcntl, -1, EINVAL)
FAILING(SOCKETS, bind, -1, EADDRINUSE)
FAILING(SOCKETS, listen, -1, EADDRINUSE)
FAILING(SOCKETS, connect, -1, ENETUNREACH)
FAILING(SOCKETS, accept, -1, EMFILE)
FAILING(SOCKETS, send, -1, ECONNRESET)
FAILING(SOCKETS, writev, -1, ECONNRESET)
FAILING(SOCKETS, recv, -1, ECONNRESET)
FAILING(SOCKETS, pipe, -1, EMFILE)
FAILING(SOCKETS, fopen, 0, EMFILE)

FAILING(POLLS, poll, -1, ENOMEM)

FAILING(WAKEUPS, ibv_get_async_event, -1, EIO)
FAILING(WAKEUPS, rdma_get_cm_event, -1, ENOMEM)
FAILING(WAKEUPS, read, -1, EIO)

/* Calls of the verbs that go through the device's own tables. */
static struct below below;

#define FAILING_POST(name)                                                   \
	static long failing_##name(SIX)                                      \
	{                                                                    \
		if (fails(POSTS, "ibv_" #name, __builtin_return_address(0))) {  \
			*(long *)c = b; /* the request that is refused */    \
			return ENOMEM;                                       \
		}                                                            \
		return ((call *)(void *)below.ops.name)(a, b, c, d, e, f);   \
	}

FAILING_POST(post_send)
FAILING_POST(post_recv)
FAILING_POST(post_srq_recv)

static int failing_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return fails(POSTS, "ibv_bind_mw", __builtin_return_address(0)) ? ENOMEM : below.ops.bind_mw(qp, mw, bind);
}

static struct ibv_mw *failing_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	void *caller = __builtin_return_address(0);
	struct ibv_mw *mw = NULL;

	errno = ENOMEM;
	if (!fails(VERBS, "ibv_alloc_mw", caller) && (mw = below.ops.alloc_mw(pd, type)) != NULL)
		count_objects("ibv_alloc_mw", caller, 1);
	return mw;
}

static int failing_dealloc_mw(struct ibv_mw *mw)
{
	void *caller = __builtin_return_address(0);
	int error = fails(RELEASES, "ibv_dealloc_mw", caller) ? EBUSY : below.ops.dealloc_mw(mw);

	if (error == 0)
		count_objects("ibv_dealloc_mw", caller, -1);
	return error;
}

static int failing_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	return fails(VERBS, "ibv_query_port", __builtin_return_address(0)) ? EIO : below.query_port(context, port, attr, size);
}

static int failing_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int found = fails(POLLS, "ibv_poll_cq", __builtin_return_address(0)) ? -1 : below.ops.poll_cq(cq, n, wc);

	errno = EIO; /* left for a call that returns its error */
	return found;
}

/* The completion queue that could not be armed. An earlier arming does not count any more. */
static struct ibv_cq *unarmed;

static int failing_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	if (fails(POSTS, "ibv_req_notify_cq", __builtin_return_address(0))) {
		__atomic_store_n(&unarmed, cq, __ATOMIC_SEQ_CST);
		return ENOMEM;
	}
	if (unarmed == cq)
		__atomic_store_n(&unarmed, NULL, __ATOMIC_SEQ_CST);
	return below.ops.req_notify_cq(cq, solicited);
}

long failing_ibv_get_cq_event(SIX) __asm__("ibv_get_cq_event");

long failing_ibv_get_cq_event(SIX)
{
	long result;

	if (fails(WAKEUPS, "ibv_get_cq_event", __builtin_return_address(0))) {
		errno = EIO;
		return -1;
	}
	result = ((call *)next("ibv_get_cq_event"))(a, b, c, d, e, f);
	if (result == 0 && unarmed != NULL && *(struct ibv_cq **)b == unarmed) {
		((call *)next("ibv_ack_cq_events"))((long)unarmed, 1, 0, 0, 0, 0);
		errno = EAGAIN;
		return -1;
	}
	if (result == 0)
		shape_announced(*(struct ibv_cq **)b);
	return result;
}

long failing_ibv_open_device(SIX) __asm__("ibv_open_device");

long failing_ibv_open_device(SIX)
{
	struct ibv_context *context;

	if (fails(VERBS, "ibv_open_device", __builtin_return_address(0))) {
		errno = EMFILE;
		return 0;
	}
	context = (struct ibv_context *)((call *)next("ibv_open_device"))(a, b, c, d, e, f);
	if (context == NULL)
		return 0;
	below.ops = context->ops; /* all are of one driver */
	below.query_port = verbs_get_ctx(context)->query_port;
	shape_context(context, &below);
	verbs_get_ctx(context)->query_port = failing_query_port;
	context->ops.alloc_mw = failing_alloc_mw;
	context->ops.dealloc_mw = failing_dealloc_mw;
	context->ops.bind_mw = failing_bind_mw;
	context->ops.post_send = (void *)failing_post_send;
	context->ops.post_recv = (void *)failing_post_recv;
	context->ops.post_srq_recv = (void *)failing_post_srq_recv;
	context->ops.poll_cq = failing_poll_cq;
	context->ops.req_notify_cq = failing_req_notify_cq;
	return (long)context;
}

struct start {
	void *(*routine)(void *);
	void *argument;
};

static void ended(void *unused)
{
	(void)unused;
	__atomic_sub_fetch(&control->threads, 1, __ATOMIC_SEQ_CST);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static void *counted(void *argument)
{
	struct start start = *(struct start *)argument;
	void *result;

	__libc_free(argument);
	pthread_cleanup_push(ended, NULL);
	result = start.routine(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

int failing_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) __asm__("pthread_create");

int failing_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
	struct start *start;
	long offset;
	int error;

	if (fails(THREADS, "pthread_create", __builtin_return_address(0)))
		return EAGAIN;
	if (tested("pthread_create", __builtin_return_address(0), &offset) == NULL)
		return real(thread, attr, routine, argument);
	start = __libc_malloc(sizeof(*start));
	*start = (struct start){routine, argument};
	__atomic_add_fetch(&control->threads, 1, __ATOMIC_SEQ_CST);
	error = real(thread, attr, counted, start);
	if (error != 0)
		ended(NULL);
	return error;
}

/* The pieces of memory that the libraries have, in a table with places for many more. */
enum { PLACES = 1 << 16 };
static void *pieces[PLACES];
static char lock;

static unsigned place(void *piece)
{
	unsigned i = (uintptr_t)piece / 16 * 2654435761u % PLACES;

	while (pieces[i] != NULL && pieces[i] != piece)
		i = (i + 1) % PLACES;
	return i;
}

static void remember(void *piece)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
	pieces[place(piece)] = piece;
	control->pieces++;
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static void forget(void *piece)
{
	unsigned i;

	if (piece == NULL)
		return;
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
	i = place(piece);
	if (pieces[i] != NULL) {
		control->pieces--;
		pieces[i] = NULL;
		/* Those behind it may have found their place taken. */
		for (i = (i + 1) % PLACES; pieces[i] != NULL; i = (i + 1) % PLACES) {
			piece = pieces[i];
			pieces[i] = NULL;
			pieces[place(piece)] = piece;
		}
	}
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

#define ALLOCATE(function, call)                                                     \
	do {                                                                         \
		long offset;                                                         \
		void *result;                                                        \
		if (fails(MEMORY, function, __builtin_return_address(0))) {          \
			errno = ENOMEM;                                              \
			return NULL;                                                 \
		}                                                                    \
		result = call;                                                       \
		if (result && tested(function, __builtin_return_address(0), &offset))  \
			remember(result);                                            \
		return result;                                                       \
	} while (0)

void *malloc(size_t size)
{
	ALLOCATE("malloc", __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	ALLOCATE("calloc", __libc_calloc(count, size));
}

void free(void *piece)
{
	forget(piece);
	__libc_free(piece);
}

void *realloc(void *piece, size_t size)
{
	ALLOCATE("realloc", (forget(piece), __libc_realloc(piece, size)));
}
