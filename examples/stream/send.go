package stream

import (
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// The memory of a connection that the peer cannot reach. Message i is in send slot i modulo slots. A long message is
// staged at the same place at which it is written to the peer's ring.
const (
	sendSlots    = 0
	controlSlots = sendSlots + slots*slotSize
	staging      = controlSlots + controls*headerSize
	receiveSlots = staging + ringSize
	probeWord    = receiveSlots + receives*slotSize
	memorySize   = probeWord + 8
)

// keepAlive is how often a connection looks whether the peer's adapter answers. If one look has no answer until the next
// is due, the peer is gone.
var keepAlive = 15 * time.Second

// sending counts what goes to the peer. All counts are totals that wrap. Memory is free again when the adapter is done
// with it, and the peer too.
type sending struct {
	posted, completed, read       uint32 // messages with data; read by the peer's program
	ring, ringCompleted, ringRead uint32 // bytes of long ones
	ringEnds                      [slots]uint32
}

func (s *sending) done(slot int) {
	s.completed++
	s.ringCompleted = s.ringEnds[slot]
}

// acknowledge takes the counters of a header.
func (s *sending) acknowledge(h header) error {
	if h.messages-s.read > s.posted-s.read || h.bytes-s.ringRead > s.ring-s.ringRead {
		return errNonsense // read what was not sent
	}
	s.read, s.ringRead = h.messages, h.bytes
	return nil
}

// room returns how many of the next bytes can go with one message, 0 if there has to be room first.
func (s *sending) room(length int) int {
	if s.posted-s.read == slots || s.posted-s.completed == slots {
		return 0
	}
	if length <= mostShort {
		return length
	}
	used := max(s.ring-s.ringRead, s.ring-s.ringCompleted)
	at := s.ring % ringSize
	return min(length, chunk, ringSize-int(used), ringSize-int(at))
}

// Write writes to the stream. It returns when everything is in the memory of the connection: it waits while the peer
// does not read.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for {
		c.mu.Lock()
		err := c.mayWrite()
		room := c.sending.room(len(p) - n)
		c.mu.Unlock()
		if err != nil || n == len(p) {
			return n, c.opError("write", err)
		}
		if room > 0 {
			if err := c.send(p[n : n+room]); err != nil {
				return n, c.opError("write", err)
			}
			n += room
			continue
		}
		select {
		case <-c.writable:
		case <-c.writeDeadline.wait():
		case <-c.closed:
		}
	}
}

// send sends one message. There is room for it, since one Write is in progress at a time.
func (c *Conn) send(data []byte) error {
	s := &c.sending
	slot := int(s.posted % slots)
	at := int(s.ring % ringSize)
	message := sendSlots + slot*slotSize
	h := header{kind: kindShort, length: uint32(len(data))}
	length := headerSize + len(data)
	if len(data) > mostShort {
		h.kind, length = kindLong, headerSize
		copy(c.memory.Bytes()[staging+at:], data)
	} else {
		copy(c.memory.Bytes()[message+headerSize:], data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mayWrite(); err != nil && err != errTimeout {
		return err
	}
	c.receiving.report(&h)
	h.put(c.memory.Bytes()[message:])
	head, err := c.memory.Segment(message, length)
	if err != nil {
		return err
	}
	posts := [2]udat.Post{1: {Operation: udat.DTOSend, Segments: []udat.Segment{head}, Cookie: cookieMessage + uint64(slot)}}
	batch := posts[1:]
	if h.kind == kindLong {
		body, err := c.memory.Segment(staging+at, len(data))
		if err != nil {
			return err
		}
		to, err := c.peerRing.Slice(at, len(data))
		if err != nil {
			return err
		}
		posts[0] = udat.Post{Operation: udat.DTORDMAWrite, Segments: []udat.Segment{body}, Cookie: cookieWrite, Remote: to, Flags: udat.CompletionSuppress}
		batch = posts[:]
		s.ring += h.length
	}
	s.ringEnds[slot] = s.ring
	s.posted++
	if _, err := c.ep.PostBatch(batch); err != nil {
		return c.refused(err)
	}
	return nil
}

// refused is the end of a connection whose endpoint refuses a post: it has ended, which the event will tell.
func (c *Conn) refused(err error) error {
	c.abort()
	return failure{syscall.ECONNRESET, err}
}

// sendControl sends a message without data, unless all buffers for them are in use.
func (c *Conn) sendControl(k kind) bool {
	for i := range c.controlBusy {
		if c.controlBusy[i] {
			continue
		}
		h := header{kind: k}
		c.receiving.report(&h)
		at := controlSlots + i*headerSize
		h.put(c.memory.Bytes()[at:])
		segment, err := c.memory.Segment(at, headerSize)
		if err == nil {
			err = c.ep.PostSend([]udat.Segment{segment}, cookieControl+uint64(i), 0)
		}
		if err != nil {
			_ = c.refused(err)
			return false
		}
		c.controlBusy[i] = true
		return true
	}
	return false
}

// sendDue sends the messages without data that are due. What has no buffer waits for the next completion.
func (c *Conn) sendDue() {
	if !c.isOpen || c.err != nil {
		return
	}
	if c.endDue && c.sendControl(kindEnd) {
		c.endDue, c.endSent = false, true
	}
	if c.isClosed && c.endSent && !c.lastPosted {
		// When the read completes, everything before it has arrived, over iWARP, too.
		c.lastPosted = true
		c.postRead(cookieLast)
	}
	if c.receiving.reportDue() {
		c.sendControl(kindCredit)
	}
}

// postRead reads a word of the peer's ring, which tells nothing but that the peer's adapter answers.
func (c *Conn) postRead(cookie uint64) {
	word, err := c.memory.Segment(probeWord, 8)
	if err == nil {
		err = c.ep.PostRDMARead([]udat.Segment{word}, cookie, c.peerRing, 0)
	}
	if err != nil {
		_ = c.refused(err)
	}
}

// keepAlive is called now and then.
func (c *Conn) keepAlive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed || c.err != nil {
		return
	}
	if c.probing {
		c.fail(syscall.ETIMEDOUT)
		c.abort()
		return
	}
	c.probing = true
	c.postRead(cookieProbe)
	c.probe.Reset(keepAlive)
}
