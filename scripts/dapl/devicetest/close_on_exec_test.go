//go:build linux

package devicetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// watchedOpens appends to a file what the native stack opens in a way that a child may inherit. What becomes
// close-on-exec a moment later counts, too.
const watchedOpens = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void check(int closes, const char *call, void *caller)
{
	static const char *const names[] = { "/libdat2", "/libdapl", "/libibverbs", "/librdmacm", "-rdmav", "/libnl" };
	const char *file = getenv("DEVICETEST_FAIL");
	Dl_info info;
	char line[256];
	size_t i;

	if (closes || file == NULL || !dladdr(caller, &info))
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(info.dli_fname, names[i]) != NULL) {
			int fd = REAL(open)(file, O_WRONLY | O_APPEND | O_CLOEXEC);
			int n = snprintf(line, sizeof(line), "%s in %s\n", call, info.dli_fname);

			if (write(fd, line, n) != n)
				abort();
			close(fd);
			return;
		}
}

#define CHECK(closes, call) check((closes) != 0, call, __builtin_return_address(0))

int socket(int domain, int type, int protocol)
{
	CHECK(type & SOCK_CLOEXEC, "socket");
	return REAL(socket)(domain, type, protocol);
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	CHECK(0, "accept");
	return REAL(accept)(fd, address, length);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	CHECK(flags & SOCK_CLOEXEC, "accept4");
	return REAL(accept4)(fd, address, length, flags);
}

int pipe(int fds[2])
{
	CHECK(0, "pipe");
	return REAL(pipe)(fds);
}

int pipe2(int fds[2], int flags)
{
	CHECK(flags & O_CLOEXEC, "pipe2");
	return REAL(pipe2)(fds, flags);
}

int dup(int fd)
{
	CHECK(0, "dup");
	return REAL(dup)(fd);
}

FILE *fopen(const char *path, const char *mode)
{
	CHECK(strchr(mode, 'e') != NULL, path);
	return REAL(fopen)(path, mode);
}

int open(const char *path, int flags, ...)
{
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = va_arg(rest, int);
	va_end(rest);
	CHECK(flags & O_CLOEXEC, path);
	return REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = va_arg(rest, int);
	va_end(rest);
	CHECK(flags & O_CLOEXEC, path);
	return REAL(openat)(folder, path, flags, mode);
}
`

var fileFlags = regexp.MustCompile(`(?m)^flags:\s*([0-7]+)$`)

// inherited lists the open files that a child inherits that runs another program.
func inherited(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, entry := range entries {
		text, err := os.ReadFile("/proc/self/fdinfo/" + entry.Name())
		if err != nil {
			continue // that of the folder
		}
		m := fileFlags.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no flags", text)
		}
		flags, err := strconv.ParseUint(string(m[1]), 8, 64)
		if err != nil {
			t.Fatal(err)
		}
		if flags&syscall.O_CLOEXEC == 0 {
			target, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			files[fmt.Sprintf("%s (%s)", entry.Name(), target)] = true
		}
	}
	return files
}

// A child that runs another program inherits none of the native stack's files, whenever it starts.
func TestCloseOnExec(t *testing.T) {
	file := os.Getenv(failVariable)
	if file == "" {
		library := buildPreload(t, watchedOpens)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "opens")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				runWith(t, library, "^TestCloseOnExec$", failVariable+"="+file, "UDAT_TEST_IA="+name)
				opens, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if len(opens) > 0 {
					t.Errorf("a child may inherit\n%s", opens)
				}
			})
		}
		return
	}
	watch(t)
	before := inherited(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		bareAttr := endpointAttr()
		bareAttr.MaxRecvDTOs, bareAttr.MaxRecvIOV, bareAttr.MaxRequestDTOs, bareAttr.MaxRequestIOV = 0, 0, 0, 0
		ep, r := cgo.EPCreate(a.IAHandle, active.pz, 0, 0, 0, bareAttr)
		success(t, "EPCreate", r)
		t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(ep)) })
		a.connect(t, l, active, passive, nil)
		direct, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO) // which has a channel of its own
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(direct)) })
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for f := range inherited(t) {
			if !before[f] {
				t.Errorf("a child inherits %s of %d open files", f, len(files))
			}
		}
	})
}
