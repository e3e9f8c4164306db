package mpi

// Gather gives the root the numbers of all ranks, in the order of the ranks.
// Other ranks may give nil for all.
func Gather[T Number](c *Comm, send, all []T, root int) error {
	if err := c.checkRoot(root); err != nil {
		return err
	}
	x := exchange{comm: c}
	if c.rank != root {
		x.send(dataOf(send), root)
		return x.wait()
	}
	if err := c.checkParts("all", len(all), len(send)); err != nil {
		return err
	}
	for rank := range c.Size() {
		if rank == root {
			copy(part(all, rank, c.Size()), send)
			continue
		}
		x.receive(dataOf(part(all, rank, c.Size())), rank)
	}
	return x.wait()
}

// Allgather is a Gather for all ranks. The numbers go round: each rank passes on
// what has come from the one before it.
func Allgather[T Number](c *Comm, send, all []T) error {
	size := c.Size()
	if err := c.checkParts("all", len(all), len(send)); err != nil {
		return err
	}
	copy(part(all, c.rank, size), send)
	x := exchange{comm: c}
	for step := range size - 1 {
		x.receive(dataOf(part(all, (c.rank-step-1+size)%size, size)), (c.rank-1+size)%size)
		x.send(dataOf(part(all, (c.rank-step+size)%size, size)), (c.rank+1)%size)
		if err := x.wait(); err != nil {
			return err
		}
	}
	return nil
}
