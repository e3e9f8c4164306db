package mpi

import (
	"slices"
	"unsafe"
)

// Alltoall is a Scatter from every rank: rank i gets part i of each rank's send, in the order of the ranks.
func Alltoall[T Number](c *Comm, send, receive []T) error { return Ialltoall(c, send, receive).end() }

// Ialltoall begins an Alltoall and returns its Request.
func Ialltoall[T Number](c *Comm, send, receive []T) *Request {
	size := c.Size()
	if len(send)%size != 0 || len(receive) != len(send) {
		return c.refuse(badArgument("send has %d numbers and receive %d; they must have the same number, a multiple of %d", len(send), len(receive), size))
	}
	counts := slices.Repeat([]int{len(send) / size}, size)
	if bytesOf(send) >= c.world.thresholds.alltoall {
		return alltoall(c, "alltoall in pairs", true, send, counts, receive, counts)
	}
	return alltoall(c, "alltoall", false, send, counts, receive, counts)
}

// alltoall sends a part to each other rank, at growing distances. In pairs, a rank sends to one rank and receives
// from one at a time.
func alltoall[T Number](c *Comm, name string, pairs bool, send []T, sendCounts []int, receive []T, receiveCounts []int) *Request {
	s := c.schedule(name, 0, kindOf[T]())
	size := c.Size()
	if overlap(dataOf(send), dataOf(receive)) {
		copied := scratchFor[T](s, len(send))
		copy(copied, send)
		send = copied
	}
	out, in := parts(send, sendCounts), parts(receive, receiveCounts)
	copy(in[c.rank], out[c.rank])
	for distance := 1; distance < size; distance++ {
		from, to := (c.rank-distance+size)%size, (c.rank+distance)%size
		s.receive(dataOf(in[from]), from)
		s.send(dataOf(out[to]), to)
		if pairs {
			s.wait()
		}
	}
	return s.start()
}

// overlap reports whether two slices have memory in common.
func overlap(a, b data) bool {
	first, second := uintptr(unsafe.Pointer(unsafe.SliceData(a.bytes))), uintptr(unsafe.Pointer(unsafe.SliceData(b.bytes)))
	return first < second+uintptr(len(b.bytes)) && second < first+uintptr(len(a.bytes))
}

// Alltoallv is an Alltoall with parts of different lengths: rank i gets sendCounts[i] numbers, and receiveCounts[i]
// numbers come from it.
func Alltoallv[T Number](c *Comm, send []T, sendCounts []int, receive []T, receiveCounts []int) error {
	return Ialltoallv(c, send, sendCounts, receive, receiveCounts).end()
}

// Ialltoallv begins an Alltoallv and returns its Request.
func Ialltoallv[T Number](c *Comm, send []T, sendCounts []int, receive []T, receiveCounts []int) *Request {
	err := c.checkCounts("send", len(send), sendCounts)
	if err == nil {
		err = c.checkCounts("receive", len(receive), receiveCounts)
	}
	if err == nil && sendCounts[c.rank] != receiveCounts[c.rank] {
		err = badArgument("rank %d sends itself %d numbers, but receives %d", c.rank, sendCounts[c.rank], receiveCounts[c.rank])
	}
	if err != nil {
		return c.refuse(err)
	}
	return alltoall(c, "alltoallv", true, send, sendCounts, receive, receiveCounts)
}
