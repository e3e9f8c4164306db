package mpi

// Barrier waits until all ranks have called it.
func Barrier(c *Comm) error { return Ibarrier(c).end() }

// Ibarrier begins a Barrier and returns its Request. In each round the distance doubles: a rank receives from the
// rank that far before it, and then knows that all ranks in between have called Barrier, too.
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
