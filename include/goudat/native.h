/* The native uDAPL headers, or one line that says how to get them. */
#ifndef GOUDAT_NATIVE_H
#define GOUDAT_NATIVE_H

#if !defined(__has_include)
#include <dat2/udat.h>
#elif __has_include(<dat2/udat.h>)
#include <dat2/udat.h>
#else
#error "goudat needs the uDAPL headers (dat2/udat.h): where there is a package, install libdapl-dev (apt-get install libdapl-dev); elsewhere, as on Debian 13, build them with scripts/native of goudat, and set CGO_CFLAGS=-I<prefix>/include CGO_LDFLAGS=-L<prefix>/lib by \". ~/.local/share/goudat/release/env\""
#include "goudat: stopped, see the line above"
#endif

#include <errno.h>
#include <stdint.h>

/*
 * Handles cross from Go as integers, never as pointers: an interface adapter's
 * handle is a small number that Go's runtime refuses to hold in a pointer, and
 * a stale handle in a pointer variable can make the garbage collector stop the
 * program. This is why each call needs a shim.
 */
typedef uintptr_t goudat_handle;

#endif
