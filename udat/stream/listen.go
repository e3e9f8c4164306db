package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// mostMade is how many connections of a listener are being made, or wait for Accept. Each has its memory; further requests
// have none, and wait for these.
const mostMade = 64

// Listener is a net.Listener.
type Listener struct {
	adapter  *Adapter
	requests *udat.EVD
	psp      *udat.PSP
	address  Addr
	accepted chan *Conn
	closed   context.Context // ended by stop
	stop     context.CancelFunc
}

// Listen listens on "host:port", and returns a *Listener. The host may be empty, "0.0.0.0" or "::", and else must be the
// address of the adapter, or a name of it. With the port 0 it finds a free one, see Listener.Addr. network is as for Dial.
// The context is for the look-up of a name. The error matches EADDRINUSE if something listens there, and EADDRNOTAVAIL if
// the address is not the adapter's.
func (a *Adapter) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	all, err := a.resolve(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: networkName, Err: err}
	}
	l := &Listener{adapter: a, address: Addr{all[0]}, accepted: make(chan *Conn)}
	l.closed, l.stop = context.WithCancel(a.closed)
	if err := l.listen(all); err != nil {
		_ = l.Close()
		return nil, &net.OpError{Op: "listen", Net: networkName, Addr: l.address, Err: err}
	}
	go l.serve()
	return l, nil
}

func (l *Listener) listen(all []netip.AddrPort) (err error) {
	a, qual := l.adapter, udat.ConnQual(all[0].Port())
	if !slices.ContainsFunc(all, func(at netip.AddrPort) bool { return at.Addr().WithZone("") == a.address.WithZone("") }) {
		return failure{syscall.EADDRNOTAVAIL, fmt.Errorf("the adapter's address is %v", a.address)}
	}
	if l.requests, err = udat.CreateEVD(a.ia, a.config.Backlog, nil, udat.EVDCR); err != nil {
		return err
	}
	if qual == 0 {
		l.psp, err = udat.CreatePSPAny(a.ia, l.requests)
	} else {
		l.psp, err = udat.CreatePSP(a.ia, qual, l.requests)
	}
	if errors.Is(err, udat.ErrConnQualInUse) {
		return failure{syscall.EADDRINUSE, err}
	} else if err != nil {
		return err
	}
	param, err := l.psp.Query()
	l.address = Addr{netip.AddrPortFrom(a.address, uint16(param.ConnQual))}
	return err
}

// serve answers requests until the listener is closed. A few peers that are slow, or say nothing, keep no other from being
// accepted.
func (l *Listener) serve() {
	places := make(chan struct{}, mostMade)
	for event, err := range l.requests.Events(context.Background()) {
		if err != nil {
			return
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			l.answer(event.CR())
		}()
	}
}

// answer answers a request, and has Accept return the connection.
func (l *Listener) answer(cr *udat.CR) {
	defer cr.Reject(nil)     // does nothing if the request was answered
	request, _ := cr.Query() // without a greeting if it fails
	peer, err := parseGreeting(request.PrivateData)
	if err != nil {
		return
	}
	c, err := l.adapter.newConn()
	if err != nil {
		return
	}
	if err := c.accept(cr, request.RemoteAddress, peer, l); err != nil {
		c.cancel(err)
		return
	}
	select {
	case l.accepted <- c:
	case <-l.closed.Done():
		c.cancel(net.ErrClosed)
	}
}

// accept accepts a request, and waits for the byte that the peer sends ahead of the stream.
func (c *Conn) accept(cr *udat.CR, remote netip.Addr, peer greeting, l *Listener) error {
	if err := c.agree(peer); err != nil {
		return err
	}
	if err := cr.Accept(c.ep, c.greeting); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.closed, c.adapter.config.ConnectTimeout)
	defer cancel()
	if _, err := c.establish(ctx); err != nil {
		return err
	}
	param, _ := c.ep.Query() // without a port if the connection is over
	stop := context.AfterFunc(l.closed, func() { c.cancel(net.ErrClosed) })
	_ = c.SetReadDeadline(time.Now().Add(c.adapter.config.SilenceTimeout))
	if _, err := c.Read(make([]byte, 1)); !stop() || err != nil {
		return errors.Join(err, l.closed.Err())
	}
	_ = c.SetReadDeadline(time.Time{})
	c.open(l.address, Addr{netip.AddrPortFrom(remote, uint16(param.RemotePortQual))})
	return nil
}

// Accept returns the next connection, a *Conn. Other peers that connect and are silent delay it only if they are many: see
// Config.Backlog and SilenceTimeout.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed.Done():
		return nil, l.opError("accept", net.ErrClosed)
	}
}

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: networkName, Addr: l.address, Err: err}
}

// Close stops listening. Connections that Accept has returned live on.
func (l *Listener) Close() error {
	l.stop()
	err := errors.Join(l.psp.Free(), l.requests.Free())
	if errors.Is(err, net.ErrClosed) { // of a second Close, or of the adapter
		err = net.ErrClosed
	}
	if err != nil {
		return l.opError("close", err)
	}
	return nil
}

// Addr returns the adapter's address with the port, an Addr.
func (l *Listener) Addr() net.Addr { return l.address }
