package udat

import (
	"sync"

	"github.com/goudat/goudat/cgo"
)

// endpointTable finds the endpoint that an event belongs to: a completion by the
// number in its native cookie, any other by the native handle.
type endpointTable struct {
	numberTable[EP]

	handles  sync.Mutex
	byHandle map[cgo.EPHandle]handleOwner
}

// handleOwner is the endpoint that a native handle stands for, and where its
// connection events come.
type handleOwner struct {
	ep      *EP
	connect *EVD
	queue   *connectionQueue
}

// addHandle makes events that name the handle come to the endpoint. The library
// gives a handle again once it is free: events of the one before are dropped
// first, as long as the handle is nobody's.
func (t *endpointTable) addHandle(ep *EP, handle cgo.EPHandle, connect *EVD, queue *connectionQueue) {
	queue.reap()
	ep.ia.async.tidy()
	t.handles.Lock()
	defer t.handles.Unlock()
	if t.byHandle == nil {
		t.byHandle = make(map[cgo.EPHandle]handleOwner)
	}
	t.byHandle[handle] = handleOwner{ep, connect, queue}
}

func (t *endpointTable) removeHandle(handle cgo.EPHandle) {
	t.handles.Lock()
	defer t.handles.Unlock()
	delete(t.byHandle, handle)
}

func (t *endpointTable) withHandle(handle cgo.EPHandle) *EP {
	t.handles.Lock()
	defer t.handles.Unlock()
	return t.byHandle[handle].ep
}

// connecting returns the endpoint that a connection event belongs to and its
// connect EVD, nil if the event is of one that is freed: on another queue than its
// own, an endpoint's handle is that of the one that had it before. The caller holds
// handles until the event has got there: nothing is freed before.
func (t *endpointTable) connecting(handle cgo.EPHandle, on *EVD) (ep *EP, connect *EVD) {
	if owner := t.byHandle[handle]; owner.ep != nil && owner.queue.evd == on {
		return owner.ep, owner.connect
	}
	return nil, nil
}
