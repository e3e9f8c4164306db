package mpi

// Gather gives the root the numbers of all ranks, in the order of the ranks.
// Other ranks may give nil for all.
func Gather[T Number](c *Comm, send, all []T, root int) error {
	return Igather(c, send, all, root).end()
}

// Igather begins a Gather, and does not wait.
func Igather[T Number](c *Comm, send, all []T, root int) *Request {
	err := c.checkRoot(root)
	if err == nil && c.rank == root {
		err = c.checkParts("all", len(all), len(send))
	}
	if err != nil {
		return c.refuse(err)
	}
	if bytesOf(send) >= c.world.thresholds.gather {
		return gatherLong(c, send, all, root)
	}
	return gatherShort(c, send, all, root)
}

// gatherShort goes along a binomial tree: a rank passes on what all ranks behind it have.
func gatherShort[T Number](c *Comm, send, all []T, root int) *Request {
	s := c.schedule("gather along a tree", root, kindOf[T]())
	t := c.tree(root)
	length := len(send)
	collected := make([]T, (t.end(t.position, t.bit)-t.position)*length)
	copy(collected, send)
	for _, bit := range t.children() {
		child := t.position + bit
		s.receive(dataOf(collected[bit*length:][:(t.end(child, bit)-child)*length]), t.rank(child))
	}
	s.then(func() {
		if t.position == 0 {
			for position := range t.size {
				copy(part(all, t.rank(position), t.size), part(collected, position, t.size))
			}
		}
	})
	if t.position > 0 {
		s.send(dataOf(collected), t.parent())
	}
	return s.start()
}

// gatherLong has all send to the root.
func gatherLong[T Number](c *Comm, send, all []T, root int) *Request {
	s := c.schedule("gather", root, kindOf[T]())
	if c.rank != root {
		s.send(dataOf(send), root)
		return s.start()
	}
	for rank := range c.Size() {
		if rank != root {
			s.receive(dataOf(part(all, rank, c.Size())), rank)
		}
	}
	copy(part(all, root, c.Size()), send)
	return s.start()
}

// Gatherv is a Gather of as many numbers from each rank as the root says in
// counts. Other ranks may give nil for all and counts.
func Gatherv[T Number](c *Comm, send, all []T, counts []int, root int) error {
	return Igatherv(c, send, all, counts, root).end()
}

// Igatherv begins a Gatherv, and does not wait.
func Igatherv[T Number](c *Comm, send, all []T, counts []int, root int) *Request {
	if err := c.checkRoot(root); err != nil {
		return c.refuse(err)
	}
	s := c.schedule("gatherv", root, kindOf[T]())
	if c.rank != root {
		s.send(dataOf(send), root)
		return s.start()
	}
	if err := c.checkOwn("all", len(all), counts, len(send)); err != nil {
		return c.refuse(err)
	}
	for rank, theirs := range parts(all, counts) {
		if rank == root {
			copy(theirs, send)
			continue
		}
		s.receive(dataOf(theirs), rank)
	}
	return s.start()
}

// checkOwn checks counts, one of which is that of this rank's own numbers.
func (c *Comm) checkOwn(name string, length int, counts []int, own int) error {
	if err := c.checkCounts(name, length, counts); err != nil {
		return err
	}
	if counts[c.rank] != own {
		return badArgument("rank %d has %d numbers, and its count is %d", c.rank, own, counts[c.rank])
	}
	return nil
}
