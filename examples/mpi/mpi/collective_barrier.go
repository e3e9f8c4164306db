package mpi

// Barrier waits until all ranks have called it.
func Barrier(c *Comm) error { return Ibarrier(c).end() }

// Ibarrier begins a Barrier, and does not wait. In each round a rank hears from
// one that is twice as far away as in the round before, and with it from all in
// between.
func Ibarrier(c *Comm) *Request {
	s := c.schedule("barrier", 0, 0)
	size := c.Size()
	for distance := 1; distance < size; distance *= 2 {
		s.receive(dataOf([]byte(nil)), (c.rank-distance+size)%size)
		s.send(dataOf([]byte(nil)), (c.rank+distance)%size)
		s.wait()
	}
	return s.start()
}
