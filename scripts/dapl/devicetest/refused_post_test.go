package devicetest

import (
	"os"
	"slices"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// tooMany are more segments than any adapter takes.
func (m *memory) tooMany() []cgo.LMRTriplet {
	return slices.Repeat([]cgo.LMRTriplet{m.local(0, 1)}, 1000)
}

func wantRefused(t *testing.T, call string, r cgo.Return) {
	t.Helper()
	if r.OK() {
		t.Fatalf("%s has succeeded", call)
	}
}

// Operations in flight keep their cookies when later posts are refused, and still count as outstanding.
func TestRefusedPostKeepsCookies(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		most := uint64(endpointAttr().MaxRecvDTOs)
		for cookie := range most {
			passive.postRecv(t, cookie)
			active.postRecv(t, cookie)
			wantRefused(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		active.wantIdle(t, false, true)
		r := cgo.EPPostRecv(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, most, cgo.CompletionDefault)
		outcome(t, "EPPostRecv beyond the queue", r, cgo.InsufficientResources, cgo.ResourceMemory)

		for cookie := range most {
			r := cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, cookie, cgo.CompletionDefault)
			success(t, "EPPostSend", r)
			wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		for cookie := range most {
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		disconnect(t, active, passive)
		for cookie := range most {
			active.recv.expectFlushed(t, cookie)
		}
		active.recv.empty(t)
	})
}

// failingCall lets the call into the kernel fail that follows a post, while a file exists, although the operation is
// in the queue already.
const failingCall = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { post_send = 28 };

ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	const char *file = getenv("DEVICETEST_FAIL");
	ssize_t ret = real(fd, buf, n);

	if (ret > (ssize_t)sizeof(uint32_t) && *(const uint32_t *)buf == post_send && file != NULL && access(file, F_OK) == 0) {
		errno = EIO;
		return -1;
	}
	return ret;
}
`

// failVariable names the file that makes calls fail.
const failVariable = "DEVICETEST_FAIL"

// A post that has failed does not complete, even if the adapter performs the operation, and the next one completes once.
func TestRefusedPostCompletesNot(t *testing.T) {
	file := withFile(t, failingCall, failVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		refusePost(t, a, file, false)
		refusePost(t, a, file, true)
	})
}

// refusePost has a post fail, before another one or the end of the connection.
func refusePost(t *testing.T, a *adapter, file string, another bool) {
	active, passive := a.connectedPair(t)
	for cookie := range uint64(3) {
		passive.postRecv(t, cookie)
	}
	segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
	success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 0, cgo.CompletionDefault))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 1, cgo.CompletionDefault))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	active.wantIdle(t, true, false) // the one before keeps its cookie
	active.request.completion(t, cgo.EventDTOCompletion, 0)
	performed := uint64(2)
	if another {
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 2, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 2)
		performed++
	}
	for cookie := range performed {
		passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
	}
	disconnect(t, active, passive) // which takes the last completions
	active.request.empty(t)
}
