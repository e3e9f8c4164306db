package stream

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	handshakeTimeout = 15 * time.Second // of a connection until its first message
	linger           = 5 * time.Second  // for what was written before Close to arrive
)

// Network is an open adapter, on which connections are made. Its methods may be called from any goroutine.
type Network struct {
	ia          *udat.IA
	pz          *udat.PZ
	connections *udat.EVD // connection events of all endpoints
	address     netip.Addr
	stop        context.CancelFunc
	dispatched  chan struct{}

	mu        sync.Mutex
	closed    bool
	conns     map[*udat.EP]*Conn
	listeners map[*Listener]struct{}
	alive     sync.WaitGroup // connections whose resources are not freed
}

// Open opens an adapter by any name that udat.Open takes: "eth0", for example, or an entry of dat.conf.
func Open(adapter string) (*Network, error) {
	ia, err := udat.Open(adapter)
	if err != nil {
		return nil, err
	}
	n := &Network{ia: ia, dispatched: make(chan struct{}), conns: map[*udat.EP]*Conn{}, listeners: map[*Listener]struct{}{}}
	if err := n.prepare(); err != nil {
		_ = ia.Close(udat.CloseAbrupt)
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go n.dispatch(ctx)
	return n, nil
}

func (n *Network) prepare() error {
	attr, _, err := n.ia.Query()
	if err != nil {
		return err
	}
	n.address = attr.Address
	if n.pz, err = udat.CreatePZ(n.ia); err != nil {
		return err
	}
	n.connections, err = udat.CreateEVD(n.ia, 64, udat.EVDConnection)
	return err
}

// dispatch tells the connections what happens to them.
func (n *Network) dispatch(ctx context.Context) {
	defer close(n.dispatched)
	for event, err := range n.connections.Events(ctx) {
		if err != nil {
			return
		}
		n.mu.Lock()
		c := n.conns[event.EP()]
		n.mu.Unlock()
		if c == nil {
			continue // freed meanwhile
		}
		if event.Number == udat.EventConnectionEstablished {
			c.private = event.PrivateData()
			close(c.established)
			continue
		}
		c.end(connectionError(udat.ConnectionEvent(event.Number)))
	}
}

// add makes a connection known, so that it gets its events and Close waits for it.
func (n *Network) add(c *Conn) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return udat.ErrClosed
	}
	n.conns[c.ep] = c
	n.alive.Add(1)
	return nil
}

// Close closes the listeners and connections, waits until what was written has arrived, for a few seconds at most, and
// closes the adapter.
func (n *Network) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return udat.ErrClosed
	}
	n.closed = true
	var listeners []*Listener
	for l := range n.listeners {
		listeners = append(listeners, l)
	}
	var conns []*Conn
	for _, c := range n.conns {
		conns = append(conns, c)
	}
	n.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, c := range conns {
		_ = c.Close()
	}
	n.alive.Wait()
	n.stop()
	<-n.dispatched
	return n.ia.Close(udat.CloseAbrupt)
}
