//go:build linux && !(386 || arm || mips || mipsle)

package udattest

/*
#include <malloc.h>

static size_t allocated(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}
*/
import "C"

// NativeHeap returns how many bytes the C library has handed out, including the caches of its
// threads. It returns 0 if the C library does not report it.
func NativeHeap() int { return int(C.allocated()) }
