/*
 * What the loader's functions are in a program that has the native stack inside. They know the providers that are linked
 * in and load nothing: a library that is loaded would bring a second libdat2. scripts/native --static compiles this.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct symbol {
	const char *name;
	const void *address;
};

struct library {
	const char *name;
	void (*init)(void);
	pthread_once_t once;
	struct symbol symbols[5]; /* the last one is empty */
};

#define PROVIDERS(of) of(daplofa) of(daploscm) of(daploucm)

#define DECLARE(provider)                                                                          \
	extern void provider##_dapl_init(void);                                                    \
	extern const char provider##_dat_provider_init[], provider##_dat_provider_fini[];          \
	extern const char provider##_dapl_extensions[], provider##_dapl_revision[];
PROVIDERS(DECLARE)

#define LIBRARY(provider)                                                                          \
	{                                                                                          \
		"lib" #provider ".so", provider##_dapl_init, PTHREAD_ONCE_INIT,                    \
		{                                                                                  \
			{"dat_provider_init", provider##_dat_provider_init},                       \
			{"dat_provider_fini", provider##_dat_provider_fini},                       \
			{"dapl_extensions", provider##_dapl_extensions},                           \
			{"dapl_revision", provider##_dapl_revision},                               \
		}                                                                                  \
	},
static struct library providers[] = {PROVIDERS(LIBRARY)};

/* It names all drivers, and so brings them into the program. */
extern const char verbs_provider_all[];
const void *const dat_static_drivers = verbs_provider_all;

/* What can be looked up in the program itself. */
extern const char dat_ia_openv[], dat_revision[], dat_version[];
static const struct symbol own[] = {
	{"dat_ia_openv", dat_ia_openv}, {"dat_revision", dat_revision},
	{"dat_version", dat_version},	{"dat_static_ibverbs", IBVERBS_VERSION},
	{"dat_static_rdmacm", RDMACM_VERSION}, {NULL, NULL},
};

static __thread char message[256];
static __thread const char *error;

/* A path to a provider means the one that is linked in, too. */
void *dat_static_dlopen(const char *path, int mode)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;

	(void)mode;
	for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
		struct library *provider = &providers[i];
		size_t length = strlen(provider->name);

		if (strncmp(name, provider->name, length) == 0 && (name[length] == '\0' || name[length] == '.')) {
			pthread_once(&provider->once, provider->init);
			return provider;
		}
	}
	snprintf(message, sizeof message, "%s: this program loads no libraries, and has libdaplofa.so.2, libdaploscm.so.2 and libdaploucm.so.2 inside", path);
	error = message;
	return NULL;
}

int dat_static_dlclose(void *library)
{
	(void)library;
	return 0;
}

void *dat_static_dlsym(void *library, const char *name)
{
	const struct symbol *symbol = library == RTLD_DEFAULT ? own : ((struct library *)library)->symbols;

	for (; symbol->name != NULL; symbol++)
		if (strcmp(symbol->name, name) == 0)
			return (void *)symbol->address;
	snprintf(message, sizeof message, "there is no symbol %s", name);
	error = message;
	return NULL;
}

char *dat_static_dlerror(void)
{
	const char *last = error;

	error = NULL;
	return (char *)last;
}

/* All is in the program. Without /proc it is known by the name that it was called by. */
int dat_static_dladdr(const void *address, Dl_info *info)
{
	static __thread char program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

	memset(info, 0, sizeof *info);
	program[length < 0 ? 0 : length] = '\0';
	info->dli_fname = length < 0 ? program_invocation_name : program;
	info->dli_saddr = (void *)address;
	return 1;
}
