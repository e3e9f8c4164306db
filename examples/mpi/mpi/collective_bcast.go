package mpi

// Bcast gives the root's numbers to all ranks, along a binomial tree.
func Bcast[T Number](c *Comm, numbers []T, root int) error {
	if err := c.checkRoot(root); err != nil {
		return err
	}
	size := c.Size()
	position := (c.rank - root + size) % size // in the tree, whose top is 0
	x := exchange{comm: c}
	// The lowest bit of a position leads to its parent, and the bits below that to its children.
	bit := 1
	for ; bit < size; bit *= 2 {
		if position&bit != 0 {
			x.receive(dataOf(numbers), (position-bit+root)%size)
			if err := x.wait(); err != nil {
				return err
			}
			break
		}
	}
	for bit /= 2; bit > 0; bit /= 2 {
		if position+bit < size {
			x.send(dataOf(numbers), (position+bit+root)%size)
		}
	}
	return x.wait()
}
