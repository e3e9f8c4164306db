package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// Conn is a net.Conn over an endpoint. It has one goroutine, which takes the completions (pump). Read and Write copy
// between the program's memory and that of the connection, and never touch the former when they have returned.
type Conn struct {
	network       *Network
	ep            *udat.EP
	evd           *udat.EVD
	memory        *udat.LMR // what the peer cannot reach, see layout
	ring          *udat.LMR // what the peer writes
	peerRing      udat.RMRTriplet
	local, remote Addr

	established chan struct{}
	private     []byte // from the peer, once established
	greeted     chan struct{}
	ended       chan struct{} // the connection, for the reason cause
	cause       error
	cancel      context.CancelFunc // of pump, when ended
	pumped      chan struct{}      // pump has returned
	closed      chan struct{}
	delivered   chan struct{} // after Close: all that was written is at the peer

	readDeadline, writeDeadline deadline
	readable, writable          chan struct{} // wake the call that waits

	reading, writing sync.Mutex // one Read and one Write at a time

	mu          sync.Mutex // guards what follows, and the order of posts
	err         error      // why nothing can come or go any more
	isOpen      bool       // this side may send
	isClosed    bool
	probe       *time.Timer
	probing     bool
	endDue      bool // the end is to be sent
	endSent     bool
	lastPosted  bool // the read behind everything, after Close
	peerEnded   bool
	controlBusy [controls]bool

	sending   sending
	receiving receiving
}

// newConn makes a connection with its receives posted.
func (n *Network) newConn() (c *Conn, err error) {
	c = &Conn{
		network:       n,
		established:   make(chan struct{}),
		greeted:       make(chan struct{}),
		ended:         make(chan struct{}),
		pumped:        make(chan struct{}),
		closed:        make(chan struct{}),
		delivered:     make(chan struct{}),
		readDeadline:  newDeadline(),
		writeDeadline: newDeadline(),
		readable:      make(chan struct{}, 1),
		writable:      make(chan struct{}, 1),
	}
	defer func() {
		if err != nil {
			c.free()
		}
	}()
	private := udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if c.memory, err = udat.RegisterMemory(n.pz, make([]byte, memorySize), private); err != nil {
		return nil, err
	}
	// The peer reads from the ring to find out whether this side is there.
	if c.ring, err = udat.RegisterMemory(n.pz, make([]byte, ringSize), private|udat.MemPrivRemoteWrite|udat.MemPrivRemoteRead); err != nil {
		return nil, err
	}
	attr := &udat.EPAttr{MaxRecvDTOs: receives, MaxRequestDTOs: 2*slots + controls + 2}
	if c.evd, err = udat.CreateEVD(n.ia, attr.MaxRecvDTOs+attr.MaxRequestDTOs, udat.EVDDTO); err != nil {
		return nil, err
	}
	if c.ep, err = udat.CreateEP(n.ia, n.pz, c.evd, c.evd, n.connections, attr); err != nil {
		return nil, err
	}
	for slot := range receives {
		if err := c.postReceive(slot); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	if err := n.add(c); err != nil {
		cancel()
		return nil, err
	}
	go c.pump(ctx)
	return c, nil
}

// free frees what newConn has made.
func (c *Conn) free() {
	if c.ep != nil {
		_ = c.ep.Free()
	}
	if c.evd != nil {
		_ = c.evd.Free()
	}
	for _, lmr := range []*udat.LMR{c.memory, c.ring} {
		if lmr != nil {
			_ = lmr.Free()
		}
	}
}

func (c *Conn) greeting() ([]byte, error) {
	ring, err := c.ring.RMRTriplet(0, ringSize)
	if err != nil {
		return nil, err
	}
	return greeting(ring)
}

// open begins the stream. The side that connects greets: a message without data.
func (c *Conn) open(local, remote Addr, greet bool) error {
	c.local, c.remote = local, remote
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isOpen = true
	if greet && !c.sendControl(kindCredit) {
		return syscall.ECONNRESET
	}
	c.probe = time.AfterFunc(keepAlive, c.keepAlive)
	return nil
}

// pump takes completions until the connection has ended. What had arrived before counts: the completions of receives
// are there when the event of the end comes.
func (c *Conn) pump(ctx context.Context) {
	defer close(c.pumped)
	events := make([]udat.Event, 32)
	for {
		n, err := c.evd.WaitBatch(ctx, events, 1)
		if err != nil {
			break
		}
		c.take(events[:n])
	}
	for {
		n, err := c.evd.Poll(events)
		if n == 0 || err != nil {
			break
		}
		c.take(events[:n])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(c.cause)
}

// Cookies have a kind and a number.
const (
	cookieReceive = iota << 32
	cookieWrite
	cookieMessage
	cookieControl
	cookieProbe
	cookieLast
)

func (c *Conn) take(events []udat.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range events {
		event := &events[i]
		if err := event.Err(); err != nil {
			// What is flushed tells nothing: the event of the end has the reason.
			if !errors.Is(err, udat.DTOErrFlushed) {
				c.fail(failure{syscall.ECONNRESET, err})
			}
			c.abort()
			continue
		}
		switch number := int(uint32(event.Cookie)); event.Cookie &^ (1<<32 - 1) {
		case cookieReceive:
			if err := c.arrived(number, int(event.Length)); err != nil {
				c.fail(failure{syscall.ECONNRESET, err})
				c.abort()
			}
		case cookieMessage:
			c.sending.done(number)
		case cookieControl:
			c.controlBusy[number] = false
		case cookieProbe:
			c.probing = false
		case cookieLast:
			close(c.delivered)
		}
	}
	c.sendDue()
	wake(c.readable)
	wake(c.writable)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fail ends the stream. The first reason counts. What has arrived can still be read.
func (c *Conn) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	wake(c.readable)
	wake(c.writable)
}

// abort breaks the connection. Its end comes as an event.
func (c *Conn) abort() { go c.ep.Disconnect(udat.CloseAbrupt) }

// end is called with the event of the end, which is the last.
func (c *Conn) end(cause error) {
	if isClosed(c.ended) {
		return
	}
	c.cause = cause
	close(c.ended)
	c.cancel()
}

// Close ends the connection. What was written before still arrives, unless the peer takes longer than a few seconds.
// Calls in flight return net.ErrClosed.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return c.opError("close", net.ErrClosed)
	}
	c.isClosed = true
	close(c.closed)
	if c.probe != nil {
		c.probe.Stop()
	}
	c.endDue = !c.endSent
	c.sendDue()
	go c.shutdown()
	return nil
}

// CloseWrite ends the stream to the peer, whose Read returns io.EOF when it has read everything. The stream from the peer
// goes on.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mayWrite(); err != nil {
		return c.opError("close", err)
	}
	c.endDue = true
	c.sendDue()
	wake(c.writable)
	return nil
}

// shutdown ends the connection after Close and frees what it had.
func (c *Conn) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	if c.mayDeliver() {
		select {
		case <-c.delivered:
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	if c.ep.Disconnect(udat.CloseAbrupt) == nil {
		select {
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	c.cancel()
	<-c.pumped
	ep := c.ep
	c.free()
	c.network.mu.Lock()
	delete(c.network.conns, ep)
	c.network.mu.Unlock()
	c.network.alive.Done()
}

func (c *Conn) mayDeliver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOpen && c.err == nil
}

// mayRead returns why a Read cannot go on, or nil if it may read or wait.
func (c *Conn) mayRead() error {
	switch {
	case c.isClosed:
		return net.ErrClosed
	case isClosed(c.readDeadline.wait()):
		return errTimeout
	case c.receiving.count > 0:
		return nil
	case c.peerEnded:
		return io.EOF
	}
	return c.err
}

// mayWrite returns why a Write cannot go on, or nil if it may write or wait.
func (c *Conn) mayWrite() error {
	switch {
	case c.isClosed:
		return net.ErrClosed
	case isClosed(c.writeDeadline.wait()):
		return errTimeout
	case c.endDue || c.endSent:
		return syscall.EPIPE
	}
	return c.err
}

// LocalAddr returns the address of this side, an Addr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the peer, an Addr.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.readDeadline, &c.writeDeadline)
}

// SetReadDeadline sets the time at which a Read returns an error that matches os.ErrDeadlineExceeded, one that waits
// already included.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readDeadline) }

// SetWriteDeadline is SetReadDeadline for Write. A Write that ends by it may have written a part, whose length it
// returns; the stream goes on behind that.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeDeadline) }

func (c *Conn) setDeadlines(t time.Time, deadlines ...*deadline) error {
	if isClosed(c.closed) {
		return c.opError("set", net.ErrClosed)
	}
	for _, d := range deadlines {
		d.set(t)
	}
	return nil
}
