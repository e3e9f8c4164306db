package stream

import "github.com/goudat/goudat/udat"

const requests = 2*slots + 4 // outstanding at most: messages and their data, a report, the end, and two questions

// sending is what goes to the peer. All counts are totals that wrap. Messages wait in staging, in the slots that they have
// in the peer's ring. These are free again when the adapter is done with them, and the peer's program has read them.
type sending struct {
	staging                     []byte
	sent, completed, readByPeer uint32 // slots

	credit, ending, word []byte // the messages of report and end, and what ask reads
	reporting            bool   // the adapter uses credit
}

// Write writes to the stream. It returns when everything is in the memory of the connection: it waits while the peer
// does not read.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writes.inProgress.Lock()
	defer c.writes.inProgress.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.mayWrite()
	for err == nil && n < len(p) {
		at := c.sent % slots
		free := min(slots-max(c.sent-c.completed, c.sent-c.readByPeer), slots-at)
		if free == 0 {
			c.changed.Wait()
			err = c.mayWrite()
			continue
		}
		message := c.staging[at*slotSize:][:min(headerSize+min(len(p)-n, chunk), int(free)*slotSize)]
		c.mu.Unlock() // nobody else uses the slots, since one Write is in progress
		copied := copy(message[headerSize:], p[n:])
		c.mu.Lock()
		if err = c.mayWrite(); err == nil {
			c.sendData(message)
			n += copied
		}
	}
	return n, c.opError("write", err)
}

// sendData sends the message in the next slots, which lacks the header.
func (c *Conn) sendData(message []byte) {
	data := message[headerSize:]
	h := header{kind: kindData, length: uint32(len(data))}
	if len(data) > mostShort {
		to, _ := c.peerRing.Slice(int(c.sent%slots)*slotSize, len(data)) // the ring has the size: see parseGreeting
		c.post(data, udat.Post{Operation: udat.DTORDMAWrite, Remote: to, Cookie: cookieWrite, Flags: udat.CompletionSuppress})
		message = message[:headerSize]
	}
	c.sent += slotsFor(h.length)
	c.send(h, message, cookieMessage+uint64(slotsFor(h.length)))
}

// send completes a message, and sends it.
func (c *Conn) send(h header, message []byte, cookie uint64) {
	h.read = c.read
	c.reported = c.read
	h.put(message)
	c.post(message, udat.Post{Operation: udat.DTOSend, Cookie: cookie})
}

// report tells the peer what the program has read, as soon as that is half of what the peer may send. At most two reports
// are on their way, since the peer sends no more without them.
func (c *Conn) report() {
	if c.read-c.reported >= slots/2 && !c.reporting {
		c.reporting = true
		c.send(header{kind: kindData}, c.credit, cookieCredit)
	}
}

// end ends the stream to the peer.
func (c *Conn) end() {
	if !c.ended {
		c.ended = true
		c.send(header{kind: kindEnd}, c.ending, cookieEnd)
	}
}

// post posts an operation on memory of the connection. If the endpoint refuses it, the connection is over.
func (c *Conn) post(memory []byte, operation udat.Post) {
	segment, err := c.memory.SegmentOf(memory)
	if err == nil {
		operation.Segments = []udat.Segment{segment}
		_, err = c.ep.PostBatch([]udat.Post{operation})
	}
	if err != nil {
		c.broken(err)
	}
}
