package stream

import (
	"io"

	"github.com/goudat/goudat/udat"
)

const (
	// fewOnTheirWay is with how many messages that have not arrived a Write gathers: then one of these is about to, and what
	// was gathered follows it.
	fewOnTheirWay  = 4
	mostOnTheirWay = 8 // a Write waits
	// requests are outstanding at most: messages and their data, with those that an end sends, a report, the end, and two
	// questions.
	requests = 2*(mostOnTheirWay+1) + 4
)

// sending is what goes to the peer. All counts are totals that wrap. Messages wait in the slots of staging,
// until the adapter is done with them, and longer ones in those of the peer's ring, until the peer's program has read them.
type sending struct {
	sent, completed, readByPeer uint32 // slots
	onTheirWay                  int    // messages with data
	gathered                    uint32 // bytes of the next message that are there
	filling                     bool   // a Write adds to these
	reporting                   bool   // the adapter uses credit
}

// Write writes to the stream. It returns when everything is in the memory of the connection: it waits while the peer
// does not read.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.begin(&c.writes)
	defer c.leave(&c.writes)
	err = c.mayWrite()
	for err == nil && n < len(p) {
		room := c.room()
		if len(room) == 0 {
			c.changed.Wait()
			err = c.mayWrite()
			continue
		}
		c.filling = true
		copied, _ := c.unlocked(func() (int, error) { return copy(room, p[n:]), nil }) // nobody else uses the room
		c.filling = false
		if err = c.mayWrite(); err == nil {
			c.gathered += uint32(copied)
			n += copied
		}
		if copied == len(room) || c.onTheirWay < fewOnTheirWay {
			c.sendGathered()
		}
	}
	return n, c.opError("write", err)
}

// ReadFrom writes what it reads from r, until io.EOF, in messages that are as long as they can be.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{c}, r, make([]byte, c.most()))
}

// room returns what there is for data in the next message, behind what is there.
func (c *Conn) room() []byte {
	at := c.sent % c.staged()
	free := min(c.slots-(c.sent-c.readByPeer), c.staged()-(c.sent-c.completed), c.staged()-at, c.mostOfOne())
	if free == 0 || c.onTheirWay == mostOnTheirWay {
		return nil
	}
	return c.staging[at*c.slotSize:][:free*c.slotSize][headerSize+c.gathered:]
}

// sendGathered sends the next message, if there is something in it.
func (c *Conn) sendGathered() {
	if c.gathered == 0 {
		return
	}
	h := header{kind: kindData, length: c.gathered}
	message := c.staging[c.sent%c.staged()*c.slotSize:][:headerSize+c.gathered]
	if h.length > c.mostShort() {
		to, _ := c.peerRing.Slice(int(c.sent%c.slots*c.slotSize), int(h.length)) // the ring has the size: see sizes.with
		c.post(message[headerSize:], udat.Post{Operation: udat.DTORDMAWrite, Remote: to, Cookie: cookieWrite, Flags: udat.CompletionSuppress})
		message = message[:headerSize]
	}
	taken := c.slotsFor(h.length)
	c.sent += taken
	c.onTheirWay++
	c.gathered = 0
	c.send(h, message, cookieMessage+uint64(taken))
}

// send completes a message, and sends it, unless the connection is over: then the memory may be another's.
func (c *Conn) send(h header, message []byte, cookie uint64) {
	if c.over.Err() != nil {
		return
	}
	h.read = c.read
	c.reported = c.read
	h.put(message)
	c.post(message, udat.Post{Operation: udat.DTOSend, Cookie: cookie})
}

// report tells the peer what the program has read, as soon as that is half of what the peer may send. At most two reports
// are on their way, since the peer sends no more without them.
func (c *Conn) report() {
	if c.read-c.reported >= c.slots/2 && !c.reporting {
		c.reporting = true
		c.send(header{kind: kindData}, c.credit, cookieCredit)
	}
}

// end ends the stream to the peer.
func (c *Conn) end() {
	if !c.ended {
		c.ended = true
		c.sendGathered()
		c.send(header{kind: kindEnd}, c.ending, cookieEnd)
	}
}

// post posts an operation on memory of the connection, unless that is over. If the endpoint refuses it, it is.
func (c *Conn) post(memory []byte, operation udat.Post) {
	if c.over.Err() != nil {
		return
	}
	segment, err := c.memory.local.SegmentOf(memory)
	if err == nil {
		operation.Segments = []udat.Segment{segment}
		_, err = c.ep.PostBatch([]udat.Post{operation})
	}
	if err != nil {
		c.broken(err)
	}
}
