package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// Conn is a net.Conn over an endpoint. It has one goroutine, which takes the completions (run). Calls copy between the
// program's memory and that of the connection, and do not touch the former when they have returned.
//
// As with TCP, Read and Write may be called at the same time, calls return errors that match net.ErrClosed,
// os.ErrDeadlineExceeded, ECONNRESET, ETIMEDOUT or EPIPE, and Read returns io.EOF after the peer's Close or CloseWrite.
type Conn struct {
	adapter       *Adapter
	ep            *udat.EP
	evd           *udat.EVD // completions
	greeting      []byte    // private data for the peer
	local, remote Addr

	established chan []byte     // the peer's private data
	over        context.Context // ended by cancel, with the reason why nothing can come or go any more
	cancel      context.CancelCauseFunc

	mu            sync.Mutex // guards what follows, and the order of posts
	changed       sync.Cond  // calls in progress look again
	reads, writes calls
	*memory            // given back when users is 0
	users         int  // calls in progress, and run
	freed         bool // the endpoint is, which can reach memory
	sizes
	peerRing   udat.RMRTriplet
	timer      *time.Timer // for check
	checkAt    time.Time   // when nothing may be without an answer
	unanswered int         // questions to the peer, see ask
	linger     time.Duration
	isOpen     bool // this side may send
	closed     bool // by Close
	ended      bool // this side writes no more
	peerEnded  bool
	allArrived bool // that ever will

	sending
	receiving
}

// calls is what the Reads of a connection have, and the Writes. One of them is in progress at a time.
type calls struct {
	inProgress sync.Mutex // taken before Conn.mu
	deadline   time.Time  // zero for none
	timer      *time.Timer
}

func (k *calls) expired() bool { return !k.deadline.IsZero() && !time.Now().Before(k.deadline) }

func (k *calls) setDeadline(t time.Time, wake func()) {
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.deadline = t; !t.IsZero() {
		k.deadline = time.Now().Add(time.Until(t)) // by the clock of the timer, which wakes a call only once
		k.timer = time.AfterFunc(time.Until(k.deadline), wake)
	}
}

// begin begins a call, which may use the memory of the connection until it leaves. It holds mu.
func (c *Conn) begin(k *calls) {
	k.inProgress.Lock()
	c.mu.Lock()
	c.users++
}

func (c *Conn) leave(k *calls) {
	c.forgetMemory()
	c.mu.Unlock()
	k.inProgress.Unlock()
}

// forgetMemory is called for each user of the memory when it is done.
func (c *Conn) forgetMemory() {
	if c.users--; c.users == 0 && c.freed {
		c.freed = false
		c.adapter.giveMemory(c.memory)
	}
}

// unlocked runs f, which must not hold up others.
func (c *Conn) unlocked(f func() (int, error)) (int, error) {
	c.mu.Unlock()
	defer c.mu.Lock()
	return f()
}

// newConn makes a connection with its receives posted.
func (a *Adapter) newConn() (_ *Conn, err error) {
	c := &Conn{adapter: a, established: make(chan []byte, 1), sizes: a.config.sizes(), linger: a.config.Linger, users: 1}
	c.over, c.cancel = context.WithCancelCause(context.Background())
	c.changed.L = &c.mu
	if c.memory, err = a.takeMemory(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.free()
		}
	}()
	ring, err := c.ring.RMRTriplet(0, int(c.window()))
	if err != nil {
		return nil, err
	}
	c.greeting = greeting{c.slots, c.short, ring}.bytes()
	c.unread = make([]piece, c.slots)
	if c.evd, err = udat.CreateEVD(a.ia, len(c.buffers)+requests, nil, udat.EVDDTO); err != nil {
		return nil, err
	}
	attr := &udat.EPAttr{MaxRecvDTOs: len(c.buffers), MaxRequestDTOs: requests}
	if c.ep, err = udat.CreateEP(a.ia, c.pz, c.evd, c.evd, a.connections, attr); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed.Err() != nil {
		return nil, net.ErrClosed
	}
	a.conns[c.ep] = c
	a.alive.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for buffer := range c.buffers {
		c.postReceive(buffer)
	}
	go c.run()
	return c, nil
}

// free frees what newConn has made. If the library cannot free the endpoint, the memory stays, too, until the adapter is
// closed.
func (c *Conn) free() {
	var err error
	if c.ep != nil {
		err = c.ep.Free()
	}
	if c.evd != nil {
		err = errors.Join(err, c.evd.Free())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freed = err == nil
	c.forgetMemory()
}

// establish waits until the endpoint is connected, and returns the peer's private data.
func (c *Conn) establish(ctx context.Context) ([]byte, error) {
	var err error
	select {
	case private := <-c.established:
		return private, nil
	case <-c.over.Done():
		err = context.Cause(c.over)
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case private := <-c.established: // and over since: the peer may have written, closed and gone
		return private, nil
	default:
		return nil, err
	}
}

// agree takes the sizes that both sides have.
func (c *Conn) agree(peer greeting) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received > 0 { // it sends before it may
		return ErrProtocol
	}
	c.sizes, c.peerRing = c.sizes.with(peer), peer.ring
	return nil
}

// open begins the stream: from now on the connection is the program's.
func (c *Conn) open(local, remote Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local, c.remote = local, remote
	c.isOpen = !c.allArrived
	if every := c.adapter.config.KeepAlive; every > 0 && c.isOpen {
		c.checkIn(every)
	}
}

func (c *Conn) checkIn(within time.Duration) {
	if c.checkAt = time.Now().Add(within); c.timer == nil {
		c.timer = time.AfterFunc(within, c.check)
	} else {
		c.timer.Reset(within)
	}
}

// ask reads a word of the peer's ring. The answer says that the peer's adapter is there, and that everything that was
// posted before has arrived, over iWARP, too.
func (c *Conn) ask() {
	c.unanswered++
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
		c.ask()
		c.checkIn(c.adapter.config.KeepAlive)
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
	if c.timer != nil {
		c.timer.Stop()
	}
	for i := range c.unread { // for the program, which may never close the connection
		c.unread[i].data = bytes.Clone(c.unread[i].data)
	}
	c.isOpen, c.allArrived = false, true
	c.changed.Broadcast()
	c.mu.Unlock()
	c.adapter.mu.Lock()
	delete(c.adapter.conns, c.ep)
	c.adapter.mu.Unlock()
	c.free()
	c.adapter.alive.Done()
}

// Cookies of receives are the numbers of their buffers.
const (
	cookieWrite = mostSlots + more + iota
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
		case event.Cookie < cookieWrite:
			err = c.arrived(int(event.Cookie), int(event.Length))
		case event.Cookie > cookieMessage:
			c.completed += uint32(event.Cookie - cookieMessage)
			c.onTheirWay--
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
	if c.onTheirWay < fewOnTheirWay && !c.filling {
		c.sendGathered()
	}
	c.report()
	c.changed.Broadcast()
}

// broken ends the connection, unless it is over.
func (c *Conn) broken(cause error) { c.cancel(failure{syscall.ECONNRESET, cause}) }

// Close ends the connection, and waits until everything that was written is in the peer's memory, where the peer's program
// can read it after this process has ended. That takes a round trip between the adapters, and with a peer that is gone
// Config.Linger, or what SetLinger has set: then Close returns an error that matches ETIMEDOUT. Calls in flight return
// net.ErrClosed at once.
func (c *Conn) Close() error {
	if err := c.beginClose(); err != nil {
		return err
	}
	<-c.over.Done()
	if err := context.Cause(c.over); err == syscall.ETIMEDOUT {
		return c.opError("close", err)
	}
	return nil
}

func (c *Conn) beginClose() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.closed = true
	c.reads.setDeadline(time.Time{}, nil)
	c.writes.setDeadline(time.Time{}, nil)
	c.changed.Broadcast()
	if c.isOpen && c.linger > 0 {
		c.end()
		c.ask()
		c.checkIn(c.linger)
	} else {
		c.cancel(net.ErrClosed)
	}
	return nil
}

// SetLinger sets how long Close waits at most until everything that was written is in the peer's memory. With 0, Close
// discards what is not there yet, and returns at once. If sec is negative, Close waits as Config.Linger says.
func (c *Conn) SetLinger(sec int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	if c.linger = time.Duration(sec) * time.Second; sec < 0 {
		c.linger = c.adapter.config.Linger
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
	return &net.OpError{Op: op, Net: networkName, Source: c.local, Addr: c.remote, Err: err}
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
