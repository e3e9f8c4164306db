package mpi

import "slices"

// Allgather is a Gather for all ranks.
func Allgather[T Number](c *Comm, send, all []T) error { return Iallgather(c, send, all).end() }

// Iallgather begins an Allgather, and does not wait.
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

// allgatherShort doubles what each rank has in every step: after some steps it
// has the parts of the ranks behind it, up to some distance.
func allgatherShort[T Number](c *Comm, send, all []T) *Request {
	s := c.schedule("allgather by doubling", 0, kindOf[T]())
	size, length := c.Size(), len(send)
	collected := make([]T, size*length) // from this rank on
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

// allgatherRound lets the parts go round: each rank passes on what has come from
// the one before it. A rank's own part is in its place.
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

// Allgatherv is an Allgather of as many numbers from each rank as counts says,
// which is the same on all.
func Allgatherv[T Number](c *Comm, send, all []T, counts []int) error {
	return Iallgatherv(c, send, all, counts).end()
}

// Iallgatherv begins an Allgatherv, and does not wait.
func Iallgatherv[T Number](c *Comm, send, all []T, counts []int) *Request {
	if err := c.checkOwn("all", len(all), counts, len(send)); err != nil {
		return c.refuse(err)
	}
	copy(parts(all, counts)[c.rank], send)
	return allgatherRound(c, "allgatherv", all, counts)
}
