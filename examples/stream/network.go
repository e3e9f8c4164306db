// Package stream carries streams of bytes over RDMA: a net.Conn and a net.Listener over package udat, for net/http, gRPC
// and other programs that take connections as Go has them. The README says how it works and what its limits are.
package stream

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"github.com/goudat/goudat/udat"
)

const (
	network   = "rdma" // the name in addresses and errors
	eventRoom = 1024   // connection events that dispatch has not taken yet
)

// Addr is the address of an adapter with the connection qualifier of a service as its port. The socket CM provider does
// not know the port of the side that connects: it is 0 then.
type Addr struct{ netip.AddrPort }

// Network returns "rdma".
func (Addr) Network() string { return network }

// Network is an open adapter, on which connections are made. Its methods may be called from any goroutine.
type Network struct {
	ia          *udat.IA
	pz          *udat.PZ
	connections *udat.EVD // connection events of all endpoints
	address     netip.Addr
	closed      context.Context // ended by stop
	stop        context.CancelFunc

	mu    sync.Mutex // taken before Conn.mu
	conns map[*udat.EP]*Conn
	alive sync.WaitGroup // that have not freed what they have
}

// Open opens an adapter by any name that udat.Open takes: "eth0", for example, or an entry of dat.conf.
func Open(adapter string) (*Network, error) {
	ia, err := udat.Open(adapter)
	if err != nil {
		return nil, err
	}
	attr, _, err := ia.Query()
	pz, err1 := udat.CreatePZ(ia)
	connections, err2 := udat.CreateEVD(ia, eventRoom, nil, udat.EVDConnection)
	if err := errors.Join(err, err1, err2); err != nil {
		_ = ia.Close(udat.CloseAbrupt)
		return nil, err
	}
	n := &Network{ia: ia, pz: pz, connections: connections, address: attr.Address, conns: map[*udat.EP]*Conn{}}
	n.closed, n.stop = context.WithCancel(context.Background())
	go n.dispatch()
	return n, nil
}

// dispatch tells the connections what happens to them, until the adapter is closed.
func (n *Network) dispatch() {
	for event, err := range n.connections.Events(context.Background()) {
		if err != nil {
			return
		}
		n.mu.Lock()
		c := n.conns[event.EP()]
		n.mu.Unlock()
		switch {
		case c == nil: // freed meanwhile
		case event.Number == udat.EventConnectionEstablished:
			c.established <- event.PrivateData()
		default:
			c.cancel(connectionError(event.Number))
		}
	}
}

// failure is what a program looks for in an error, with what the adapter said.
type failure struct {
	syscall.Errno
	cause error
}

func (f failure) Error() string   { return f.Errno.Error() + ": " + f.cause.Error() }
func (f failure) Unwrap() []error { return []error{f.Errno, f.cause} }

// connectionError says what the end of a connection, or of an attempt to connect, means.
func connectionError(event udat.EventNumber) error {
	meaning := syscall.ECONNRESET
	switch event {
	case udat.EventConnectionPeerRejected, udat.EventConnectionNonPeerRejected:
		meaning = syscall.ECONNREFUSED
	case udat.EventConnectionUnreachable:
		meaning = syscall.EHOSTUNREACH
	case udat.EventConnectionTimedOut:
		meaning = syscall.ETIMEDOUT
	}
	return failure{meaning, event}
}

// Close closes the listeners and connections, waits until what was written has arrived, for a few seconds at most, and
// closes the adapter.
func (n *Network) Close() error {
	n.mu.Lock()
	n.stop()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.alive.Wait()
	return n.ia.Close(udat.CloseAbrupt) // and frees what listeners have
}

// Dial is DialContext without a context.
func (n *Network) Dial(address string) (net.Conn, error) {
	return n.DialContext(context.Background(), network, address)
}

// DialContext connects to the listener at "host:port". It has the form that http.Transport and others ask for; the
// network that they name means nothing here.
func (n *Network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	all, err := n.resolve(ctx, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error // says most of what is wrong: that of the adapter's own family
	for _, to := range all {
		c, err := n.newConn()
		if err == nil {
			if err = c.connect(ctx, to); err == nil {
				return c, nil
			}
			_ = c.Close()
		}
		if first == nil {
			first = &net.OpError{Op: "dial", Net: network, Addr: Addr{to}, Err: err}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// resolve returns what "host:port" means, addresses of the adapter's family first. No host is this one.
func (n *Network) resolve(ctx context.Context, address string) (all []netip.AddrPort, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	addresses := []netip.Addr{n.address}
	if address, err := netip.ParseAddr(host); err == nil {
		addresses[0] = address // with its zone
	} else if host != "" {
		if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	var others []netip.AddrPort
	for _, a := range addresses {
		to := netip.AddrPortFrom(a.Unmap(), uint16(port))
		if to.Addr().Is4() == n.address.Is4() {
			all = append(all, to)
		} else {
			others = append(others, to)
		}
	}
	return append(all, others...), nil
}

// connect connects to a listener.
func (c *Conn) connect(ctx context.Context, to netip.AddrPort) error {
	if err := c.ep.Connect(to.Addr(), udat.ConnQual(to.Port()), handshakeTimeout, c.greeting); err != nil {
		return err
	}
	private, err := c.establish(ctx)
	if err != nil {
		return err
	}
	if c.peerRing, err = parseGreeting(private); err != nil {
		return err
	}
	param, _ := c.ep.Query() // without ports if the connection is over
	c.open(Addr{netip.AddrPortFrom(c.network.address, uint16(param.LocalPortQual))}, Addr{to})
	_, err = c.Write([]byte{0}) // ahead of the stream: on iWARP the other side must not send before
	return err
}
