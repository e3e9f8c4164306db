package stream

import "github.com/goudat/goudat/udat"

// receiving is what comes from the peer. All counts are totals that wrap.
type receiving struct {
	received, read, reported uint32       // slots; read by the program, of which the peer knows
	unread                   [slots]piece // by the slot in which the message begins
	buffers                  [][]byte
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
	h, err := parseHeader(message)
	if err != nil {
		return err
	}
	at, taken := c.received%slots, slotsFor(h.length)
	switch {
	case h.read-c.readByPeer > c.sent-c.readByPeer, // it has read what was not sent
		c.peerEnded && (h.kind == kindEnd || h.length > 0),
		h.length > 0 && (c.received-c.read+taken > slots || at+taken > slots):
		return errNonsense
	}
	c.readByPeer = h.read
	c.peerEnded = c.peerEnded || h.kind == kindEnd
	if h.length == 0 {
		c.postReceive(buffer)
		return nil
	}
	data := message[headerSize:]
	if h.length > mostShort {
		data = c.ring.Bytes()[at*slotSize:][:h.length]
	}
	c.unread[at] = piece{buffer, taken, data}
	c.received += taken
	return nil
}

// Read reads from the stream what there is. After the peer's CloseWrite or Close it returns io.EOF, and when the
// connection broke an error, but not before it has returned everything that had arrived.
func (c *Conn) Read(p []byte) (n int, err error) {
	c.reads.inProgress.Lock()
	defer c.reads.inProgress.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for err = c.mayRead(); err == nil && c.received == c.read && len(p) > 0; err = c.mayRead() {
		c.changed.Wait()
	}
	for err == nil && c.received != c.read && n < len(p) {
		first := &c.unread[c.read%slots]
		c.mu.Unlock() // nobody else uses the piece, since one Read is in progress
		copied := copy(p[n:], first.data)
		c.mu.Lock()
		n += copied
		first.data = first.data[copied:]
		if len(first.data) == 0 {
			c.read += first.slots
			c.postReceive(first.buffer)
			c.report()
		}
	}
	return n, c.opError("read", err)
}
