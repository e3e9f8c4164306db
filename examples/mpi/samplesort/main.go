// Samplesort sorts random numbers by samples with several processes. See ../README.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/program"
)

func main() { sorter().Main() }

const maxNumbers = 1 << 26

func sorter() program.Program {
	var numbers int
	var seed uint64
	return program.Program{
		Name: "samplesort", Ranks: 4,
		Flags: func(flags *flag.FlagSet) {
			flags.IntVar(&numbers, "numbers", 100_000, fmt.Sprintf("numbers on each rank, 0 to %d", maxNumbers))
			flags.Uint64Var(&seed, "seed", 1, "seed of the random numbers")
		},
		Check: func(int) error {
			if numbers < 0 || numbers > maxNumbers {
				return program.Usage("-numbers must be 0 to %d", maxNumbers)
			}
			return nil
		},
		Run: func(_ context.Context, w *mpi.World, out io.Writer) error {
			random := rand.New(rand.NewPCG(seed, uint64(w.Rank())))
			mine := make([]uint64, numbers)
			for i := range mine {
				mine[i] = random.Uint64()
			}
			began := time.Now()
			sorted, err := sortAll(w.Comm, slices.Clone(mine))
			if err != nil {
				return err
			}
			took := time.Since(began)
			most := []int{0}
			if err := mpi.Reduce(w.Comm, []int{len(sorted)}, most, mpi.Max, 0); err != nil {
				return err
			}
			if err := verify(w.Comm, mine, sorted); err != nil {
				return err
			}
			if w.Rank() == 0 {
				fmt.Fprintf(out, "%s: %d numbers on %d ranks sorted in %v, at most %d on one\n",
					w.Adapter(), numbers*w.Size(), w.Size(), took.Round(time.Millisecond), most[0])
				fmt.Fprintln(out, "they are in order, and none is missing")
			}
			return nil
		},
	}
}

// samplesPerRank is how many of its numbers a rank contributes to the sample. With more of them, the ranks' shares
// are more equal.
const samplesPerRank = 64

// sortAll sorts the numbers of all ranks. Each rank gets a share: rank 0 the smallest numbers.
func sortAll[T mpi.Real](c *mpi.Comm, mine []T) ([]T, error) {
	slices.Sort(mine)
	splitters, err := split(c, mine)
	if err != nil {
		return nil, err
	}
	// The numbers between two splitters go to one rank.
	counts, from := make([]int, c.Size()), 0
	for rank := range counts {
		end := len(mine)
		if rank < len(splitters) {
			end, _ = slices.BinarySearch(mine, splitters[rank])
			end = max(end, from)
		}
		counts[rank], from = end-from, end
	}
	theirs := make([]int, c.Size())
	if err := mpi.Alltoall(c, counts, theirs); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range theirs {
		total += n
	}
	share := make([]T, total)
	if err := mpi.Alltoallv(c, mine, counts, share, theirs); err != nil {
		return nil, err
	}
	slices.Sort(share)
	return share, nil
}

// split returns the numbers at which the shares of the ranks begin, except that of rank 0.
func split[T mpi.Real](c *mpi.Comm, sorted []T) ([]T, error) {
	var sample []T
	if len(sorted) > 0 {
		for i := range samplesPerRank {
			sample = append(sample, sorted[i*len(sorted)/samplesPerRank])
		}
	}
	counts := make([]int, c.Size())
	if err := mpi.Allgather(c, []int{len(sample)}, counts); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	samples := make([]T, total)
	if err := mpi.Allgatherv(c, sample, samples, counts); err != nil || total == 0 {
		return nil, err
	}
	slices.Sort(samples)
	var splitters []T
	for rank := 1; rank < c.Size(); rank++ {
		splitters = append(splitters, samples[rank*total/c.Size()])
	}
	return splitters, nil
}

// verify checks that each share is in order, that it comes after that of the rank before, and that no number is
// missing.
func verify[T mpi.Real](c *mpi.Comm, mine, share []T) error {
	if !slices.IsSorted(share) {
		return fmt.Errorf("the share of rank %d is not in order", c.Rank())
	}
	// Ranks without numbers have no first and no last one.
	edges := make([]T, 2)
	if len(share) > 0 {
		edges = []T{share[0], share[len(share)-1]}
	}
	all, lengths := make([]T, 2*c.Size()), make([]int, c.Size())
	if err := mpi.Allgather(c, edges, all); err != nil {
		return err
	}
	if err := mpi.Allgather(c, []int{len(share)}, lengths); err != nil {
		return err
	}
	last, begun := T(0), false
	for rank, n := range lengths {
		if n == 0 {
			continue
		}
		if begun && cmp.Less(all[2*rank], last) {
			return fmt.Errorf("the share of rank %d begins before that of the rank before ends", rank)
		}
		last, begun = all[2*rank+1], true
	}
	before, after := digest(mine), digest(share)
	sums := make([]uint64, len(before)+len(after))
	if err := mpi.Allreduce(c, slices.Concat(before, after), sums, mpi.Sum); err != nil {
		return err
	}
	if !slices.Equal(sums[:len(before)], sums[len(before):]) {
		return fmt.Errorf("the numbers have changed: the digest is %v before, and %v after", sums[:len(before)], sums[len(before):])
	}
	return nil
}

// digest returns a count and checksums of numbers. Their sums over the ranks do not depend on which rank has which
// number.
func digest[T mpi.Real](numbers []T) []uint64 {
	d := []uint64{uint64(len(numbers)), 0, 0}
	for _, v := range numbers {
		x := uint64(v)
		d[1] += x
		d[2] += (x ^ x>>31) * 0x9e3779b97f4a7c15
	}
	return d
}
