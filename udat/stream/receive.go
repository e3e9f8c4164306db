package stream

import (
	"io"

	"github.com/goudat/goudat/udat"
)

// receiving is what comes from the peer. All counts are totals that wrap.
type receiving struct {
	received, read, reported uint32  // slots; read by the program, of which the peer knows
	unread                   []piece // by the slot in which the message begins
}

// A piece is what the program has not read of a message yet.
type piece struct {
	buffer int // of the message, whose receive is posted again when everything was read
	slots  uint32
	data   []byte
}

func (c *Conn) postReceive(buffer int) {
	c.post(c.buffers[buffer], udat.Post{Operation: udat.DTOReceive, Cookie: uint64(buffer)})
}

// arrived takes a message.
func (c *Conn) arrived(buffer, length int) error {
	message := c.buffers[buffer][:length]
	h, err := c.parseHeader(message)
	if err != nil {
		return err
	}
	at, taken := c.received%c.slots, c.slotsFor(h.length)
	switch {
	case h.read-c.readByPeer > c.sent-c.readByPeer, // it has read what was not sent
		c.peerEnded && (h.kind == kindEnd || h.length > 0),
		h.length > 0 && (c.received-c.read+taken > c.slots || at+taken > c.slots):
		return ErrProtocol
	}
	c.readByPeer = h.read
	c.peerEnded = c.peerEnded || h.kind == kindEnd
	if h.length == 0 {
		c.postReceive(buffer)
		return nil
	}
	data := message[headerSize:]
	if h.length > c.mostShort() {
		data = c.ringBytes[at*c.slotSize:][:h.length]
	}
	c.unread[at] = piece{buffer, taken, data}
	c.received += taken
	return nil
}

// awaitData waits until there is something to read. The caller has begun a call.
func (c *Conn) awaitData() (err error) {
	for err = c.mayRead(); err == nil && c.received == c.read; err = c.mayRead() {
		c.changed.Wait()
	}
	return err
}

// use has f use what comes next, and takes as much out of the stream as f says.
func (c *Conn) use(f func(data []byte) (int, error)) (n int, err error) {
	first := &c.unread[c.read%c.slots]
	data := first.data // nobody else takes it, since one Read is in progress
	n, err = c.unlocked(func() (int, error) { return f(data) })
	if first.data = first.data[n:]; len(first.data) == 0 {
		c.read += first.slots
		c.postReceive(first.buffer)
		c.report()
	}
	return n, err
}

// Read reads from the stream what there is. After the peer's CloseWrite or Close it returns io.EOF, and when the
// connection broke an error, but not before it has returned everything that had arrived.
func (c *Conn) Read(p []byte) (n int, err error) {
	c.begin(&c.reads)
	defer c.leave(&c.reads)
	if len(p) == 0 {
		return 0, c.opError("read", c.mayRead())
	}
	for err = c.awaitData(); err == nil && c.received != c.read && n < len(p); {
		took, _ := c.use(func(data []byte) (int, error) { return copy(p[n:], data), nil })
		n += took
	}
	return n, c.opError("read", err)
}

// WriteTo writes what comes to w, from the memory where it has arrived, until io.EOF. Reads wait meanwhile.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	c.begin(&c.reads)
	defer c.leave(&c.reads)
	for {
		if err := c.awaitData(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, c.opError("read", err)
		}
		took, err := c.use(func(data []byte) (int, error) {
			n, err := w.Write(data)
			if err == nil && n < len(data) {
				err = io.ErrShortWrite
			}
			return n, err
		})
		if n += int64(took); err != nil {
			return n, err
		}
	}
}
