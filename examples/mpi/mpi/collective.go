package mpi

import "errors"

var (
	// ErrLength says that the ranks called a collective operation with slices of different lengths.
	ErrLength = errors.New("mpi: the ranks passed slices of different lengths")
	// ErrMismatch says that the ranks called different collective operations, or the same one with different roots,
	// kinds of numbers, or lengths.
	ErrMismatch = errors.New("mpi: the ranks called collective operations that do not go together")
	// ErrElsewhere says that a collective operation has failed on another rank. The error on that rank says why.
	ErrElsewhere = errors.New("mpi: the operation has failed on another rank")
	// ErrPanicked says that an operation of the program, which it had passed to Reduce, for example, has panicked, or has
	// ended its goroutine.
	ErrPanicked = errors.New("mpi: the program's operation has panicked")
)

func checkOperation(missing bool) error {
	if missing {
		return badArgument("the operation is nil")
	}
	return nil
}

// thresholds say from how many bytes on a collective operation uses the algorithm that moves less data. Below that it
// uses the one that has fewer steps. In alltoall a rank exchanges that much with one other rank at a time. It exchanges less
// than that with all ranks at once, which is faster; but soft-RoCE fails with hundreds of megabytes outstanding.
type thresholds struct {
	bcast, reduce, allreduce, reduceScatter int // of a rank's numbers
	gather, scatter                         int // of one rank's part
	allgather                               int // of all parts
	alltoall                                int // of all parts of a rank
}

// usualThresholds were measured with mpiperf.
var usualThresholds = thresholds{
	bcast: 64 << 10, reduce: 64 << 10, allreduce: 64 << 10, reduceScatter: 16 << 10,
	gather: 4 << 10, scatter: 4 << 10,
	allgather: 64 << 10,
	alltoall:  8 << 20,
}

func (c *Comm) checkRoot(root int) error {
	if root < 0 || root >= c.Size() {
		return badArgument("the root is %d; it must be 0 to %d", root, c.Size()-1)
	}
	return nil
}

// checkParts checks the length of a slice with one part for each rank.
func (c *Comm) checkParts(name string, length, part int) error {
	if length != part*c.Size() {
		return badArgument("%s has %d numbers; it must have %d for each of %d ranks", name, length, part, c.Size())
	}
	return nil
}

// checkCounts checks the counts that divide a slice among the ranks.
func (c *Comm) checkCounts(name string, length int, counts []int) error {
	if len(counts) != c.Size() {
		return badArgument("there are %d counts for %s, but %d ranks", len(counts), name, c.Size())
	}
	sum := 0
	for rank, n := range counts {
		if n < 0 {
			return badArgument("the counts for %s have %d for rank %d", name, n, rank)
		}
		sum += n
	}
	if sum != length {
		return badArgument("%s has %d numbers, but the counts add up to %d", name, length, sum)
	}
	return nil
}

// part returns the part of a rank in a slice of equal parts.
func part[T Number](all []T, rank, size int) []T {
	length := len(all) / size
	return all[rank*length:][:length]
}

// parts cuts a slice into parts of the given lengths.
func parts[T Number](all []T, counts []int) [][]T {
	cut := make([][]T, len(counts))
	for i, n := range counts {
		cut[i], all = all[:n], all[n:]
	}
	return cut
}

// bytesOf returns the size of numbers in bytes.
func bytesOf[T Number](numbers []T) int { return len(dataOf(numbers).bytes) }

// kindOf returns the kind of a type of numbers.
func kindOf[T Number]() elementKind { return dataOf[T](nil).kind }
