package mpi

import "slices"

// Scan is a Reduce whose result each rank gets for the ranks up to itself.
func Scan[T Number](c *Comm, send, result []T, operation func(a, b T) T) error {
	return Iscan(c, send, result, operation).end()
}

// Iscan begins a Scan and returns its Request.
func Iscan[T Number](c *Comm, send, result []T, operation func(a, b T) T) *Request {
	return scan(c, "scan", send, result, operation, false)
}

// Exscan is a Scan for the ranks before this one. Rank 0 gets nothing: its result stays as it is.
func Exscan[T Number](c *Comm, send, result []T, operation func(a, b T) T) error {
	return Iexscan(c, send, result, operation).end()
}

// Iexscan begins an Exscan and returns its Request.
func Iexscan[T Number](c *Comm, send, result []T, operation func(a, b T) T) *Request {
	return scan(c, "exscan", send, result, operation, true)
}

// scan doubles in each step the run of ranks whose numbers are combined, and which ends with this rank.
func scan[T Number](c *Comm, name string, send, result []T, operation func(a, b T) T, exclusive bool) *Request {
	err := checkOperation(operation == nil)
	if err == nil && len(result) != len(send) {
		err = badArgument("result has %d numbers, and send %d", len(result), len(send))
	}
	if err != nil {
		return c.refuse(err)
	}
	s := c.schedule(name, 0, kindOf[T]())
	r := newReduction(s, send, scratchFor[T](s, len(send)), operation)
	var before []T // combined for the ranks before this one
	for distance := 1; distance < c.Size(); distance *= 2 {
		from, to := c.rank-distance, c.rank+distance
		if from >= 0 {
			s.receive(dataOf(r.other), from)
		}
		if to < c.Size() {
			s.send(dataOf(r.partial), to)
		}
		s.wait()
		if from < 0 {
			continue
		}
		if exclusive {
			s.then(func() {
				if before == nil {
					before = slices.Clone(r.other)
				} else {
					combine(before, r.other, before, operation)
				}
			})
		}
		r.prepend(0, len(send))
	}
	s.then(func() {
		if !exclusive {
			copy(result, r.partial)
		} else if c.rank > 0 {
			copy(result, before)
		}
	})
	return s.start()
}

// ReduceScatterBlock is a ReduceScatter in which all ranks get the same number of numbers.
func ReduceScatterBlock[T Number](c *Comm, send, receive []T, operation func(a, b T) T) error {
	return IreduceScatterBlock(c, send, receive, operation).end()
}

// IreduceScatterBlock begins a ReduceScatterBlock and returns its Request.
func IreduceScatterBlock[T Number](c *Comm, send, receive []T, operation func(a, b T) T) *Request {
	return IreduceScatter(c, send, receive, slices.Repeat([]int{len(receive)}, c.Size()), operation)
}
