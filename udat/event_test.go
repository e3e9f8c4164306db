package udat

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// Events name the endpoint that has the handle now, also if it was that of another one before.
func TestEndpointOfHandle(t *testing.T) {
	const handle = 7
	evd, first, next := &EVD{ia: &IA{}}, &EP{handle: handle}, &EP{handle: handle}
	var raw [1]cgo.Event
	raw[0].Number, raw[0].DTO().EPHandle = cgo.EventDTOCompletion, handle
	named := func(ep *EP) {
		t.Helper()
		for range 2 { // the second time as that of the latest event
			var events [1]Event
			if evd.decode(events[:], raw[:]); events[0].EP() != ep {
				t.Errorf("the handle is that of %p, want %p", events[0].EP(), ep)
			}
		}
	}
	named(nil)
	_ = evd.join("", first, nil)
	named(first)
	_ = evd.join("", next, nil) // the library gives a handle out again before the endpoint that had it has left
	evd.leave(first)
	named(next)
	evd.leave(next)
	named(nil)
}
