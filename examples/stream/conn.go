package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	handshakeTimeout = 30 * time.Second // until the connection is open
	firstByteTimeout = 5 * time.Second  // from the listener's being connected, which the byte follows at once
	linger           = 5 * time.Second  // until what was written before Close has arrived
)

// keepAlive is how often a connection asks whether the peer's adapter is there. If it has not answered until the next
// time, the peer is gone.
var keepAlive = 15 * time.Second

// Conn is a net.Conn over an endpoint. It has one goroutine, which takes the completions (run). Read and Write copy
// between the program's memory and that of the connection, and do not touch the former when they have returned.
type Conn struct {
	network       *Network
	ep            *udat.EP
	evd           *udat.EVD // completions
	memory        *udat.LMR // all buffers, which the peer cannot reach
	ring          *udat.LMR // what the peer writes, and reads to find out whether this side is there
	peerRing      udat.RMRTriplet
	greeting      []byte // private data for the peer
	local, remote Addr

	established chan []byte     // the peer's private data
	over        context.Context // ended by cancel, with the reason why nothing can come or go any more
	cancel      context.CancelCauseFunc

	mu            sync.Mutex // guards what follows, and the order of posts
	changed       sync.Cond  // calls in progress look again
	reads, writes calls
	timer         *time.Timer // for check
	checkAt       time.Time   // when nothing may be without an answer
	unanswered    int         // questions to the peer, see ask
	isOpen        bool        // this side may send
	closed        bool        // by Close
	ended         bool        // this side writes no more
	peerEnded     bool
	allArrived    bool // that ever will

	sending
	receiving
}

// calls is what the Reads of a connection have, and the Writes. One of them is in progress at a time.
type calls struct {
	inProgress sync.Mutex // taken before Conn.mu
	deadline   time.Time  // zero for none
	timer      *time.Timer
}

func (c *calls) expired() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

func (c *calls) setDeadline(t time.Time, wake func()) {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.deadline = t; !t.IsZero() {
		c.deadline = time.Now().Add(time.Until(t)) // by the clock of the timer, which wakes a call only once
		c.timer = time.AfterFunc(time.Until(c.deadline), wake)
	}
}

// newConn makes a connection with its receives posted.
func (n *Network) newConn() (_ *Conn, err error) {
	c := &Conn{network: n, established: make(chan []byte, 1)}
	c.over, c.cancel = context.WithCancelCause(context.Background())
	c.unanswered, c.timer = 1, time.AfterFunc(handshakeTimeout, c.check) // the first question is whether the peer connects
	c.changed.L = &c.mu
	defer func() {
		if err != nil {
			c.free()
		}
	}()
	const othersAt = ringSize + receives*bufferSize
	memory := make([]byte, othersAt+3*headerSize)
	c.staging = memory[:ringSize]
	c.buffers = slices.Collect(slices.Chunk(memory[ringSize:othersAt], bufferSize))
	others := slices.Collect(slices.Chunk(memory[othersAt:], headerSize))
	c.credit, c.ending, c.word = others[0], others[1], others[2]
	local := udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if c.memory, err = udat.RegisterMemory(n.pz, memory, local); err != nil {
		return nil, err
	}
	if c.ring, err = udat.RegisterMemory(n.pz, make([]byte, ringSize), local|udat.MemPrivRemoteRead|udat.MemPrivRemoteWrite); err != nil {
		return nil, err
	}
	ring, err := c.ring.RMRTriplet(0, ringSize)
	if err != nil {
		return nil, err
	}
	c.greeting, _ = ring.AppendBinary([]byte(magic)) // never an error
	if c.evd, err = udat.CreateEVD(n.ia, receives+requests, nil, udat.EVDDTO); err != nil {
		return nil, err
	}
	if c.ep, err = udat.CreateEP(n.ia, n.pz, c.evd, c.evd, n.connections, &udat.EPAttr{MaxRecvDTOs: receives, MaxRequestDTOs: requests}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Err() != nil {
		return nil, net.ErrClosed
	}
	n.conns[c.ep] = c
	n.alive.Add(1)
	for buffer := range receives {
		c.postReceive(buffer)
	}
	go c.run()
	return c, nil
}

// free frees what newConn has made.
func (c *Conn) free() {
	c.timer.Stop()
	_ = errors.Join(c.ep.Free(), c.evd.Free(), c.memory.Free(), c.ring.Free())
}

// establish waits until the endpoint is connected, and returns the peer's private data.
func (c *Conn) establish(ctx context.Context) ([]byte, error) {
	select {
	case private := <-c.established:
		return private, nil
	case <-c.over.Done():
		return nil, context.Cause(c.over)
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			return nil, os.ErrDeadlineExceeded
		}
		return nil, ctx.Err()
	}
}

// open begins the stream: from now on the connection is the program's.
func (c *Conn) open(local, remote Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local, c.remote = local, remote
	c.isOpen = true
	c.unanswered--
	c.timer.Reset(keepAlive)
}

// ask reads a word of the peer's ring. The answer says that the peer's adapter is there, and that everything that was
// posted before has arrived, over iWARP, too.
func (c *Conn) ask(within time.Duration) {
	c.unanswered++
	c.checkAt = time.Now().Add(within)
	c.timer.Reset(within)
	c.post(c.word, udat.Post{Operation: udat.DTORDMARead, Remote: c.peerRing, Cookie: cookieRead})
}

// check is called when nothing may be without an answer.
func (c *Conn) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over.Err() != nil || time.Now().Before(c.checkAt): // Close has asked meanwhile
	case c.unanswered > 0:
		c.cancel(syscall.ETIMEDOUT)
	default:
		c.ask(keepAlive)
	}
}

// run takes completions until the connection is over, and frees what the adapter needs. The program can still read.
func (c *Conn) run() {
	events := make([]udat.Event, 32)
	for c.over.Err() == nil {
		n, err := c.evd.WaitBatch(c.over, events, 1)
		if err != nil {
			c.broken(err)
		}
		c.take(events[:n])
	}
	_ = c.ep.Disconnect(udat.CloseAbrupt)
	for n := 1; n > 0; { // what had arrived before counts
		n, _ = c.evd.Poll(events)
		c.take(events[:n])
	}
	c.mu.Lock()
	c.isOpen, c.allArrived = false, true
	c.changed.Broadcast()
	c.mu.Unlock()
	c.network.mu.Lock()
	delete(c.network.conns, c.ep)
	c.network.mu.Unlock()
	c.free()
	c.network.alive.Done()
}

// Cookies of receives are the numbers of their buffers.
const (
	cookieWrite = receives + iota
	cookieCredit
	cookieEnd
	cookieRead
	cookieMessage // and the slots that it takes
)

// take handles completions.
func (c *Conn) take(events []udat.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, event := range events {
		err := event.Err()
		switch {
		case err != nil:
		case event.Cookie < receives:
			err = c.arrived(int(event.Cookie), int(event.Length))
		case event.Cookie > cookieMessage:
			c.completed += uint32(event.Cookie - cookieMessage)
		case event.Cookie == cookieCredit:
			c.reporting = false
		case event.Cookie == cookieRead:
			c.unanswered--
			if c.closed && c.unanswered == 0 {
				c.cancel(net.ErrClosed)
			}
		}
		if err != nil && !errors.Is(err, udat.DTOErrFlushed) { // then the event of the end says why
			c.broken(err)
		}
	}
	c.report()
	c.changed.Broadcast()
}

// broken ends the connection, unless it is over.
func (c *Conn) broken(cause error) { c.cancel(failure{syscall.ECONNRESET, cause}) }

// Close ends the connection. What was written before still arrives, unless the peer takes longer than a few seconds, or
// the program ends: before it does, it must call Network.Close, which waits. Calls in flight return net.ErrClosed.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.closed = true
	c.reads.setDeadline(time.Time{}, nil)
	c.writes.setDeadline(time.Time{}, nil)
	c.changed.Broadcast()
	if c.isOpen {
		c.end()
		c.ask(linger)
	} else {
		c.cancel(net.ErrClosed)
	}
	return nil
}

// CloseWrite ends the stream to the peer, whose Read returns io.EOF when it has read everything. The stream from the peer
// goes on.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := context.Cause(c.over)
	if c.closed {
		err = net.ErrClosed
	} else if err == nil {
		c.end()
	}
	return c.opError("close", err)
}

// mayRead returns why a Read cannot go on, or nil if it may read or wait.
func (c *Conn) mayRead() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.reads.expired():
		return os.ErrDeadlineExceeded
	case c.received != c.read || !c.peerEnded && !c.allArrived:
		return nil
	case c.peerEnded:
		return io.EOF
	}
	return context.Cause(c.over)
}

// mayWrite returns why a Write cannot go on, or nil if it may write or wait.
func (c *Conn) mayWrite() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.writes.expired():
		return os.ErrDeadlineExceeded
	case c.ended:
		return syscall.EPIPE
	}
	return context.Cause(c.over)
}

// opError is the error of a call on a connection. io.EOF stays as it is: programs compare it.
func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: network, Source: c.local, Addr: c.remote, Err: err}
}

// LocalAddr returns the address of this side, an Addr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the peer, an Addr.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.reads, &c.writes) }

// SetReadDeadline sets the time at which Read, also one that waits, returns an error that matches os.ErrDeadlineExceeded.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.reads) }

// SetWriteDeadline is SetReadDeadline for Write. A Write that ends by it may have written a part, whose length it
// returns; the stream goes on behind that.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writes) }

func (c *Conn) setDeadlines(t time.Time, of ...*calls) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	for _, calls := range of {
		calls.setDeadline(t, c.wake)
	}
	c.changed.Broadcast()
	return nil
}

func (c *Conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}
