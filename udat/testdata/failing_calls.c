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
	int32_t late;    /* they do what they should all the same */
	int32_t failed;  /* how many have */
};

enum { CNO_MODIFY_AGENT, CNO_WAIT, CNO_FREE, EVD_ENABLE, EVD_FREE, EP_FREE, EP_POST_RDMA_WRITE, CALLS };

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
		if (calls[which].late)                                   \
			real(__VA_ARGS__);                               \
		return calls[which].code;                                \
	} while (0)

struct agent {
	void *instance_data;
	void *function;
};

uint32_t dat_cno_modify_agent(void *cno, struct agent agent);
uint32_t dat_cno_wait(void *cno, uint32_t timeout, void **evd);
uint32_t dat_cno_free(void *cno);
uint32_t dat_evd_enable(void *evd);
uint32_t dat_evd_disable(void *evd);
uint32_t dat_evd_free(void *evd);
uint32_t dat_ep_free(void *ep);
uint32_t dat_ep_post_rdma_write(void *ep, int32_t segments, void *iov, uint64_t cookie, const void *remote, int flags);

uint32_t dat_cno_modify_agent(void *cno, struct agent agent)
{
	CALL(CNO_MODIFY_AGENT, "dat_cno_modify_agent", (void *, struct agent), cno, agent);
}

uint32_t dat_cno_wait(void *cno, uint32_t timeout, void **evd)
{
	CALL(CNO_WAIT, "dat_cno_wait", (void *, uint32_t, void **), cno, timeout, evd);
}

uint32_t dat_cno_free(void *cno)
{
	CALL(CNO_FREE, "dat_cno_free", (void *), cno);
}

uint32_t dat_evd_enable(void *evd)
{
	CALL(EVD_ENABLE, "dat_evd_enable", (void *), evd);
}

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

uint32_t dat_ep_post_rdma_write(void *ep, int32_t segments, void *iov, uint64_t cookie, const void *remote, int flags)
{
	CALL(EP_POST_RDMA_WRITE, "dat_ep_post_rdma_write", (void *, int32_t, void *, uint64_t, const void *, int), ep,
	     segments, iov, cookie, remote, flags);
}
