package mpi

// Bcast copies the root's numbers to all ranks.
func Bcast[T Number](c *Comm, numbers []T, root int) error { return Ibcast(c, numbers, root).end() }

// Ibcast begins a Bcast and returns its Request.
func Ibcast[T Number](c *Comm, numbers []T, root int) *Request {
	if err := c.checkRoot(root); err != nil {
		return c.refuse(err)
	}
	if c.Size() > 2 && bytesOf(numbers) >= c.world.thresholds.bcast {
		return bcastLong(c, numbers, root)
	}
	return bcastShort(c, numbers, root)
}

// tree is the position of a rank in a binomial tree.
type tree struct {
	size, root int
	position   int // 0 for the root
	bit        int // the lowest set bit of the position; for the root, the first power of two that is not below size
}

func (c *Comm) tree(root int) tree {
	t := tree{size: c.Size(), root: root, position: (c.rank - root + c.Size()) % c.Size(), bit: 1}
	for t.bit < t.size && t.position&t.bit == 0 {
		t.bit *= 2
	}
	return t
}

// rank returns the rank at a position.
func (t tree) rank(position int) int { return (position + t.root) % t.size }

// end returns the position after the last one of a subtree that begins at the position and has the given bit.
func (t tree) end(position, bit int) int { return min(position+bit, t.size) }

// parent returns the rank at the position without its lowest bit.
func (t tree) parent() int { return t.rank(t.position - t.bit) }

// children returns the bits that lead to a rank's children, the largest subtree first.
func (t tree) children() (bits []int) {
	for bit := t.bit / 2; bit > 0; bit /= 2 {
		if t.position+bit < t.size {
			bits = append(bits, bit)
		}
	}
	return bits
}

// bcastShort sends all numbers along a binomial tree.
func bcastShort[T Number](c *Comm, numbers []T, root int) *Request {
	s := c.schedule("bcast along a tree", root, kindOf[T]())
	t := c.tree(root)
	if t.position > 0 {
		s.receive(dataOf(numbers), t.parent())
		s.wait()
	}
	for _, bit := range t.children() {
		s.send(dataOf(numbers), t.rank(t.position+bit))
	}
	return s.start()
}

// bcastLong sends each rank a part along the tree, and then passes the parts around a ring, so that each number
// leaves the root about once.
func bcastLong[T Number](c *Comm, numbers []T, root int) *Request {
	s := c.schedule("bcast in parts", root, kindOf[T]())
	t := c.tree(root)
	each := (len(numbers) + t.size - 1) / t.size
	between := func(from, to int) data {
		return dataOf(numbers[min(from*each, len(numbers)):min(to*each, len(numbers))])
	}
	if t.position > 0 {
		s.receive(between(t.position, t.end(t.position, t.bit)), t.parent())
		s.wait()
	}
	for _, bit := range t.children() {
		child := t.position + bit
		s.send(between(child, t.end(child, bit)), t.rank(child))
	}
	for step := range t.size - 1 {
		in, out := (t.position-step-1+t.size)%t.size, (t.position-step+t.size)%t.size
		s.receive(between(in, in+1), t.rank(t.position+t.size-1))
		s.send(between(out, out+1), t.rank(t.position+1))
		s.wait()
	}
	return s.start()
}
