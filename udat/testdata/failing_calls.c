/*
 * Calls of the native library that fail when a test wants them to. Preloaded, it comes before the library. The test says
 * how many of the next calls are to fail in the file that UDAT_TEST_FAILING_CALLS names, which both have in memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As failingCalls in failing_calls_test.go. */
enum { EVD_FREE, EP_FREE, PSP_FREE, CALLS };

static int32_t *failing;

__attribute__((constructor)) static void map_calls(void)
{
	const char *name = getenv("UDAT_TEST_FAILING_CALLS");
	int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		abort();
	memory = mmap(NULL, CALLS * sizeof(*failing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		abort();
	close(fd);
	failing = memory;
}

/* Returns DAT_ERROR(DAT_INTERNAL_ERROR, 0), or what the library does. Only the test's thread makes calls that fail. */
static uint32_t call(int which, const char *name, void *object)
{
	uint32_t (*real)(void *) = (uint32_t (*)(void *))dlsym(RTLD_NEXT, name);

	if (__atomic_load_n(&failing[which], __ATOMIC_SEQ_CST) == 0)
		return real(object);
	__atomic_sub_fetch(&failing[which], 1, __ATOMIC_SEQ_CST);
	return 0x80040000;
}

uint32_t dat_evd_disable(void *evd);
uint32_t dat_evd_free(void *evd);
uint32_t dat_ep_free(void *ep);
uint32_t dat_psp_free(void *psp);

uint32_t dat_evd_free(void *evd)
{
	if (__atomic_load_n(&failing[EVD_FREE], __ATOMIC_SEQ_CST) > 0)
		dat_evd_disable(evd); /* as the library does before it fails */
	return call(EVD_FREE, "dat_evd_free", evd);
}

uint32_t dat_ep_free(void *ep)
{
	return call(EP_FREE, "dat_ep_free", ep);
}

uint32_t dat_psp_free(void *psp)
{
	return call(PSP_FREE, "dat_psp_free", psp);
}
