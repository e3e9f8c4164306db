package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
	"github.com/goudat/goudat/udat/internal/numbers"
)

// endpointTable finds the endpoint that an event belongs to: a completion by the
// number in its native cookie, any other by the native handle.
type endpointTable struct {
	numbers.Table[nativeEP]

	handles  lockorder.Mutex[lockorder.Last]
	byHandle map[cgo.EPHandle]*nativeEP
}

// addHandle has events that name the handle come to the endpoint. The library uses the
// handle of a freed endpoint again. So addHandle first drops the events of the former
// endpoint, while no endpoint has the handle.
func (t *endpointTable) addHandle(n *nativeEP) {
	n.parts.queue.reap()
	n.ep.ia.async.reap()
	t.handles.Lock()
	defer t.handles.Unlock()
	if t.byHandle == nil {
		t.byHandle = make(map[cgo.EPHandle]*nativeEP)
	}
	t.byHandle[n.handle] = n
}

func (t *endpointTable) removeHandle(handle cgo.EPHandle) {
	t.handles.Lock()
	defer t.handles.Unlock()
	delete(t.byHandle, handle)
}

func (t *endpointTable) withHandle(handle cgo.EPHandle) *nativeEP {
	t.handles.Lock()
	defer t.handles.Unlock()
	return t.byHandle[handle]
}

// connecting returns the native endpoint that a connection event in the queue on belongs
// to, nil if there is none, and a copy of the event's private data, which lies in the
// endpoint's memory. Another endpoint may have the handle by now, but not one with the same
// queue: that was emptied in between.
func (t *endpointTable) connecting(data *cgo.ConnectionEventData, on *EVD) (n *nativeEP, privateData []byte) {
	t.handles.Lock()
	defer t.handles.Unlock()
	n = t.byHandle[data.EPHandle]
	if n == nil || n.parts.queue.evd != on {
		return nil, nil
	}
	if data.PrivateData != 0 && data.PrivateDataSize > 0 {
		privateData = make([]byte, data.PrivateDataSize)
		cgo.CopyOut(privateData, data.PrivateData)
	}
	return n, privateData
}
