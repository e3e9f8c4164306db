package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// refusingListen makes the system refuse listeners while a file exists.
const refusingListen = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int exists(const char *ending)
{
	const char *file = getenv("DEVICETEST_REFUSE");
	char name[4096];

	snprintf(name, sizeof name, "%s%s", file ? file : "", ending);
	return access(name, F_OK) == 0;
}

static int refuses(void)
{
	return exists("");
}

/* The address has gone, or somebody listens on all addresses. */
int rdma_bind_addr(void *id, struct sockaddr_in *address);
int rdma_bind_addr(void *id, struct sockaddr_in *address)
{
	int (*real)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "rdma_bind_addr");

	if (exists(".address") || (exists(".port") && address->sin_port != 0)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	return real(id, address);
}

int listen(int fd, int backlog)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");

	if (refuses()) {
		errno = ENOMEM;
		return -1;
	}
	return real(fd, backlog);
}

int rdma_listen(void *id, int backlog);
int rdma_listen(void *id, int backlog)
{
	int (*real)(void *, int) = (int (*)(void *, int))dlsym(RTLD_NEXT, "rdma_listen");

	if (refuses()) {
		errno = ENOMEM;
		return -1;
	}
	return real(id, backlog);
}
`

// The search for a free qualifier ends with the first error that another qualifier does not cure.
func TestPSPCreateAnyFails(t *testing.T) {
	file := withFile(t, refusingListen, refuseVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		while := func(file string, call func()) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			call()
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		while(file, func() {
			if _, _, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer); r.OK() || r.Type() == cgo.ConnQualUnavailable {
				t.Errorf("PSPCreateAny returned %v without a listener", r)
			}
		})
		if !isSocketCM(a) {
			while(file+".address", func() {
				_, _, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
				outcome(t, "PSPCreateAny", r, cgo.InvalidAddress, cgo.NoSubtype)
			})
			while(file+".port", func() {
				_, r := cgo.PSPCreate(a.IAHandle, uint64(udattest.ConnQual()), requests.EVDHandle, cgo.PSPConsumer)
				outcome(t, "PSPCreate", r, cgo.ConnQualInUse, cgo.NoSubtype)
			})
		}
		a.connectedPair(t)
	})
}
