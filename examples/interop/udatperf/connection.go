package main

import (
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// measureConnects returns connections per second. Each has an endpoint of its own. The client disconnects each
// gracefully.
func (n *node) measureConnects(count int) (float64, error) {
	begin := time.Now()
	for range count {
		if _, err := n.connectOnce(false); err != nil {
			return 0, err
		}
	}
	return float64(count) / time.Since(begin).Seconds(), nil
}

// connectOnce makes a connection and ends it. The client tells the server whether it is the last one.
func (n *node) connectOnce(last bool) (bool, error) {
	ep, last, err := n.join(last)
	if err != nil {
		return last, err
	}
	return last, n.part(ep)
}

func (n *node) join(last bool) (*udat.EP, bool, error) {
	ep, err := n.createEndpoint(few, few)
	if err != nil {
		return nil, last, err
	}
	if !n.server {
		_, err := ep.ConnectAndWait(n.ctx, n.address, n.qual, []byte{map[bool]byte{true: 1}[last]})
		return ep, last, err
	}
	request, err := n.arrival()
	if err != nil {
		return nil, last, err
	}
	param, err := request.Query()
	if err != nil {
		return nil, last, err
	}
	return ep, param.PrivateData[0] != 0, request.AcceptAndWait(n.ctx, ep, nil)
}

// part ends a connection on the client. The server sees connections end in any order.
func (n *node) part(ep *udat.EP) error {
	if !n.server {
		if err := ep.Disconnect(udat.CloseGraceful); err != nil {
			return err
		}
	}
	event, err := n.connections.Expect(n.ctx, udat.EventConnectionDisconnected)
	if err != nil {
		return err
	}
	return event.EP().Free()
}

// measureStatus returns the nanoseconds of a call.
func (n *node) measureStatus(count int) (float64, error) {
	begin := time.Now()
	for range count {
		status, err := n.ep.GetStatus()
		if err != nil {
			return 0, err
		}
		if status.State != udat.EPStateConnected {
			return 0, fmt.Errorf("the endpoint's state is %v", status.State)
		}
	}
	return float64(time.Since(begin)) / float64(count), nil
}
