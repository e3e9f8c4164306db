package mpi

// Scatter gives each rank its part of the root's numbers, which are as many for
// each. Ranks other than the root may give nil for all.
func Scatter[T Number](c *Comm, all, receive []T, root int) error {
	if err := c.checkRoot(root); err != nil {
		return err
	}
	x := exchange{comm: c}
	if c.rank != root {
		x.receive(dataOf(receive), root)
		return x.wait()
	}
	if err := c.checkParts("all", len(all), len(receive)); err != nil {
		return err
	}
	for rank := range c.Size() {
		if rank == root {
			copy(receive, part(all, rank, c.Size()))
			continue
		}
		x.send(dataOf(part(all, rank, c.Size())), rank)
	}
	return x.wait()
}

// Alltoall is a Scatter from every rank: rank i gets part i of each rank's send,
// and puts them together in the order of the ranks. In each step a rank sends to
// one other and receives from one other.
func Alltoall[T Number](c *Comm, send, receive []T) error {
	size := c.Size()
	if len(send)%size != 0 || len(receive) != len(send) {
		return badArgument("send has %d numbers and receive %d, they must have as many, a multiple of %d", len(send), len(receive), size)
	}
	copy(part(receive, c.rank, size), part(send, c.rank, size))
	x := exchange{comm: c}
	for distance := 1; distance < size; distance++ {
		from, to := (c.rank-distance+size)%size, (c.rank+distance)%size
		x.receive(dataOf(part(receive, from, size)), from)
		x.send(dataOf(part(send, to, size)), to)
		if err := x.wait(); err != nil {
			return err
		}
	}
	return nil
}
