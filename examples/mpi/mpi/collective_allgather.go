package mpi

import "slices"

// Allgather is a Gather whose result all ranks get.
func Allgather[T Number](c *Comm, send, all []T) error { return Iallgather(c, send, all).end() }

// Iallgather begins an Allgather and returns its Request.
func Iallgather[T Number](c *Comm, send, all []T) *Request {
	if err := c.checkParts("all", len(all), len(send)); err != nil {
		return c.refuse(err)
	}
	if c.Size() > 2 && bytesOf(all) >= c.world.thresholds.allgather {
		copy(part(all, c.rank, c.Size()), send)
		counts := slices.Repeat([]int{len(send)}, c.Size())
		return allgatherRound(c, "allgather", all, counts)
	}
	return allgatherShort(c, send, all)
}

// allgatherShort doubles in each step what a rank has. After k steps it has the parts of the 2^k ranks from its own
// on.
func allgatherShort[T Number](c *Comm, send, all []T) *Request {
	s := c.schedule("allgather by doubling", 0, kindOf[T]())
	size, length := c.Size(), len(send)
	collected := scratchFor[T](s, size*length) // in the order of the ranks, from this one on
	copy(collected, send)
	for distance := 1; distance < size; distance *= 2 {
		n := min(distance, size-distance) * length
		s.receive(dataOf(collected[distance*length:][:n]), (c.rank+distance)%size)
		s.send(dataOf(collected[:n]), (c.rank-distance+size)%size)
		s.wait()
	}
	s.then(func() {
		n := copy(all[c.rank*length:], collected)
		copy(all, collected[n:])
	})
	return s.start()
}

// allgatherRound passes the parts around a ring: each rank sends on what it has received from the rank before it. A
// rank's own part is in place already.
func allgatherRound[T Number](c *Comm, name string, all []T, counts []int) *Request {
	s := c.schedule(name, 0, kindOf[T]())
	size := c.Size()
	cut := parts(all, counts)
	for step := range size - 1 {
		s.receive(dataOf(cut[(c.rank-step-1+size)%size]), (c.rank-1+size)%size)
		s.send(dataOf(cut[(c.rank-step+size)%size]), (c.rank+1)%size)
		s.wait()
	}
	return s.start()
}

// Allgatherv is an Allgather in which the ranks may contribute different numbers of values: counts has one entry for
// each rank, and is the same on all ranks.
func Allgatherv[T Number](c *Comm, send, all []T, counts []int) error {
	return Iallgatherv(c, send, all, counts).end()
}

// Iallgatherv begins an Allgatherv and returns its Request.
func Iallgatherv[T Number](c *Comm, send, all []T, counts []int) *Request {
	if err := c.checkOwn("all", len(all), counts, len(send)); err != nil {
		return c.refuse(err)
	}
	copy(parts(all, counts)[c.rank], send)
	return allgatherRound(c, "allgatherv", all, counts)
}
