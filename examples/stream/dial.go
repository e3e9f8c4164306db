package stream

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/goudat/goudat/udat"
)

const dialTimeout = 30 * time.Second // unless the context ends earlier

// Dial is DialContext without a context.
func (n *Network) Dial(address string) (net.Conn, error) {
	return n.DialContext(context.Background(), network, address)
}

// DialContext connects to the listener at "host:port". It has the form that http.Transport and others ask for; the
// network that they name means nothing here.
func (n *Network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := resolve(ctx, address)
	if err == nil {
		var c *Conn
		if c, err = n.dial(ctx, to); err == nil {
			return c, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: Addr{to}, Err: err}
}

func resolve(ctx context.Context, address string) (to netip.AddrPort, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return to, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return to, err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return to, err
	}
	return netip.AddrPortFrom(addresses[0].Unmap(), uint16(port)), nil
}

func (n *Network) dial(ctx context.Context, to netip.AddrPort) (*Conn, error) {
	c, err := n.newConn()
	if err != nil {
		return nil, err
	}
	if err := c.connect(ctx, to); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) connect(ctx context.Context, to netip.AddrPort) error {
	private, err := c.greeting()
	if err != nil {
		return err
	}
	if err := c.ep.Connect(to.Addr(), udat.ConnQual(to.Port()), dialTimeout, private); err != nil {
		return err
	}
	select {
	case <-c.established:
	case <-c.ended:
		return c.cause
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			return errTimeout
		}
		return ctx.Err()
	}
	if c.peerRing, err = parseGreeting(c.private); err != nil {
		return err
	}
	local := netip.AddrPortFrom(c.network.address, 0)
	if param, err := c.ep.Query(); err == nil && param.LocalPortQual <= 65535 {
		local = netip.AddrPortFrom(c.network.address, uint16(param.LocalPortQual))
	}
	return c.open(Addr{local}, Addr{to}, true)
}
