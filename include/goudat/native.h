/* The native uDAPL headers. */
#ifndef GOUDAT_NATIVE_H
#define GOUDAT_NATIVE_H

#include <dat2/udat.h>
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
