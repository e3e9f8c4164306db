package mpi

// Scatter sends each rank its part of the root's numbers. All parts have the same length. Ranks other than the root
// may pass nil for all.
func Scatter[T Number](c *Comm, all, receive []T, root int) error {
	return Iscatter(c, all, receive, root).end()
}

// Iscatter begins a Scatter and returns its Request.
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

// scatterShort sends along a binomial tree: a rank gets the parts of all ranks of its subtree.
func scatterShort[T Number](c *Comm, all, receive []T, root int) *Request {
	s := c.schedule("scatter along a tree", root, kindOf[T]())
	t := c.tree(root)
	length := len(receive)
	theirs := scratchFor[T](s, (t.end(t.position, t.bit)-t.position)*length)
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

// scatterLong has the root send to each rank.
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
	s.then(func() { copy(receive, part(all, root, c.Size())) }) // the slices may overlap
	return s.start()
}

// Scatterv is a Scatter with parts of different lengths: the root's counts has one entry for each rank. Other ranks
// may pass nil for all and counts.
func Scatterv[T Number](c *Comm, all []T, counts []int, receive []T, root int) error {
	return Iscatterv(c, all, counts, receive, root).end()
}

// Iscatterv begins a Scatterv and returns its Request.
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
		if rank != root {
			s.send(dataOf(theirs), rank)
		}
	}
	s.then(func() { copy(receive, parts(all, counts)[root]) }) // the slices may overlap
	return s.start()
}
