package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/goudat/goudat/udat"
)

const backlog = 64 // connections being made, or waiting for Accept; further ones are refused

// Listener is a net.Listener.
type Listener struct {
	network  *Network
	psp      *udat.PSP
	requests *udat.EVD
	address  Addr
	stop     context.CancelFunc
	closed   chan struct{}
	close    func() error
	accepted chan *Conn
	places   chan struct{}
}

// Listen listens on "host:port". The host may be empty, and else must be the address of the adapter. With the port 0 it
// finds a free one, see Listener.Addr.
func (n *Network) Listen(address string) (*Listener, error) {
	fail := func(err error) (*Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: Addr{netip.AddrPortFrom(n.address, 0)}, Err: err}
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return fail(err)
	}
	if host == "" {
		host = n.address.String()
	}
	ctx, stop := context.WithCancel(context.Background())
	at, err := resolve(ctx, net.JoinHostPort(host, service))
	if err == nil && at.Addr() != n.address {
		err = fmt.Errorf("the adapter's address is %v", n.address)
	}
	if err != nil {
		stop()
		return fail(err)
	}
	l := &Listener{network: n, stop: stop, closed: make(chan struct{}), accepted: make(chan *Conn), places: make(chan struct{}, backlog)}
	if err := l.listen(at); err != nil {
		stop()
		return fail(err)
	}
	l.close = sync.OnceValue(l.end)
	n.mu.Lock()
	closed := n.closed
	n.listeners[l] = struct{}{}
	n.mu.Unlock()
	if closed {
		_ = l.Close()
		return fail(net.ErrClosed)
	}
	go l.serve(ctx)
	return l, nil
}

func (l *Listener) listen(at netip.AddrPort) (err error) {
	if l.requests, err = udat.CreateEVD(l.network.ia, backlog, udat.EVDCR); err != nil {
		return err
	}
	if at.Port() == 0 {
		l.psp, err = udat.CreatePSPAny(l.network.ia, l.requests)
	} else {
		l.psp, err = udat.CreatePSP(l.network.ia, udat.ConnQual(at.Port()), l.requests, udat.PSPConsumer)
	}
	if err != nil {
		return errors.Join(err, l.requests.Free())
	}
	param, err := l.psp.Query()
	if err == nil && param.ConnQual > 65535 {
		err = fmt.Errorf("the qualifier %d is no port", param.ConnQual)
	}
	if err != nil {
		return errors.Join(err, l.psp.Free(), l.requests.Free())
	}
	l.address = Addr{netip.AddrPortFrom(l.network.address, uint16(param.ConnQual))}
	return nil
}

// serve answers requests. One peer that is slow, or says nothing, keeps no other from being accepted.
func (l *Listener) serve(ctx context.Context) {
	for event, err := range l.requests.Events(ctx) {
		if err != nil {
			return
		}
		select {
		case l.places <- struct{}{}:
			go func() {
				defer func() { <-l.places }()
				l.handshake(event.CR())
			}()
		default:
			_ = event.CR().Reject(nil)
		}
	}
}

func (l *Listener) handshake(cr *udat.CR) {
	c, err := l.answer(cr)
	if err != nil {
		_ = cr.Reject(nil) // does nothing if the request was answered
		return
	}
	select {
	case l.accepted <- c:
	case <-l.closed:
		_ = c.Close()
	}
}

func (l *Listener) answer(cr *udat.CR) (*Conn, error) {
	param, err := cr.Query()
	if err != nil {
		return nil, err
	}
	ring, err := parseGreeting(param.PrivateData)
	if err != nil {
		return nil, err
	}
	c, err := l.network.newConn()
	if err != nil {
		return nil, err
	}
	c.peerRing = ring
	if err := l.accept(c, cr, param.RemoteAddress); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// accept makes the connection. It has been made when the peer's greeting has come: on iWARP the side that accepts must
// not speak first.
func (l *Listener) accept(c *Conn, cr *udat.CR, from netip.Addr) error {
	private, err := c.greeting()
	if err != nil {
		return err
	}
	if err := cr.Accept(c.ep, private); err != nil {
		return err
	}
	timeout := time.NewTimer(handshakeTimeout)
	defer timeout.Stop()
	for _, step := range []chan struct{}{c.established, c.greeted} {
		select {
		case <-step:
		case <-c.ended:
			return c.cause
		case <-l.closed:
			return net.ErrClosed
		case <-timeout.C:
			return errTimeout
		}
	}
	port := uint16(0)
	if param, err := c.ep.Query(); err == nil && param.RemotePortQual <= 65535 {
		port = uint16(param.RemotePortQual)
	}
	return c.open(l.address, Addr{netip.AddrPortFrom(from, port)}, false)
}

// Accept returns the next connection. What the peers of others do does not delay it.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
	default:
		select {
		case c := <-l.accepted:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: network, Addr: l.address, Err: net.ErrClosed}
}

// Close stops listening. Connections that Accept has returned live on.
func (l *Listener) Close() error { return l.close() }

func (l *Listener) end() error {
	close(l.closed)
	l.stop()
	l.network.mu.Lock()
	delete(l.network.listeners, l)
	l.network.mu.Unlock()
	return errors.Join(l.psp.Free(), l.requests.Free())
}

// Addr returns the adapter's address with the port.
func (l *Listener) Addr() net.Addr { return l.address }
