/*
 * Calls of the native library that fail when a test wants them to. Preloaded, it comes before the library. The test says
 * what is to fail in the file that UDAT_TEST_FAILING_CALLS names, which both have in memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As failingCall in failing_calls_test.go. */
struct call {
	int32_t fail;    /* how many of the next calls */
	uint32_t code;   /* what they return */
	int32_t failed;  /* how many have */
};

enum { EVD_FREE, EP_FREE, CALLS };

static struct call *calls;

__attribute__((constructor)) static void map_calls(void)
{
	const char *name = getenv("UDAT_TEST_FAILING_CALLS");
	int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		abort();
	memory = mmap(NULL, CALLS * sizeof(struct call), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		abort();
	close(fd);
	calls = memory;
}

static int fails(int which)
{
	struct call *call = &calls[which];

	if (__atomic_load_n(&call->fail, __ATOMIC_SEQ_CST) <= 0)
		return 0;
	if (__atomic_sub_fetch(&call->fail, 1, __ATOMIC_SEQ_CST) < 0)
		return 0; /* another thread was faster */
	__atomic_add_fetch(&call->failed, 1, __ATOMIC_SEQ_CST);
	return 1;
}

/* What the call would have returned, or what it is to return. */
#define CALL(which, name, type, ...)                                     \
	do {                                                             \
		uint32_t(*real) type = (uint32_t(*) type)dlsym(RTLD_NEXT, name); \
		if (!fails(which))                                       \
			return real(__VA_ARGS__);                        \
		return calls[which].code;                                \
	} while (0)

uint32_t dat_evd_disable(void *evd);
uint32_t dat_evd_free(void *evd);
uint32_t dat_ep_free(void *ep);

uint32_t dat_evd_free(void *evd)
{
	if (__atomic_load_n(&calls[EVD_FREE].fail, __ATOMIC_SEQ_CST) > 0)
		dat_evd_disable(evd); /* as the library does before it fails */
	CALL(EVD_FREE, "dat_evd_free", (void *), evd);
}

uint32_t dat_ep_free(void *ep)
{
	CALL(EP_FREE, "dat_ep_free", (void *), ep);
}
