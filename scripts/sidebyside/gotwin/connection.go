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
		if err := n.connectOnce(); err != nil {
			return 0, err
		}
	}
	return float64(count) / time.Since(begin).Seconds(), nil
}

func (n *node) connectOnce() error {
	ep, err := n.createEndpoint(few, few)
	if err != nil {
		return err
	}
	if n.server {
		var request *udat.CR
		if request, err = n.arrival(); err == nil {
			err = n.accept(request, ep, nil)
		}
	} else if _, err = n.connectOn(ep, nil); err == nil {
		err = ep.Disconnect(udat.CloseGraceful)
	}
	if err != nil {
		return err
	}
	if _, err := n.connectionEvent(udat.EventConnectionDisconnected); err != nil {
		return err
	}
	return ep.Free()
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
