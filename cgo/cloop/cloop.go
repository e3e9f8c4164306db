//go:build linux && !(386 || arm || mips || mipsle)

package cloop

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo pkg-config: goudat

#include "goudat/dto.h"
#include "goudat/ep.h"
#include "goudat/evd.h"
#include "goudat/lmr.h"

// A function that the compiler must call in the loop below.
static __attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }

static void loop_nothing(int n)
{
	while (n-- > 0)
		nothing();
}

static int loop_look(const unsigned char *byte, unsigned char value, int n)
{
	while (n-- > 0)
		if (__atomic_load_n(byte, __ATOMIC_ACQUIRE) == value)
			return 1;
	return 0;
}

static DAT_RETURN loop_get_status(goudat_handle ep, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;

	while (n-- > 0 && ret == DAT_SUCCESS)
		ret = dat_ep_get_status((DAT_EP_HANDLE)ep, &state, &recv_idle, &request_idle);
	return ret;
}

static DAT_RETURN loop_ep_query(goudat_handle ep, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_PARAM param;

	while (n-- > 0 && ret == DAT_SUCCESS)
		ret = dat_ep_query((DAT_EP_HANDLE)ep, DAT_EP_FIELD_ALL, &param);
	return ret;
}

static DAT_RETURN loop_lmr_query(goudat_handle lmr, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_PARAM param;

	while (n-- > 0 && ret == DAT_SUCCESS)
		ret = dat_lmr_query((DAT_LMR_HANDLE)lmr, DAT_LMR_FIELD_ALL, &param);
	return ret;
}

static DAT_RETURN loop_dequeue_empty(goudat_handle evd, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;

	while (n-- > 0) {
		ret = dat_evd_dequeue((DAT_EVD_HANDLE)evd, &event);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			return ret == DAT_SUCCESS ? DAT_INTERNAL_ERROR : ret;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN loop_dequeue(goudat_handle evd, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;

	while (n-- > 0 && ret == DAT_SUCCESS)
		ret = dat_evd_dequeue((DAT_EVD_HANDLE)evd, &event);
	return ret;
}

static DAT_RETURN loop_software_event(goudat_handle evd, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	while (n-- > 0 && ret == DAT_SUCCESS) {
		ret = dat_evd_post_se((DAT_EVD_HANDLE)evd, &event);
		if (ret == DAT_SUCCESS)
			ret = dat_evd_dequeue((DAT_EVD_HANDLE)evd, &event);
	}
	return ret;
}

static DAT_RETURN loop_post_recv(goudat_handle ep, void *segment, uint64_t cookie, int n)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (n-- > 0 && ret == DAT_SUCCESS)
		ret = dat_ep_post_recv((DAT_EP_HANDLE)ep, 1, segment, goudat_dto_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
	return ret;
}
*/
import "C"

import (
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

// Nothing calls a C function that does nothing, n times.
func Nothing(n int) { C.loop_nothing(C.int(n)) }

// CallNothing is one crossing into C, and nothing else.
func CallNothing() { C.nothing() }

// Look looks up to n times whether a byte is value, and reports whether it is.
func Look(b *byte, value byte, n int) bool {
	return C.loop_look((*C.uchar)(b), C.uchar(value), C.int(n)) != 0
}

// EPGetStatus asks for the status n times, or until that fails.
func EPGetStatus(ep cgo.EPHandle, n int) cgo.Return {
	return cgo.Return(C.loop_get_status(C.goudat_handle(ep), C.int(n)))
}

// EPQuery asks for all parameters n times, or until that fails.
func EPQuery(ep cgo.EPHandle, n int) cgo.Return {
	return cgo.Return(C.loop_ep_query(C.goudat_handle(ep), C.int(n)))
}

// LMRQuery asks for all parameters n times, or until that fails.
func LMRQuery(lmr cgo.LMRHandle, n int) cgo.Return {
	return cgo.Return(C.loop_lmr_query(C.goudat_handle(lmr), C.int(n)))
}

// EVDDequeueEmpty polls an empty EVD n times.
func EVDDequeueEmpty(evd cgo.EVDHandle, n int) cgo.Return {
	return cgo.Return(C.loop_dequeue_empty(C.goudat_handle(evd), C.int(n)))
}

// EVDDequeue takes n events, which must be queued.
func EVDDequeue(evd cgo.EVDHandle, n int) cgo.Return {
	return cgo.Return(C.loop_dequeue(C.goudat_handle(evd), C.int(n)))
}

// SoftwareEvent posts a software event and takes it, n times or until that fails.
func SoftwareEvent(evd cgo.EVDHandle, n int) cgo.Return {
	return cgo.Return(C.loop_software_event(C.goudat_handle(evd), C.int(n)))
}

// EPPostRecv posts a receive n times, or until that fails.
func EPPostRecv(ep cgo.EPHandle, segment *cgo.LMRTriplet, cookie uint64, n int) cgo.Return {
	return cgo.Return(C.loop_post_recv(C.goudat_handle(ep), unsafe.Pointer(segment), C.uint64_t(cookie), C.int(n)))
}
