package mpi

import "cmp"

// Sum is an operation for Reduce.
func Sum[T Number](a, b T) T { return a + b }

// Prod is an operation for Reduce.
func Prod[T Number](a, b T) T { return a * b }

// Min is an operation for Reduce.
func Min[T Real](a, b T) T { return min(a, b) }

// Max is an operation for Reduce.
func Max[T Real](a, b T) T { return max(a, b) }

// Reduce combines the first numbers of all ranks, the second numbers, and so on, and stores the results on the root.
// Other ranks may pass nil for result, but not for send.
//
// The operation must be associative; it does not need to be commutative. Operands are combined in the order of the
// ranks, whatever the root is, so that results of floating-point numbers are the same each time. Any goroutine may call
// the operation, which must not call this package. If it panics, Reduce fails on all ranks that are still in it, with
// ErrPanicked on this one.
func Reduce[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) error {
	return Ireduce(c, send, result, operation, root).end()
}

// Ireduce begins a Reduce and returns its Request.
func Ireduce[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) *Request {
	err := cmp.Or(c.checkRoot(root), checkOperation(operation == nil))
	if err == nil && c.rank == root && len(result) != len(send) {
		err = badArgument("result has %d numbers, and send %d", len(result), len(send))
	}
	if err != nil {
		return c.refuse(err)
	}
	if c.Size() > 2 && bytesOf(send) >= c.world.thresholds.reduce {
		return reduceLong(c, send, result, operation, root)
	}
	return reduceShort(c, send, result, operation, root)
}

// reduceShort combines along a binomial tree: each rank combines its numbers with those of the ranks after it, and
// rank 0 sends the result to the root.
func reduceShort[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) *Request {
	s := c.schedule("reduce along a tree", root, kindOf[T]())
	r := newReduction(s, send, scratchFor[T](s, len(send)), operation)
	for bit := 1; bit < c.Size(); bit *= 2 {
		if c.rank&bit != 0 {
			s.send(dataOf(r.partial), c.rank-bit)
			break
		}
		if c.rank+bit < c.Size() {
			s.receive(dataOf(r.other), c.rank+bit)
			r.append(0, len(send))
		}
	}
	switch {
	case c.rank == root && root == 0:
		s.then(func() { copy(result, r.partial) })
	case c.rank == root:
		s.wait()
		s.receive(dataOf(result), 0)
	case c.rank == 0:
		s.send(dataOf(r.partial), root)
	}
	return s.start()
}

// reduceLong has each rank combine a part and send it to the root.
func reduceLong[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) *Request {
	s := c.schedule("reduce in parts", root, kindOf[T]())
	r := newReduction(s, send, scratchFor[T](s, len(send)), operation)
	p := c.pairs()
	from, to := r.scatter(p)
	if c.rank != root {
		if p.number >= 0 {
			s.send(dataOf(r.partial[from:to]), root)
		}
		return s.start()
	}
	for number := range p.size {
		from, to := p.part(number, len(send))
		if rank := p.rank(number); rank != root {
			s.receive(dataOf(result[from:to]), rank)
		}
	}
	if p.number >= 0 {
		s.then(func() { copy(result[from:to], r.partial[from:to]) })
	}
	return s.start()
}

// Allreduce is a Reduce whose result all ranks get. It is the same on all. If Allreduce fails, result may have changed.
func Allreduce[T Number](c *Comm, send, result []T, operation func(a, b T) T) error {
	return Iallreduce(c, send, result, operation).end()
}

// Iallreduce begins an Allreduce and returns its Request.
func Iallreduce[T Number](c *Comm, send, result []T, operation func(a, b T) T) *Request {
	err := checkOperation(operation == nil)
	if err == nil && len(result) != len(send) {
		err = badArgument("result has %d numbers, and send %d", len(result), len(send))
	}
	if err != nil {
		return c.refuse(err)
	}
	long := c.Size() > 2 && bytesOf(send) >= c.world.thresholds.allreduce
	name := "allreduce by doubling"
	if long {
		name = "allreduce in parts"
	}
	s := c.schedule(name, 0, kindOf[T]())
	r := newReduction(s, send, result, operation)
	p := c.pairs()
	if long {
		r.scatter(p)
		r.collect(p)
	} else {
		r.double(p)
	}
	r.unfold(p)
	return s.start()
}

// ReduceScatter is a Reduce that divides the result among the ranks: rank i gets counts[i] numbers in its receive.
// counts is the same on all ranks.
func ReduceScatter[T Number](c *Comm, send, receive []T, counts []int, operation func(a, b T) T) error {
	return IreduceScatter(c, send, receive, counts, operation).end()
}

// IreduceScatter begins a ReduceScatter and returns its Request.
func IreduceScatter[T Number](c *Comm, send, receive []T, counts []int, operation func(a, b T) T) *Request {
	if err := cmp.Or(c.checkOwn("send", len(send), counts, len(receive)), checkOperation(operation == nil)); err != nil {
		return c.refuse(err)
	}
	if c.Size() > 2 && bytesOf(send) >= c.world.thresholds.reduceScatter {
		return reduceScatterLong(c, send, receive, counts, operation)
	}
	s := c.schedule("reduce-scatter by doubling", 0, kindOf[T]())
	r := newReduction(s, send, scratchFor[T](s, len(send)), operation)
	p := c.pairs()
	r.double(p)
	r.unfold(p)
	s.then(func() { copy(receive, parts(r.partial, counts)[c.rank]) })
	return s.start()
}

// reduceScatterLong has each rank receive the numbers of all others for its part, and combine them.
func reduceScatterLong[T Number](c *Comm, send, receive []T, counts []int, operation func(a, b T) T) *Request {
	s := c.schedule("reduce-scatter in pairs", 0, kindOf[T]())
	size, length := c.Size(), len(receive)
	out, theirs := parts(send, counts), scratchFor[T](s, size*length)
	copy(part(theirs, c.rank, size), out[c.rank])
	for distance := 1; distance < size; distance++ {
		from, to := (c.rank-distance+size)%size, (c.rank+distance)%size
		s.receive(dataOf(part(theirs, from, size)), from)
		s.send(dataOf(out[to]), to)
		s.wait()
	}
	s.then(func() {
		copy(receive, theirs)
		for rank := 1; rank < size; rank++ {
			combine(receive, receive, part(theirs, rank, size), operation)
		}
	})
	return s.start()
}

// combine applies the operation to each pair of numbers of a and b. result may be a or b.
func combine[T Number](result, a, b []T, operation func(a, b T) T) {
	for i := range result {
		result[i] = operation(a[i], b[i])
	}
}

// reduction is what a rank has combined so far: the numbers of a run of successive ranks.
type reduction[T Number] struct {
	schedule       *schedule
	partial, other []T // other has received numbers
	operation      func(a, b T) T
}

// newReduction begins with a rank's numbers, in the memory of partial.
func newReduction[T Number](s *schedule, send, partial []T, operation func(a, b T) T) *reduction[T] {
	copy(partial, send)
	return &reduction[T]{s, partial, scratchFor[T](s, len(send)), operation}
}

// append combines some numbers with those of the next run of ranks, and prepend with those of the run before.
func (r *reduction[T]) append(from, to int) {
	r.schedule.then(func() { combine(r.partial[from:to], r.partial[from:to], r.other[from:to], r.operation) })
}

func (r *reduction[T]) prepend(from, to int) {
	r.schedule.then(func() { combine(r.partial[from:to], r.other[from:to], r.partial[from:to], r.operation) })
}

// pairs assigns numbers to a power of two of the ranks, so that each bit of a number leads to a partner. If there are
// more ranks, each of the first numbers represents two neighboring ranks. So successive numbers represent successive
// ranks.
type pairs struct {
	size   int // the power of two
	double int // how many numbers represent two ranks
	number int // of this rank, -1 if it has none
	own    int // this rank
}

func (c *Comm) pairs() pairs {
	p := pairs{size: 1, own: c.rank}
	for 2*p.size <= c.Size() {
		p.size *= 2
	}
	p.double = c.Size() - p.size
	switch {
	case c.rank >= 2*p.double:
		p.number = c.rank - p.double
	case c.rank%2 == 0:
		p.number = c.rank / 2
	default:
		p.number = -1
	}
	return p
}

// rank returns the rank that has the number.
func (p pairs) rank(number int) int {
	if number < p.double {
		return 2 * number
	}
	return number + p.double
}

// part returns the range that a number has at the end of scatter, of length values in all.
func (p pairs) part(number, length int) (from, to int) {
	to = length
	for bit := 1; bit < p.size; bit *= 2 {
		if middle := (from + to) / 2; number&bit == 0 {
			to = middle
		} else {
			from = middle
		}
	}
	return from, to
}

// fold sends the values of ranks without a number to the ranks that represent them.
func (r *reduction[T]) fold(p pairs) {
	switch {
	case p.number < 0:
		r.schedule.send(dataOf(r.partial), p.own-1)
		r.schedule.wait()
	case p.number < p.double:
		r.schedule.receive(dataOf(r.other), p.own+1)
		r.append(0, len(r.partial))
	}
}

// unfold sends the result back to them.
func (r *reduction[T]) unfold(p pairs) {
	switch {
	case p.number < 0:
		r.schedule.receive(dataOf(r.partial), p.own-1)
	case p.number < p.double:
		r.schedule.send(dataOf(r.partial), p.own+1)
	}
}

// double doubles in each step the run of ranks whose numbers are combined.
func (r *reduction[T]) double(p pairs) {
	r.fold(p)
	for bit := 1; bit < p.size && p.number >= 0; bit *= 2 {
		partner := p.rank(p.number ^ bit)
		r.schedule.receive(dataOf(r.other), partner)
		r.schedule.send(dataOf(r.partial), partner)
		r.meet(p.number&bit, 0, len(r.partial))
	}
}

// meet combines with a partner that is after this rank if bit is 0, and before it otherwise.
func (r *reduction[T]) meet(bit, from, to int) {
	if bit == 0 {
		r.append(from, to)
	} else {
		r.prepend(from, to)
	}
}

// scatter leaves each number with a part of what is combined: in each step a rank and its partner exchange halves of
// what they have. It returns the range of this rank.
func (r *reduction[T]) scatter(p pairs) (from, to int) {
	r.fold(p)
	if p.number < 0 {
		return 0, 0
	}
	from, to = 0, len(r.partial)
	for bit := 1; bit < p.size; bit *= 2 {
		middle, keptFrom, keptTo := (from+to)/2, from, to
		partner := p.rank(p.number ^ bit)
		if p.number&bit == 0 {
			keptTo = middle
			r.schedule.send(dataOf(r.partial[middle:to]), partner)
		} else {
			keptFrom = middle
			r.schedule.send(dataOf(r.partial[from:middle]), partner)
		}
		from, to = keptFrom, keptTo
		r.schedule.receive(dataOf(r.other[from:to]), partner)
		r.meet(p.number&bit, from, to)
	}
	return from, to
}

// collect reassembles the parts on all ranks that have a number.
func (r *reduction[T]) collect(p pairs) {
	if p.number < 0 {
		return
	}
	from, to := p.part(p.number, len(r.partial))
	for bit := p.size / 2; bit > 0; bit /= 2 {
		// The range that both had before they divided it at this bit.
		wide := pairs{size: bit}
		start, end := wide.part(p.number, len(r.partial))
		partner := p.rank(p.number ^ bit)
		r.schedule.send(dataOf(r.partial[from:to]), partner)
		if from == start {
			r.schedule.receive(dataOf(r.partial[to:end]), partner)
		} else {
			r.schedule.receive(dataOf(r.partial[start:from]), partner)
		}
		r.schedule.wait()
		from, to = start, end
	}
}
