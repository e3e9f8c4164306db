package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/goudat/goudat/udat"
)

const backlog = 64 // connections being made, or waiting for Accept; as many more wait for these, and further ones are refused

// Listener is a net.Listener.
type Listener struct {
	network  *Network
	requests *udat.EVD
	psp      *udat.PSP
	address  Addr
	accepted chan *Conn
	closed   context.Context // ended by stop
	stop     context.CancelFunc
}

// Listen listens on "host:port". The host may be empty, "0.0.0.0" or "::", and else must be the address of the adapter. With the port 0 it
// finds a free one, see Listener.Addr.
func (n *Network) Listen(address string) (_ *Listener, err error) {
	all, err := n.resolve(n.closed, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	at := all[0]
	l := &Listener{network: n, address: Addr{at}, accepted: make(chan *Conn)}
	l.closed, l.stop = context.WithCancel(n.closed)
	defer func() {
		if err != nil {
			_ = l.Close()
			err = &net.OpError{Op: "listen", Net: network, Addr: l.address, Err: err}
		}
	}()
	if !slices.ContainsFunc(all, func(a netip.AddrPort) bool {
		return a.Addr().IsUnspecified() || a.Addr().WithZone("") == n.address.WithZone("")
	}) {
		return nil, fmt.Errorf("the adapter's address is %v", n.address)
	}
	if l.requests, err = udat.CreateEVD(n.ia, backlog, nil, udat.EVDCR); err != nil {
		return nil, err
	}
	if at.Port() == 0 {
		l.psp, err = udat.CreatePSPAny(n.ia, l.requests)
	} else {
		l.psp, err = udat.CreatePSP(n.ia, udat.ConnQual(at.Port()), l.requests)
	}
	if err != nil {
		return nil, err
	}
	param, err := l.psp.Query()
	if err != nil {
		return nil, err
	}
	l.address = Addr{netip.AddrPortFrom(n.address, uint16(param.ConnQual))}
	for range backlog {
		go l.serve()
	}
	return l, nil
}

// serve answers one request after the other until the listener is closed. There are many of it, so that a few peers that
// are slow, or say nothing, keep no other from being accepted.
func (l *Listener) serve() {
	for event, err := range l.requests.Events(context.Background()) {
		if err != nil {
			return
		}
		c, err := l.network.newConn()
		if err == nil {
			if err = c.accept(event.CR(), l); err != nil {
				_ = c.Close()
			}
		}
		if err != nil {
			_ = event.CR().Reject(nil) // does nothing if the request was answered
			continue
		}
		select {
		case l.accepted <- c:
		case <-l.closed.Done():
			_ = c.Close()
		}
	}
}

// accept answers a request, and waits for the byte that the peer sends ahead of the stream.
func (c *Conn) accept(cr *udat.CR, l *Listener) (err error) {
	request, _ := cr.Query() // without a greeting if it fails
	if c.peerRing, err = parseGreeting(request.PrivateData); err != nil {
		return err
	}
	if err := cr.Accept(c.ep, c.greeting); err != nil {
		return err
	}
	if _, err := c.establish(l.closed); err != nil {
		return err
	}
	c.timer.Reset(firstByteTimeout)
	param, _ := c.ep.Query() // without a port if the connection is over
	stop := context.AfterFunc(l.closed, func() { _ = c.Close() })
	if _, err := c.Read(make([]byte, 1)); !stop() || err != nil {
		return errors.Join(err, l.closed.Err())
	}
	c.open(l.address, Addr{netip.AddrPortFrom(request.RemoteAddress, uint16(param.RemotePortQual))})
	return nil
}

// Accept returns the next connection. Other peers that connect and are silent delay it only if they are many: see backlog.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed.Done():
		return nil, &net.OpError{Op: "accept", Net: network, Addr: l.address, Err: net.ErrClosed}
	}
}

// Close stops listening. Connections that Accept has returned live on.
func (l *Listener) Close() error {
	l.stop()
	return errors.Join(l.psp.Free(), l.requests.Free())
}

// Addr returns the adapter's address with the port.
func (l *Listener) Addr() net.Addr { return l.address }
