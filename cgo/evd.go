//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/evd.h"

#cgo noescape goudat_evd_create
#cgo noescape goudat_evd_query
#cgo nocallback goudat_evd_query
#cgo noescape goudat_evd_dequeue
#cgo nocallback goudat_evd_dequeue
#cgo noescape goudat_evd_dequeue_batch
#cgo nocallback goudat_evd_dequeue_batch
#cgo noescape goudat_evd_spin
#cgo nocallback goudat_evd_spin
#cgo nocallback goudat_evd_post_se
#cgo noescape goudat_evd_wait
#cgo nocallback goudat_evd_wait
#cgo noescape goudat_evd_wait_batch
#cgo nocallback goudat_evd_wait_batch
*/
import "C"

import (
	"time"
	"unsafe"
)

// EVDCreate creates an event dispatcher for at least minQLen events, fed by the
// streams in flags. cno may be 0.
//
//	Implements: DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
//	    IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func EVDCreate(ia IAHandle, minQLen int32, cno CNOHandle, flags EVDFlags) (EVDHandle, Return) {
	var evd C.goudat_handle
	r := C.goudat_evd_create(C.goudat_handle(ia), C.DAT_COUNT(minQLen), C.goudat_handle(cno), C.DAT_EVD_FLAGS(flags), &evd)
	return EVDHandle(evd), Return(r)
}

// EVDFree frees an event dispatcher that nothing feeds.
//
//	Implements: DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle)
func EVDFree(evd EVDHandle) Return {
	return Return(C.goudat_evd_free(C.goudat_handle(evd)))
}

// EVDQuery fills the parameters of an event dispatcher.
//
//	Implements: DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_EVD_PARAM_MASK evd_param_mask, OUT DAT_EVD_PARAM *evd_param)
func EVDQuery(evd EVDHandle, mask EVDParamMask, param *EVDParam) Return {
	return Return(C.goudat_evd_query(C.goudat_handle(evd), C.DAT_EVD_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// EVDModifyCNO attaches an event dispatcher to a CNO, or detaches it when cno is 0.
//
//	Implements: DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_CNO_HANDLE cno_handle)
func EVDModifyCNO(evd EVDHandle, cno CNOHandle) Return {
	return Return(C.goudat_evd_modify_cno(C.goudat_handle(evd), C.goudat_handle(cno)))
}

// EVDEnable lets the events of the dispatcher trigger its CNO. Those that are
// queued already do not.
//
//	Implements: DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle)
func EVDEnable(evd EVDHandle) Return {
	return Return(C.goudat_evd_enable(C.goudat_handle(evd)))
}

// EVDDisable keeps the events of the dispatcher from triggering its CNO.
//
//	Implements: DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle)
func EVDDisable(evd EVDHandle) Return {
	return Return(C.goudat_evd_disable(C.goudat_handle(evd)))
}

// EVDSetUnwaitable makes waits on the dispatcher fail, those in progress
// included.
//
//	Implements: DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func EVDSetUnwaitable(evd EVDHandle) Return {
	return Return(C.goudat_evd_set_unwaitable(C.goudat_handle(evd)))
}

// EVDClearUnwaitable allows waits on the dispatcher again.
//
//	Implements: DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func EVDClearUnwaitable(evd EVDHandle) Return {
	return Return(C.goudat_evd_clear_unwaitable(C.goudat_handle(evd)))
}

// EVDResize changes the length of the queue. With unpatched providers it never
// returns for a dispatcher of completions and corrupts the memory of any other.
//
//	Implements: DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle,
//	    IN DAT_COUNT evd_min_qlen)
func EVDResize(evd EVDHandle, minQLen int32) Return {
	return Return(C.goudat_evd_resize(C.goudat_handle(evd), C.DAT_COUNT(minQLen)))
}

// EVDPostSE posts a software event, whose number must be EventSoftware. pointer
// is the datum of the event: the library does not look at it.
//
//	Implements: DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle,
//	    IN const DAT_EVENT *event)
func EVDPostSE(evd EVDHandle, number EventNumber, pointer uint64) Return {
	return Return(C.goudat_evd_post_se(C.goudat_handle(evd), C.DAT_EVENT_NUMBER(number), C.uint64_t(pointer)))
}

// EVDWait blocks the thread until threshold events are queued, at most timeout
// microseconds, and takes one of them. It returns how many more are queued,
// also after TimeoutExpired.
//
//	Implements: DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
//	    IN DAT_COUNT threshold, OUT DAT_EVENT *event, OUT DAT_COUNT *n_more)
func EVDWait(evd EVDHandle, timeout uint32, threshold int32, event *Event) (more int32, r Return) {
	var n C.DAT_COUNT
	ret := C.goudat_evd_wait(C.goudat_handle(evd), C.DAT_TIMEOUT(timeout), C.DAT_COUNT(threshold),
		(*C.goudat_event)(unsafe.Pointer(event)), &n)
	return int32(n), Return(ret)
}

// EVDWaitBatch is EVDWait that takes up to len(events) of the events that are there
// then, in the same crossing. events must have room for threshold of them.
//
//	Implements: DAT_RETURN dat_evd_wait(...), see EVDWait
func EVDWaitBatch(evd EVDHandle, timeout uint32, threshold int32, events []Event) (int, Return) {
	var n C.int
	r := C.goudat_evd_wait_batch(C.goudat_handle(evd), C.DAT_TIMEOUT(timeout), C.DAT_COUNT(threshold),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), &n)
	return int(n), Return(r)
}

// EVDDequeue takes one event, or returns QueueEmpty.
//
//	Implements: DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event)
func EVDDequeue(evd EVDHandle, event *Event) Return {
	return Return(C.goudat_evd_dequeue(C.goudat_handle(evd), (*C.goudat_event)(unsafe.Pointer(event))))
}

// EVDDequeueBatch calls dat_evd_dequeue until events is full or a call fails,
// in one crossing. The Return is that of the last call.
//
//	Implements: DAT_RETURN dat_evd_dequeue(...), see EVDDequeue
func EVDDequeueBatch(evd EVDHandle, events []Event) (int, Return) {
	if len(events) == 0 {
		return 0, Success.Return()
	}
	var n C.int
	r := C.goudat_evd_dequeue_batch(C.goudat_handle(evd),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), &n)
	return int(n), Return(r)
}

// EVDSpin is EVDDequeueBatch that looks again and again for up to budget, in
// the same crossing, while there is no event.
func EVDSpin(evd EVDHandle, events []Event, budget time.Duration) (int, Return) {
	if len(events) == 0 {
		return 0, Success.Return()
	}
	var n C.int
	r := C.goudat_evd_spin(C.goudat_handle(evd),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), C.uint64_t(max(budget, 0)), &n)
	return int(n), Return(r)
}
