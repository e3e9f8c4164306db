package udat

import (
	"context"
	"errors"
	"net/netip"
)

// ConnectAndWait calls Connect and waits for the outcome on the connect EVD. No other endpoint or
// wait may use that EVD meanwhile. ConnectAndWait returns the private data of the peer's answer. If
// there is no connection, the error is an *EventError; Reset the endpoint before it connects again.
// If ctx ends first, ConnectAndWait disconnects the endpoint abruptly and returns the context's
// error. The event of that follows on the connect EVD.
func (ep *EP) ConnectAndWait(ctx context.Context, remote netip.Addr, qual ConnQual, privateData []byte) ([]byte, error) {
	if err := ep.Connect(remote, qual, TimeoutInfinite, privateData); err != nil {
		return nil, err
	}
	return ep.waitEstablished(ctx)
}

func (ep *EP) waitEstablished(ctx context.Context) (privateData []byte, err error) {
	if err := ep.lockRequests(waitOp); err != nil {
		return nil, err
	}
	connect := ep.parts.connect
	ep.unlockRequests()
	event, err := connect.Expect(ctx, EventConnectionEstablished)
	if err == nil && event.EP() != ep {
		err = &EventError{Want: EventConnectionEstablished, Event: event}
	}
	if wrong := (*EventError)(nil); err != nil && !errors.As(err, &wrong) {
		_ = ep.Disconnect(CloseAbrupt)
	}
	return event.PrivateData(), err
}
