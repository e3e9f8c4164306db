/* Provider libraries: loading them, and the two functions that each of them exports. */
#ifndef GOUDAT_PROVIDER_H
#define GOUDAT_PROVIDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, dlinfo */
#endif
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "native.h"

#include <dat2/dat_registry.h>

/*
 * Loads a library for the life of the process, since a provider's threads may still run its code when the last
 * reference is dropped. On failure it returns 0 and the loader's message in the same call: dlerror is per thread.
 */
static inline goudat_handle goudat_dlopen(const char *path, char *message, size_t size)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (library == NULL) {
		const char *error = dlerror();

		snprintf(message, size, "%s", error != NULL ? error : "");
	}
	return (goudat_handle)library;
}

static inline void goudat_dlclose(goudat_handle library)
{
	dlclose((void *)library);
}

static inline int goudat_is_provider(goudat_handle library)
{
	return dlsym((void *)library, DAT_PROVIDER_INIT_FUNC_STR) != NULL &&
	       dlsym((void *)library, DAT_PROVIDER_FINI_FUNC_STR) != NULL;
}

/* What a library exports, or with 0 for the library, what any does that the program was linked with (RTLD_DEFAULT). */
static inline int goudat_number(goudat_handle library, const char *symbol)
{
	const int *number = dlsym((void *)library, symbol);

	return number == NULL ? 0 : *number;
}

static inline const char *goudat_text(goudat_handle library, const char *symbol)
{
	const char *text = dlsym((void *)library, symbol);

	return text == NULL ? "" : text;
}

/* The path of the file that has the symbol, as the loader keeps it. */
static inline const char *goudat_file(goudat_handle library, const char *symbol)
{
	const void *address = dlsym((void *)library, symbol);
	Dl_info info;

	return address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL ? "" : info.dli_fname;
}

/* The folders in which the loader looks for what this program was linked with, as the linker has kept them. */
static inline const char *goudat_run_path(void)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	const char *strings = NULL;
	size_t path = 0; /* in strings, which begin with an empty one */
	struct link_map *map;
	const ElfW(Dyn) *entry;

	if (program == NULL || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0 || map->l_ld == NULL)
		return "";
	for (entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_RUNPATH)
			path = entry->d_un.d_val;
	}
	if (strings == NULL)
		return "";
	if ((uintptr_t)strings < map->l_addr) /* as in the file: not all loaders have relocated it */
		strings += map->l_addr;
	return strings + path;
}

static inline void *goudat_no_work(void *argument)
{
	return argument;
}

/* Begins a thread that ends at once. Returns 0 or the error number. */
static inline int goudat_try_thread(void)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, goudat_no_work, NULL);

	return error ? error : pthread_join(thread, NULL);
}

static inline void goudat_provider_init(goudat_handle library, const void *info,
					const char *instance_data)
{
	DAT_PROVIDER_INIT_FUNC init =
		(DAT_PROVIDER_INIT_FUNC)dlsym((void *)library, DAT_PROVIDER_INIT_FUNC_STR);

	init(info, instance_data);
}

static inline void goudat_provider_fini(goudat_handle library, const void *info)
{
	DAT_PROVIDER_FINI_FUNC fini =
		(DAT_PROVIDER_FINI_FUNC)dlsym((void *)library, DAT_PROVIDER_FINI_FUNC_STR);

	fini(info);
}

/*
 * The dynamic registry cannot be listed. Adding an entry again shows whether it is there.
 */
static inline int goudat_registry_knows(const void *info)
{
	static const DAT_PROVIDER nobody;

	if (dat_registry_add_provider(&nobody, info) != DAT_SUCCESS)
		return 1;
	dat_registry_remove_provider(&nobody, info);
	return 0;
}

#endif
