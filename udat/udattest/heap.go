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

// NativeHeap is how many bytes the C library has handed out, with what its
// threads keep at hand. It is 0 where the C library does not tell.
func NativeHeap() int { return int(C.allocated()) }
