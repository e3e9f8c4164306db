package mpi

// Gather collects the numbers of all ranks on the root, in the order of the ranks. Other ranks may pass nil for all.
func Gather[T Number](c *Comm, send, all []T, root int) error {
	return Igather(c, send, all, root).end()
}

// Igather begins a Gather and returns its Request.
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

// gatherShort collects along a binomial tree: a rank sends on what the ranks of its subtree have.
func gatherShort[T Number](c *Comm, send, all []T, root int) *Request {
	s := c.schedule("gather along a tree", root, kindOf[T]())
	t := c.tree(root)
	length := len(send)
	collected := scratchFor[T](s, (t.end(t.position, t.bit)-t.position)*length)
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

// gatherLong has each rank send to the root.
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

// Gatherv is a Gather in which the ranks may contribute different numbers of values: the root's counts has one entry
// for each rank. Other ranks may pass nil for all and counts.
func Gatherv[T Number](c *Comm, send, all []T, counts []int, root int) error {
	return Igatherv(c, send, all, counts, root).end()
}

// Igatherv begins a Gatherv and returns its Request.
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

// checkOwn checks the counts of all ranks, and that of this rank against its own numbers.
func (c *Comm) checkOwn(name string, length int, counts []int, own int) error {
	if err := c.checkCounts(name, length, counts); err != nil {
		return err
	}
	if counts[c.rank] != own {
		return badArgument("rank %d has %d numbers, but its count is %d", c.rank, own, counts[c.rank])
	}
	return nil
}
