package cgo

/*
#include "goudat/evd.h"

#cgo noescape goudat_evd_create
#cgo noescape goudat_evd_query
#cgo noescape goudat_evd_dequeue
#cgo nocallback goudat_evd_dequeue
#cgo noescape goudat_evd_dequeue_batch
#cgo nocallback goudat_evd_dequeue_batch
*/
import "C"

import "unsafe"

// EVDCreate creates an event dispatcher for at least minQLen events, fed by the
// streams in flags. cno may be 0.
//
// Implements:
//
//	DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_COUNT evd_min_qlen,
//	                          IN DAT_CNO_HANDLE cno_handle,
//	                          IN DAT_EVD_FLAGS evd_flags,
//	                          OUT DAT_EVD_HANDLE *evd_handle)
func EVDCreate(ia IAHandle, minQLen int32, cno CNOHandle, flags EVDFlags) (EVDHandle, Return) {
	var evd C.goudat_handle
	r := C.goudat_evd_create(C.goudat_handle(ia), C.DAT_COUNT(minQLen), C.goudat_handle(cno), C.DAT_EVD_FLAGS(flags), &evd)
	return EVDHandle(evd), Return(r)
}

// EVDFree frees an event dispatcher that nothing feeds.
//
// Implements:
//
//	DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle)
func EVDFree(evd EVDHandle) Return {
	return Return(C.goudat_evd_free(C.goudat_handle(evd)))
}

// EVDQuery fills the parameters of an event dispatcher.
//
// Implements:
//
//	DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
//	                         IN DAT_EVD_PARAM_MASK evd_param_mask,
//	                         OUT DAT_EVD_PARAM *evd_param)
func EVDQuery(evd EVDHandle, mask EVDParamMask, param *EVDParam) Return {
	return Return(C.goudat_evd_query(C.goudat_handle(evd), C.DAT_EVD_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// EVDModifyCNO attaches an event dispatcher to a CNO, or detaches it when cno is 0.
//
// Implements:
//
//	DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
//	                              IN DAT_CNO_HANDLE cno_handle)
func EVDModifyCNO(evd EVDHandle, cno CNOHandle) Return {
	return Return(C.goudat_evd_modify_cno(C.goudat_handle(evd), C.goudat_handle(cno)))
}

// EVDEnable lets the events of the dispatcher trigger its CNO. Those that are
// queued already do not.
//
// Implements:
//
//	DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle)
func EVDEnable(evd EVDHandle) Return {
	return Return(C.goudat_evd_enable(C.goudat_handle(evd)))
}

// EVDDisable keeps the events of the dispatcher from triggering its CNO.
//
// Implements:
//
//	DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle)
func EVDDisable(evd EVDHandle) Return {
	return Return(C.goudat_evd_disable(C.goudat_handle(evd)))
}

// EVDDequeue takes one event, or returns QueueEmpty.
//
// Implements:
//
//	DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle,
//	                           OUT DAT_EVENT *event)
func EVDDequeue(evd EVDHandle, event *Event) Return {
	return Return(C.goudat_evd_dequeue(C.goudat_handle(evd), (*C.goudat_event)(unsafe.Pointer(event))))
}

// EVDDequeueBatch calls dat_evd_dequeue until events is full or a call fails,
// in one crossing. The Return is that of the last call.
func EVDDequeueBatch(evd EVDHandle, events []Event) (int, Return) {
	if len(events) == 0 {
		return 0, Success.Return()
	}
	var n C.int
	r := C.goudat_evd_dequeue_batch(C.goudat_handle(evd),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), &n)
	return int(n), Return(r)
}
