/* Reading of C memory whose address the library handed out. */
#ifndef GOUDAT_MEMORY_H
#define GOUDAT_MEMORY_H

#include <stdint.h>
#include <string.h>

static inline void goudat_copy_out(uint8_t *destination, uintptr_t source, uint64_t size)
{
	memcpy(destination, (const void *)source, size);
}

#endif
