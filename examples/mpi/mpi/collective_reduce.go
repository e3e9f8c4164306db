package mpi

// Sum is an operation for Reduce.
func Sum[T Number](a, b T) T { return a + b }

// Prod is an operation for Reduce.
func Prod[T Number](a, b T) T { return a * b }

// Min is an operation for Reduce.
func Min[T Real](a, b T) T { return min(a, b) }

// Max is an operation for Reduce.
func Max[T Real](a, b T) T { return max(a, b) }

// Reduce combines the numbers of all ranks, the first of each, the second of
// each and so on, and gives the root the results. Other ranks may give nil for
// result, and need send as it is.
//
// The operation must be associative. Operands are combined in the order of the
// ranks, whatever the root, so that it need not be commutative, and that results
// of floating-point numbers are the same each time.
func Reduce[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) error {
	if err := c.checkRoot(root); err != nil {
		return err
	}
	if c.rank == root && len(result) != len(send) {
		return badArgument("result has %d numbers, and send %d", len(result), len(send))
	}
	partial, err := reduceToFirst(c, send, operation)
	if err != nil {
		return err
	}
	x := exchange{comm: c}
	switch {
	case c.rank == root && root == 0:
		copy(result, partial)
	case c.rank == root:
		x.receive(dataOf(result), 0)
	case c.rank == 0:
		x.send(dataOf(partial), root)
	}
	return x.wait()
}

// reduceToFirst gives rank 0 the result. Along a binomial tree, each rank
// combines what comes from a run of ranks behind it.
func reduceToFirst[T Number](c *Comm, send []T, operation func(a, b T) T) ([]T, error) {
	partial := append([]T(nil), send...)
	behind := make([]T, len(send))
	x := exchange{comm: c}
	for bit := 1; bit < c.Size(); bit *= 2 {
		if c.rank&bit != 0 {
			x.send(dataOf(partial), c.rank-bit)
			return nil, x.wait()
		}
		if c.rank+bit >= c.Size() {
			continue
		}
		x.receive(dataOf(behind), c.rank+bit)
		if err := x.wait(); err != nil {
			return nil, err
		}
		for i := range partial {
			partial[i] = operation(partial[i], behind[i])
		}
	}
	return partial, nil
}

// Allreduce is a Reduce whose result all ranks get, the same everywhere.
func Allreduce[T Number](c *Comm, send, result []T, operation func(a, b T) T) error {
	if len(result) != len(send) {
		return badArgument("result has %d numbers, and send %d", len(result), len(send))
	}
	if err := Reduce(c, send, result, operation, 0); err != nil {
		return err
	}
	return Bcast(c, result, 0)
}
