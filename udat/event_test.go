package udat

import "testing"

// Events name the endpoint that has the handle now, also if it was that of another one before.
func TestEndpointOfHandle(t *testing.T) {
	const handle = 7
	evd, first, next := &EVD{}, &EP{handle: handle}, &EP{handle: handle}
	named := func(ep *EP) {
		t.Helper()
		for range 2 { // the second time as that of the latest event
			if got := evd.endpoint(handle); got != ep {
				t.Errorf("the handle is that of %p, want %p", got, ep)
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
