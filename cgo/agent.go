//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/agent.h"

#cgo noescape goudat_agent_queue_take
#cgo nocallback goudat_agent_queue_take
#cgo noescape goudat_evd_arm
#cgo nocallback goudat_evd_arm
#cgo noescape goudat_evd_leave_seat
#cgo nocallback goudat_evd_leave_seat
*/
import "C"

import (
	"time"
	"unsafe"
)

// AgentQueue collects the notifications of many CNOs behind one eventfd; it
// lives in C memory. See include/goudat/agent.h for how the parts play together.
type AgentQueue uintptr

// Agent is the wait-proxy agent of one CNO; it lives in C memory.
type Agent uintptr

// These do not compile if the constants differ from the header's.
var (
	_ = [1]struct{}{}[NoSeat-C.GOUDAT_NO_SEAT]
	_ = [1]struct{}{}[SameSeat-C.GOUDAT_SAME_SEAT]
)

// NewAgentQueue makes a queue whose notifications make eventfd readable. It
// returns 0 if there is no memory. The descriptor must outlive the queue.
func NewAgentQueue(eventfd int) AgentQueue {
	return AgentQueue(C.goudat_agent_queue_create(C.int(eventfd)))
}

// Free frees a queue that has no agents.
func (q AgentQueue) Free() { C.goudat_agent_queue_free(C.uintptr_t(q)) }

// Take returns the identifiers of up to len(ids) agents that were called since
// the last Take, and how long ago the first call was.
func (q AgentQueue) Take(ids []uint64) (n int, age time.Duration) {
	if len(ids) == 0 {
		return 0, 0
	}
	var ns C.uint64_t
	taken := C.goudat_agent_queue_take(C.uintptr_t(q), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(ids))), C.int(len(ids)), &ns)
	return int(taken), time.Duration(ns)
}

// NewAgent makes an agent that reports to the queue under id. It returns 0 if
// there is no memory.
func (q AgentQueue) NewAgent(id uint64) Agent {
	return Agent(C.goudat_agent_create(C.uintptr_t(q), C.uint64_t(id)))
}

// Free frees an agent whose CNO is freed.
func (a Agent) Free() { C.goudat_agent_free(C.uintptr_t(a)) }

// AgentFunc returns the C function that a CNO is to call with an Agent as instance data. It never
// enters Go, which no function of a CNO may: calls that take events, arm an EVD or post to one are
// marked as nocallback, and may call it.
func AgentFunc() uintptr { return uintptr(C.goudat_agent_func()) }

// Disarm says that the agent may not be called for the next event of its EVD, unless
// EVDArm comes before that event. The agent does not use its seat any more.
func (a Agent) Disarm() { C.goudat_agent_disarm(C.uintptr_t(a)) }

// EVDArm makes sure that the next event of the EVD calls the agent, and then
// takes up to len(events) events that are there already. The EVD must feed the
// CNO alone, and the CNO must have been created with the agent.
//
// The agent keeps the seat until it has used it, until EVDLeaveSeat, or until it is
// given NoSeat.
//
// If armed is false, the Return says why, no event was taken, and the next
// EVDArm tries again. Otherwise the Return is that of the last dat_evd_dequeue.
func EVDArm(evd EVDHandle, cno CNOHandle, agent Agent, seat Seat, events []Event) (n int, armed bool, r Return) {
	var count C.int
	var done C.bool
	ret := C.goudat_evd_arm(C.goudat_handle(evd), C.goudat_handle(cno), C.uintptr_t(agent), C.int(seat),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), &count, &done)
	return int(count), bool(done), Return(ret)
}

// EVDLeaveSeat is EVDDequeueBatch for a goroutine that has waited on the seat that it gave
// EVDArm. The agent does not use the seat any more. age is how long ago the agent was
// called, 0 if it was not.
func EVDLeaveSeat(evd EVDHandle, agent Agent, events []Event) (n int, age time.Duration, r Return) {
	var count C.int
	var ns C.uint64_t
	ret := C.goudat_evd_leave_seat(C.goudat_handle(evd), C.uintptr_t(agent),
		(*C.goudat_event)(unsafe.Pointer(unsafe.SliceData(events))), C.int(len(events)), &count, &ns)
	return int(count), time.Duration(ns), Return(ret)
}
