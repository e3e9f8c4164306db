//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/cno.h"

#cgo noescape goudat_cno_create
#cgo noescape goudat_cno_query
#cgo noescape goudat_cno_wait
#cgo noescape goudat_cno_fd_create
#cgo noescape goudat_cno_trigger
#cgo nocallback goudat_cno_trigger
*/
import "C"

import "unsafe"

// CNOCreate creates a notification object with a wait-proxy agent, a C function
// and its instance data, both 0 for none. The agent is called for one
// notification only, and must not enter Go: calls that take events or post to an
// EVD are marked as nocallback, and may call it.
//
//	Implements: DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent, OUT DAT_CNO_HANDLE *cno_handle)
func CNOCreate(ia IAHandle, agentInstance, agentFunc uintptr) (CNOHandle, Return) {
	var cno C.goudat_handle
	r := C.goudat_cno_create(C.goudat_handle(ia), C.uintptr_t(agentInstance), C.uintptr_t(agentFunc), &cno)
	return CNOHandle(cno), Return(r)
}

// CNOFree frees a notification object that no EVD uses.
//
//	Implements: DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle)
func CNOFree(cno CNOHandle) Return {
	return Return(C.goudat_cno_free(C.goudat_handle(cno)))
}

// CNOModifyAgent replaces the wait-proxy agent.
//
//	Implements: DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_OS_WAIT_PROXY_AGENT agent)
func CNOModifyAgent(cno CNOHandle, agentInstance, agentFunc uintptr) Return {
	return Return(C.goudat_cno_modify_agent(C.goudat_handle(cno), C.uintptr_t(agentInstance), C.uintptr_t(agentFunc)))
}

// CNOQuery fills the parameters of a notification object, whatever mask says.
//
//	Implements: DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
//	    IN DAT_CNO_PARAM_MASK cno_param_mask, OUT DAT_CNO_PARAM *cno_param)
func CNOQuery(cno CNOHandle, mask CNOParamMask, param *CNOParam) Return {
	return Return(C.goudat_cno_query(C.goudat_handle(cno), C.DAT_CNO_PARAM_MASK(mask), unsafe.Pointer(param)))
}

// CNOWait blocks the thread until an EVD triggers the object, at most timeout
// microseconds, and returns the first EVD that did. After a time-out it returns
// QueueEmpty.
//
//	Implements: DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func CNOWait(cno CNOHandle, timeout uint32) (EVDHandle, Return) {
	var evd C.goudat_handle
	r := C.goudat_cno_wait(C.goudat_handle(cno), C.DAT_TIMEOUT(timeout), &evd)
	return EVDHandle(evd), Return(r)
}

// CNOFDCreate creates a notification object with a file descriptor, which is
// readable while EVDs have triggered the object. CNOFree closes the descriptor. It
// returns ModelNotSupported with the unpatched library.
//
//	Implements: DAT_RETURN dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_FD *file_descriptor, OUT DAT_CNO_HANDLE *cno_handle)
func CNOFDCreate(ia IAHandle) (cno CNOHandle, fd int, ret Return) {
	var handle C.goudat_handle
	descriptor := C.DAT_FD(-1)
	r := C.goudat_cno_fd_create(C.goudat_handle(ia), &descriptor, &handle)
	return CNOHandle(handle), int(descriptor), Return(r)
}

// CNOTrigger takes the EVD that has triggered a notification object before others,
// or returns QueueEmpty. The EVD is 0 if the object was triggered without one. It
// returns ModelNotSupported with the unpatched library.
//
//	Implements: DAT_RETURN dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
//	    OUT DAT_EVD_HANDLE *evd_handle)
func CNOTrigger(cno CNOHandle) (EVDHandle, Return) {
	var evd C.goudat_handle
	r := C.goudat_cno_trigger(C.goudat_handle(cno), &evd)
	return EVDHandle(evd), Return(r)
}
