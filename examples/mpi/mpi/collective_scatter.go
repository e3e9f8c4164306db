package mpi

// Scatter gives each rank its part of the root's numbers, which are as many for
// each. Ranks other than the root may give nil for all.
func Scatter[T Number](c *Comm, all, receive []T, root int) error {
	return Iscatter(c, all, receive, root).end()
}

// Iscatter begins a Scatter, and does not wait.
func Iscatter[T Number](c *Comm, all, receive []T, root int) *Request {
	err := c.checkRoot(root)
	if err == nil && c.rank == root {
		err = c.checkParts("all", len(all), len(receive))
	}
	if err != nil {
		return c.refuse(err)
	}
	if bytesOf(receive) >= c.world.thresholds.scatter {
		return scatterLong(c, all, receive, root)
	}
	return scatterShort(c, all, receive, root)
}

// scatterShort goes along a binomial tree: a rank gets what all ranks behind it get.
func scatterShort[T Number](c *Comm, all, receive []T, root int) *Request {
	s := c.schedule("scatter along a tree", root, kindOf[T]())
	t := c.tree(root)
	length := len(receive)
	theirs := make([]T, (t.end(t.position, t.bit)-t.position)*length)
	if t.position > 0 {
		s.receive(dataOf(theirs), t.parent())
		s.wait()
	} else {
		for position := range t.size {
			copy(part(theirs, position, t.size), part(all, t.rank(position), t.size))
		}
	}
	for _, bit := range t.children() {
		child := t.position + bit
		s.send(dataOf(theirs[bit*length:][:(t.end(child, bit)-child)*length]), t.rank(child))
	}
	s.then(func() { copy(receive, theirs) })
	return s.start()
}

// scatterLong has the root send to all.
func scatterLong[T Number](c *Comm, all, receive []T, root int) *Request {
	s := c.schedule("scatter", root, kindOf[T]())
	if c.rank != root {
		s.receive(dataOf(receive), root)
		return s.start()
	}
	for rank := range c.Size() {
		if rank != root {
			s.send(dataOf(part(all, rank, c.Size())), rank)
		}
	}
	copy(receive, part(all, root, c.Size()))
	return s.start()
}

// Scatterv is a Scatter of as many numbers to each rank as the root says in
// counts. Other ranks may give nil for all and counts.
func Scatterv[T Number](c *Comm, all []T, counts []int, receive []T, root int) error {
	return Iscatterv(c, all, counts, receive, root).end()
}

// Iscatterv begins a Scatterv, and does not wait.
func Iscatterv[T Number](c *Comm, all []T, counts []int, receive []T, root int) *Request {
	if err := c.checkRoot(root); err != nil {
		return c.refuse(err)
	}
	s := c.schedule("scatterv", root, kindOf[T]())
	if c.rank != root {
		s.receive(dataOf(receive), root)
		return s.start()
	}
	if err := c.checkOwn("all", len(all), counts, len(receive)); err != nil {
		return c.refuse(err)
	}
	for rank, theirs := range parts(all, counts) {
		if rank == root {
			copy(receive, theirs)
			continue
		}
		s.send(dataOf(theirs), rank)
	}
	return s.start()
}
