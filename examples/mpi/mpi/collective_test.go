package mpi

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// operations are the collective operations in tests. The slices have the given number of numbers, or as many for each
// rank. serial computes the result from the numbers of all ranks, in their order; nil is for none on this rank.
var operations = []struct {
	name            string
	allSent, allGot bool // whether there is a part for each rank
	do              func(c *Comm, send, got []int, root int) error
	serial          func(c *Comm, sent [][]int, root int) []int
}{
	{"Barrier", false, false, func(c *Comm, _, _ []int, _ int) error { return Barrier(c) }, func(*Comm, [][]int, int) []int { return nil }},
	{"Bcast", false, false, func(c *Comm, send, got []int, root int) error {
		copy(got, send)
		return Bcast(c, got, root)
	}, func(_ *Comm, sent [][]int, root int) []int { return sent[root] }},
	{"Reduce", true, true, func(c *Comm, send, got []int, root int) error { return Reduce(c, send, got, ordered, root) }, func(c *Comm, sent [][]int, root int) []int {
		return ifRoot(c, root, reduced(sent))
	}},
	{"Allreduce", true, true, func(c *Comm, send, got []int, _ int) error { return Allreduce(c, send, got, ordered) }, func(_ *Comm, sent [][]int, _ int) []int {
		return reduced(sent)
	}},
	{"Gather", false, true, func(c *Comm, send, got []int, root int) error { return Gather(c, send, got, root) }, func(c *Comm, sent [][]int, root int) []int {
		return ifRoot(c, root, slices.Concat(sent...))
	}},
	{"Allgather", false, true, func(c *Comm, send, got []int, _ int) error { return Allgather(c, send, got) }, func(_ *Comm, sent [][]int, _ int) []int {
		return slices.Concat(sent...)
	}},
	{"Alltoall", true, true, func(c *Comm, send, got []int, _ int) error { return Alltoall(c, send, got) }, func(c *Comm, sent [][]int, _ int) (all []int) {
		for _, theirs := range sent {
			all = append(all, part(theirs, c.Rank(), c.Size())...)
		}
		return all
	}},
}

// ordered is associative, but not commutative: it keeps the first digit of a and the last of b, and adds the rest.
func ordered(a, b int) int {
	return a - a%1_000_000 + (a%1_000_000/10+b%1_000_000/10)*10 + b%10
}

func reduced(sent [][]int) []int {
	result := slices.Clone(sent[0])
	for _, theirs := range sent[1:] {
		for i := range result {
			result[i] = ordered(result[i], theirs[i])
		}
	}
	return result
}

func ifRoot(c *Comm, root int, numbers []int) []int {
	if c.Rank() != root {
		return nil
	}
	return numbers
}

// inputOf returns a rank's numbers: the rank is the first digit, and the last.
func inputOf(rank, count int) []int {
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = (rank+1)*1_000_001 + 10*(i%1000)
	}
	return numbers
}

// Every collective operation returns the same as a loop over all ranks' numbers: on any number of ranks, with every root,
// for short and long slices, which may overlap in any way.
func TestCollectives(t *testing.T) {
	for _, ranks := range []int{2, 3, 4, 5} { // TestAlone is for one
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { runRanks(t, ranks, "collectives") })
	}
}

func collectivesOn(c *Comm) error {
	size := c.Size()
	for _, o := range operations {
		for root := range size {
			for _, each := range []int{0, 1, 5, eagerLimit/8 + 1} {
				if each > eagerLimit/8 && (size > 3 || root != size/2) {
					continue // the others take long
				}
				n, m := each, each
				if o.allSent {
					n *= size
				}
				if o.allGot {
					m *= size
				}
				var sent [][]int
				for rank := range size {
					sent = append(sent, inputOf(rank, n))
				}
				want := o.serial(c, sent, root)
				for _, at := range []struct{ send, got int }{{0, 2 * each * size}, {0, 0}, {c.Rank() * each, 0}, {0, c.Rank() * each}, {1, 0}, {0, 1}} {
					memory := make([]int, 4*each*size+1)
					send, got := memory[at.send:][:n], memory[at.got:][:m]
					copy(send, sent[c.Rank()])
					if err := o.do(c, send, got, root); err != nil || want != nil && !slices.Equal(got, want) {
						return fmt.Errorf("%s of %d, root %d, slices at %+v: got %v, %w, want %v", o.name, each, root, at, head(got), err, head(want))
					}
				}
			}
		}
	}
	sum, least, most := []int{0}, []int{0}, []int{0}
	if err := errors.Join(Allreduce(c, []int{c.Rank()}, sum, Sum), Allreduce(c, []int{-c.Rank()}, least, Min), Allreduce(c, []int{c.Rank()}, most, Max)); err != nil || 2*sum[0] != size*(size-1) || least[0] != 1-size || most[0] != size-1 {
		return fmt.Errorf("Sum: %v, Min: %v, Max: %v, %w", sum, least, most, err)
	}
	return nil
}

func head(numbers []int) []int { return numbers[:min(len(numbers), 10)] }

// misuses are mistakes of rank 2 of 4 in a collective operation.
var misuses = map[string]func(c *Comm, wrong bool) error{
	"more numbers": func(c *Comm, wrong bool) error { n := make([]int, 4+b2i(wrong)); return Allreduce(c, n, n, Sum) },
	"many more numbers": func(c *Comm, wrong bool) error {
		n := make([]int, 4+100_000*b2i(wrong))
		return Allreduce(c, n, n, Sum)
	},
	"more to distribute": func(c *Comm, wrong bool) error {
		return errors.Join(Bcast(c, make([]int, 4+b2i(wrong)), 0), Barrier(c))
	},
	"another operation": func(c *Comm, wrong bool) error {
		if wrong {
			return Barrier(c)
		}
		return Alltoall(c, make([]int, 4), make([]int, 4))
	},
	"another kind of numbers": func(c *Comm, wrong bool) error {
		if wrong {
			return Allgather(c, []int32{1}, make([]int32, 4))
		}
		return Allgather(c, []float32{1}, make([]float32, 4))
	},
	"another root": func(c *Comm, wrong bool) error {
		return errors.Join(Reduce(c, []int{1}, []int{0}, Sum, 3*b2i(wrong)), Barrier(c))
	},
	// No message shows these.
	"each waits for the other": func(c *Comm, wrong bool) error { return Bcast(c, []int{1}, 2-2*b2i(wrong)) },
	"the other has ended": func(c *Comm, wrong bool) error {
		if wrong {
			return Bcast(c, []int{1}, 1)
		}
		if c.Rank() == 1 {
			check(Gather(c, []int{1}, nil, 3))
		}
		_, err := Recv(c, []int{0}, AnySource, 0)
		return err
	},
	// The operation of rank 2 is called: it combines the numbers of ranks 2 and 3.
	"a panic": func(c *Comm, wrong bool) (err error) {
		defer func() {
			if v := recover(); v != nil {
				_, err = Recv(c, []int{0}, 0, 0) // as all later calls
			}
		}()
		return Allreduce(c, []int{1}, []int{0}, func(a, b int) int {
			if wrong {
				panic("a fault of the program")
			}
			return a
		})
	},
	"the end of a goroutine": func(c *Comm, wrong bool) error {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = Allreduce(c, []int{1}, []int{0}, func(a, b int) int {
				if wrong {
					runtime.Goexit()
				}
				return a
			})
		}()
		<-ended
		_, err := Recv(c, []int{0}, 0, 0)
		return err
	},
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A mistake of one rank in a collective operation ends the world, with errors that say so.
func TestMisuse(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		for name := range misuses {
			t.Run(name, func(t *testing.T) {
				out := &output{}
				_ = runJob(t, taskJob(adapter, 4, "misuse", out, misuseVariable+"="+name, boundVariable+"=3s"))
				text := out.text.String()
				panics := name == "a panic" || name == "the end of a goroutine"
				said := panics && strings.Contains(text, ErrPanicked.Error()) || !panics && (strings.Contains(text, ErrMismatch.Error()) || strings.Contains(text, ErrLength.Error()))
				for rank := range 4 {
					said = said && strings.Contains(text, fmt.Sprintf("rank %d: mpi: ", rank))
				}
				if !said {
					t.Error(text)
				}
			})
		}
	})
}
