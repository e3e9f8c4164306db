package mpi

// credits keeps the account of a connection. Each message takes one of the
// receives that the peer has posted, so that none comes when there is none: a
// credit is the right to send one message.
//
// The last credit is kept for a message that returns credits. Two peers that
// have both run out of the others can thus always tell each other of receives
// that they have posted again, and neither waits for the other.
type credits struct {
	depth int // receives that each side posts, at least 4
	mine  int // messages that may be sent
	owed  int // receives posted again of which the peer has not been told
}

func newCredits(depth int) credits { return credits{depth: depth, mine: depth} }

// spend takes a credit for a message that may have to wait.
func (c *credits) spend() bool { return c.take(2) }

// spendLast takes a credit for a message that returns credits.
func (c *credits) spendLast() bool { return c.take(1) }

func (c *credits) take(least int) bool {
	if c.mine < least {
		return false
	}
	c.mine--
	return true
}

// posted counts a receive that was posted again.
func (c *credits) posted() { c.owed++ }

// due tells whether so much is owed that the peer may be waiting for it.
func (c *credits) due() bool { return c.owed >= c.depth/2 }

// settle gives what is owed, for the header of a message.
func (c *credits) settle() uint16 {
	owed := c.owed
	c.owed = 0
	return uint16(owed)
}

// returned adds what the header of the peer's message has. It is false when
// that is more than the peer can have.
func (c *credits) returned(n uint16) bool {
	c.mine += int(n)
	return c.mine <= c.depth
}
