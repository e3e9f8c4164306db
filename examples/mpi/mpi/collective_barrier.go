package mpi

// Barrier waits until all ranks have called it. In each round a rank hears from
// one that is twice as far away as in the round before, and with it from all in
// between.
func Barrier(c *Comm) error {
	x := exchange{comm: c}
	for distance := 1; distance < c.Size(); distance *= 2 {
		x.receive(dataOf([]byte{}), (c.rank-distance+c.Size())%c.Size())
		x.send(dataOf([]byte{}), (c.rank+distance)%c.Size())
		if err := x.wait(); err != nil {
			return err
		}
	}
	return nil
}
