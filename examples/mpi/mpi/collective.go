package mpi

import (
	"errors"
)

// ErrLength says that the ranks have given a collective operation slices of
// different lengths.
var ErrLength = errors.New("mpi: the ranks gave slices of different lengths")

// exchange is a step of a collective operation: messages to and from other
// ranks, whose lengths are known.
type exchange struct {
	comm     *Comm
	requests []*Request
	counts   []int // numbers to receive, -1 for a send
}

// Collective operations are called in the same order everywhere, and messages
// do not overtake each other: one tag is enough.
const collectiveTag = 0

func (x *exchange) send(numbers data, dest int) {
	x.requests = append(x.requests, x.comm.isend(x.comm.collectiveContext(), numbers, dest, collectiveTag))
	x.counts = append(x.counts, -1)
}

func (x *exchange) receive(numbers data, source int) {
	x.requests = append(x.requests, x.comm.irecv(x.comm.collectiveContext(), numbers, source, collectiveTag))
	x.counts = append(x.counts, numbers.count())
}

// wait ends the step, and makes room for the next.
func (x *exchange) wait() error {
	statuses, err := Waitall(x.requests...)
	if errors.Is(err, ErrTruncated) {
		err = ErrLength
	}
	for i, status := range statuses {
		if err == nil && x.counts[i] >= 0 && status.Count != x.counts[i] {
			err = ErrLength
		}
	}
	x.requests, x.counts = x.requests[:0], x.counts[:0]
	return err
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

// part gives what belongs to a rank of a slice with equal parts.
func part[T Number](all []T, rank, size int) []T {
	length := len(all) / size
	return all[rank*length:][:length]
}
