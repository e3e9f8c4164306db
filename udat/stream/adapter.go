package stream

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	networkName = "rdma"          // in addresses and errors
	eventRoom   = 4096            // connection events that dispatch has not taken yet
	mostTries   = 2               // to dial again, as in package net
	leastShare  = 2 * time.Second // of the time of Dial, for an address, as in package net
)

// Addr is the address of an adapter with the connection qualifier of a service as its port. The socket CM provider does
// not know the port of the side that connects: it is 0 then.
type Addr struct{ netip.AddrPort }

// Network returns "rdma".
func (Addr) Network() string { return networkName }

// Adapter is an open adapter, on which connections are made. Its methods may be called from any goroutine. Their errors
// are *net.OpError, and match what those of TCP do, also what package udat says.
type Adapter struct {
	ia          *udat.IA
	config      Config
	connections *udat.EVD // connection events of all endpoints
	address     netip.Addr
	closed      context.Context // ended by stop
	stop        context.CancelFunc

	mu    sync.Mutex // taken before Conn.mu
	conns map[*udat.EP]*Conn
	idle  []*memory      // for new connections
	alive sync.WaitGroup // connections that have not freed what they have
}

// Open opens an adapter by any name that udat.Open takes: "eth0", for example, or an entry of dat.conf. A nil config is
// one of defaults.
func Open(name string, config *Config) (*Adapter, error) {
	if config == nil {
		config = new(Config)
	}
	settings, err := config.complete()
	if err != nil {
		return nil, err
	}
	ia, err := udat.Open(name)
	if err != nil {
		return nil, err
	}
	attr, _, err := ia.Query()
	settings.Backlog = min(settings.Backlog, attr.MaxEVDQLen)
	connections, err1 := udat.CreateEVD(ia, min(eventRoom, attr.MaxEVDQLen), nil, udat.EVDConnection)
	if err := errors.Join(err, err1); err != nil {
		_ = ia.Close(udat.CloseAbrupt)
		return nil, err
	}
	a := &Adapter{ia: ia, config: settings, connections: connections, address: attr.Address, conns: map[*udat.EP]*Conn{}}
	a.closed, a.stop = context.WithCancel(context.Background())
	go a.dispatch()
	return a, nil
}

// dispatch tells the connections what happens to them, until the adapter is closed.
func (a *Adapter) dispatch() {
	for event, err := range a.connections.Events(context.Background()) {
		if err != nil {
			return
		}
		a.mu.Lock()
		c := a.conns[event.EP()]
		a.mu.Unlock()
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

// Close closes the listeners and connections, waits as their Close does, and closes the adapter.
func (a *Adapter) Close() error {
	a.mu.Lock()
	if a.closed.Err() != nil {
		a.mu.Unlock()
		return &net.OpError{Op: "close", Net: networkName, Addr: Addr{netip.AddrPortFrom(a.address, 0)}, Err: net.ErrClosed}
	}
	a.stop()
	for _, c := range a.conns {
		_ = c.beginClose()
	}
	a.mu.Unlock()
	a.alive.Wait()
	return a.ia.Close(udat.CloseAbrupt) // and frees what is left of listeners, and idle memory
}

// Dial connects to the listener at "host:port", and returns a *Conn. It can be the DialContext of http.Transport and
// others. network is "rdma", or, since these ask for it, "tcp", or one of them with "4" or "6" for addresses of that family
// alone. An empty or unspecified host is the adapter's own. If a name has several addresses, they are tried one after the
// other, those of the adapter's family first, each for its share of the time.
//
// The context bounds the attempt, and does nothing to the connection. The error matches context.DeadlineExceeded if the
// time is over, ECONNREFUSED if nobody listens, ENETUNREACH or EHOSTUNREACH if there is no way to the peer, and ErrProtocol
// if something else listens there.
func (a *Adapter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, a.config.ConnectTimeout)
	defer cancel()
	all, err := a.resolve(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: networkName, Err: err}
	}
	end, _ := ctx.Deadline()
	var first error // says most of what is wrong: that of the adapter's own family
	for i, to := range all {
		share := max(time.Until(end)/time.Duration(len(all)-i), leastShare)
		c, err := a.dial(ctx, share, to)
		if err == nil {
			return c, nil
		}
		if first == nil || ctx.Err() != nil {
			first = &net.OpError{Op: "dial", Net: networkName, Addr: Addr{to}, Err: err}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (a *Adapter) dial(ctx context.Context, within time.Duration, to netip.AddrPort) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := cmp.Or(ctx.Err(), noRoute(to)); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		c, err := a.newConn()
		if err != nil {
			return nil, err
		}
		if err = c.connect(ctx, to); err == nil {
			return c, nil
		}
		c.cancel(err)
		// Over soft-iWARP, the connection manager may have chosen a port that TCP does not give again yet.
		if tries == mostTries || !errors.Is(err, udat.EventConnectionBroken) {
			return nil, err
		}
	}
}

// resolve returns what "host:port" means, addresses of the adapter's family first.
func (a *Adapter) resolve(ctx context.Context, network, address string) (all []netip.AddrPort, err error) {
	family, known := strings.CutPrefix(network, networkName)
	if !known {
		family, known = strings.CutPrefix(network, "tcp")
	}
	if !known || family != "" && family != "4" && family != "6" {
		return nil, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	addresses := []netip.Addr{a.address}
	if literal, err := netip.ParseAddr(host); err == nil { // with its zone
		if !literal.IsUnspecified() {
			addresses[0] = literal
		}
	} else if host != "" {
		if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	for _, address := range addresses {
		if address = address.Unmap(); family == "" || address.Is4() == (family == "4") {
			all = append(all, netip.AddrPortFrom(address, uint16(port)))
		}
	}
	if len(all) == 0 {
		return nil, &net.AddrError{Err: "no address of the family of " + network, Addr: address}
	}
	slices.SortStableFunc(all, func(x, y netip.AddrPort) int {
		if a.address.Is4() {
			x, y = y, x
		}
		return y.Addr().BitLen() - x.Addr().BitLen()
	})
	return all, nil
}

// connect connects to a listener.
func (c *Conn) connect(ctx context.Context, to netip.AddrPort) error {
	if err := c.ep.Connect(to.Addr(), udat.ConnQual(to.Port()), udat.TimeoutInfinite, c.greeting); err != nil {
		return err
	}
	private, err := c.establish(ctx)
	if err != nil {
		return err
	}
	peer, err := parseGreeting(private)
	if err == nil {
		err = c.agree(peer)
	}
	if err != nil {
		return err
	}
	param, _ := c.ep.Query() // without ports if the connection is over
	c.open(Addr{netip.AddrPortFrom(c.adapter.address, uint16(param.LocalPortQual))}, Addr{to})
	_, err = c.Write([]byte{0}) // ahead of the stream: on iWARP the other side must not send before
	return err
}

// noRoute returns ENETUNREACH if the kernel has no route to an address. The CMA provider would look for one until the time
// is over.
func noRoute(to netip.AddrPort) error {
	s, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to)) // which sends nothing
	if err == nil {
		_ = s.Close()
	}
	if errors.Is(err, syscall.ENETUNREACH) {
		return syscall.ENETUNREACH
	}
	return nil
}
