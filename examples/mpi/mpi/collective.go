package mpi

import "errors"

var (
	// ErrLength says that the ranks have given a collective operation slices of
	// different lengths.
	ErrLength = errors.New("mpi: the ranks gave slices of different lengths")
	// ErrMismatch says that the ranks have called different collective operations, or
	// the same with different roots, kinds of numbers, or lengths.
	ErrMismatch = errors.New("mpi: the ranks called collective operations that do not go together")
	// ErrElsewhere says that a collective operation has failed on another rank, which
	// knows why.
	ErrElsewhere = errors.New("mpi: the operation has failed on another rank")
)

// thresholds say from how many bytes on a collective operation is done in the way
// that moves less, and below that in the way that has fewer steps.
type thresholds struct {
	bcast, reduce, allreduce, reduceScatter int // of a rank's numbers
	gather, scatter, alltoall               int // of one rank's part
	allgather                               int // of all parts
}

// usualThresholds were measured with mpiperf, see README.md.
var usualThresholds = thresholds{
	bcast: 64 << 10, reduce: 64 << 10, allreduce: 64 << 10, reduceScatter: 16 << 10,
	gather: 4 << 10, scatter: 4 << 10, alltoall: 4 << 10,
	allgather: 64 << 10,
}

func (c *Comm) checkRoot(root int) error {
	if root < 0 || root >= c.Size() {
		return badArgument("the root is %d, it must be 0 to %d", root, c.Size()-1)
	}
	return nil
}

// checkParts checks the slice that has a part of each rank.
func (c *Comm) checkParts(name string, length, part int) error {
	if length != part*c.Size() {
		return badArgument("%s has %d numbers, it must have %d for each of %d ranks", name, length, part, c.Size())
	}
	return nil
}

// checkCounts checks how many numbers of a slice are each rank's.
func (c *Comm) checkCounts(name string, length int, counts []int) error {
	if len(counts) != c.Size() {
		return badArgument("there are %d counts for %s, and %d ranks", len(counts), name, c.Size())
	}
	sum := 0
	for rank, n := range counts {
		if n < 0 {
			return badArgument("%s has %d numbers of rank %d", name, n, rank)
		}
		sum += n
	}
	if sum != length {
		return badArgument("%s has %d numbers, and all counts together are %d", name, length, sum)
	}
	return nil
}

// part returns what belongs to a rank of a slice with equal parts.
func part[T Number](all []T, rank, size int) []T {
	length := len(all) / size
	return all[rank*length:][:length]
}

// parts cuts a slice in parts of so many numbers.
func parts[T Number](all []T, counts []int) [][]T {
	cut := make([][]T, len(counts))
	for i, n := range counts {
		cut[i], all = all[:n], all[n:]
	}
	return cut
}

// bytesOf is how many bytes so many numbers have.
func bytesOf[T Number](numbers []T) int { return len(dataOf(numbers).bytes) }

// kindOf is the kind of numbers.
func kindOf[T Number]() elementKind { return dataOf[T](nil).kind }
