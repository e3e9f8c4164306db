/* How the programs in C that measure end, and their clock. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>

#include <dat2/udat.h>

/* Says why, under the name of the program, and ends the process at once. */
_Noreturn void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
void must(const char *call, DAT_RETURN ret);

uint64_t now_ns(void);

#endif
