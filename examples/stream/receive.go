package stream

import "github.com/goudat/goudat/udat"

// receiving has the messages that the program has not read yet, in order.
type receiving struct {
	pieces      [slots]piece
	first       int
	count       int
	ring        uint32 // bytes of the ring that were written
	read        uint32 // messages
	ringRead    uint32
	told        uint32 // what the peer knows of read
	toldOfBytes uint32 // and of ringRead
}

// A piece is what is left of a message.
type piece struct {
	slot   int // of the message itself, whose receive is posted again when the piece was read
	length uint32
	long   bool
	unread []byte
}

// report puts the counters into a header that is sent.
func (r *receiving) report(h *header) {
	h.messages, h.bytes = r.read, r.ringRead
	r.told, r.toldOfBytes = r.read, r.ringRead
}

// reportDue reports whether the peer should get a message for the counters alone. It can go on with half of its room
// meanwhile, and at most two such messages of each kind are on their way, for which there are spare receives.
func (r *receiving) reportDue() bool {
	return r.read-r.told >= slots/2 || r.ringRead-r.toldOfBytes >= ringSize/2
}

func (c *Conn) postReceive(slot int) error {
	segment, err := c.memory.Segment(receiveSlots+slot*slotSize, slotSize)
	if err != nil {
		return err
	}
	return c.ep.PostRecv([]udat.Segment{segment}, cookieReceive+uint64(slot), 0)
}

// arrived takes a message.
func (c *Conn) arrived(slot, length int) error {
	message := c.memory.Bytes()[receiveSlots+slot*slotSize:][:length]
	h, err := parseHeader(message)
	if err != nil {
		return err
	}
	if !isClosed(c.greeted) {
		close(c.greeted)
	}
	r := &c.receiving
	switch h.kind {
	case kindShort, kindLong:
		if c.peerEnded || r.count == slots {
			return errNonsense
		}
		p := piece{slot: slot, length: h.length, unread: message[headerSize:]}
		if h.kind == kindLong {
			at := int(r.ring % ringSize)
			if int(h.length) > ringSize-at || r.ring-r.ringRead+h.length > ringSize {
				return errNonsense
			}
			r.ring += h.length
			p.long, p.unread = true, c.ring.Bytes()[at:at+int(h.length)]
		}
		r.pieces[(r.first+r.count)%slots] = p
		r.count++
	case kindEnd:
		if c.peerEnded {
			return errNonsense
		}
		c.peerEnded = true
		fallthrough
	default:
		// Before the counters count, since they let the peer send more.
		c.receiveAgain(slot)
	}
	return c.sending.acknowledge(h)
}

// receiveAgain posts a receive again. When the connection has ended, which the event tells, there is no need to.
func (c *Conn) receiveAgain(slot int) {
	if err := c.postReceive(slot); err != nil && !c.isClosed {
		c.abort()
	}
}

// Read reads from the stream what there is. After the peer's CloseWrite or Close it returns io.EOF, and when the
// connection broke an error, but not before it has returned everything that had arrived.
func (c *Conn) Read(p []byte) (n int, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		c.mu.Lock()
		err := c.mayRead()
		ready := c.receiving.count
		c.mu.Unlock()
		if err != nil || len(p) == 0 {
			return 0, c.opError("read", err)
		}
		for range ready {
			n += c.readPiece(p[n:])
		}
		if n > 0 {
			return n, nil
		}
		select {
		case <-c.readable:
		case <-c.readDeadline.wait():
		case <-c.closed:
		}
	}
}

// readPiece copies from the first piece. No other Read is in progress, so that nobody else uses it.
func (c *Conn) readPiece(p []byte) int {
	r := &c.receiving
	first := &r.pieces[r.first]
	n := copy(p, first.unread)
	first.unread = first.unread[n:]
	if len(first.unread) > 0 {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := first.slot
	r.read++
	if first.long {
		r.ringRead += first.length
	}
	r.first = (r.first + 1) % slots
	r.count--
	c.receiveAgain(slot)
	c.sendDue()
	return n
}
