package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"unsafe"
)

// Collective operations are sends and receives in a context of their own. All ranks of a communicator must call the same
// ones in the same order, with slices that go together. The slices of one call may overlap.
//
// Bad arguments are an ErrArgument on the rank that passes them, which has then not called the operation. An operation
// that fails once it has begun, because ranks have called different ones, for example, ends the world: what the
// communicator's other messages belong to is unknown then.

var (
	// ErrLength says that the ranks called a collective operation with slices of different lengths.
	ErrLength = errors.New("mpi: the ranks passed slices of different lengths")
	// ErrMismatch says that the ranks called different collective operations, or the same one with different roots or
	// kinds of numbers.
	ErrMismatch = errors.New("mpi: the ranks called collective operations that do not go together")
	// ErrPanicked says that an operation of the program, such as that of a Reduce, has panicked, or has ended its
	// goroutine.
	ErrPanicked = errors.New("mpi: the program's operation has panicked")
)

// The messages of a collective operation have a tag of their own: the number of the operation, a digest of what must be
// the same on all ranks, and a purpose.
const (
	sequences   = 1 << 15
	digestBits  = 16 // with the purpose
	purposeMask = 3
)

const (
	// content is what the operation needs.
	content = iota
	// question comes from a rank that has waited for long. The receiver may have called another operation, or none, without
	// any message that shows that.
	question
	// answer says that the rank has ended the operation. All that it has sent is there before the answer.
	answer
)

// collective is an operation under way. Its methods return at once after an error, which is in err.
type collective struct {
	comm  *Comm
	sends []*Request
	err   error
}

// collectively runs a collective operation. argument is what is wrong with the arguments.
func (c *Comm) collectively(name string, root int, kind elementKind, argument error, do func(o *collective)) error {
	if argument != nil {
		return argument
	}
	if err := c.enter(name, root, kind); err != nil {
		return err
	}
	o, completed := &collective{comm: c}, false
	defer func() { // the program's operation may panic, or end the goroutine
		if !completed {
			o.err = ErrPanicked
		}
		c.leave(o.err)
	}()
	do(o)
	if o.err == nil {
		_, o.err = Waitall(o.sends...)
	}
	completed = true
	return o.err
}

// enter begins an operation.
func (c *Comm) enter(name string, root int, kind elementKind) error {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case c.running != "":
		return badArgument("another goroutine is in the communicator's %s", c.running)
	}
	h := fnv.New32a()
	fmt.Fprint(h, name, root, kind)
	sum := h.Sum32()
	c.running, c.tag = name, c.sequence<<digestBits|int(sum^sum>>digestBits)&(1<<digestBits-1)&^purposeMask
	if slices.ContainsFunc(w.matcher.messages(c.collectiveContext()), c.stray) {
		return w.err
	}
	return nil
}

// leave ends it.
func (c *Comm) leave(err error) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	c.running, c.sequence = "", (c.sequence+1)%sequences
	if err != nil {
		w.fail(err)
	}
}

// stray handles a message of a collective operation for which no receive is posted. It reports whether the message
// can be discarded. The caller holds mu.
func (c *Comm) stray(m *message) bool {
	w, from, purpose := c.world, m.source, m.tag&purposeMask
	behind := (c.sequence - m.tag>>digestBits + sequences) % sequences
	running := c.running != "" && behind == 0
	wrong := func(what string) { w.fail(fmt.Errorf("%w: rank %d has %s", ErrMismatch, from, what)) }
	switch ended := behind > 0 && behind < sequences/2; {
	case running && m.tag&^purposeMask != c.tag:
		wrong("called another one than " + c.running)
	case running && purpose == answer && w.matcher.waiting(envelope{m.context, m.source, c.tag}) != nil:
		wrong("ended " + c.running + " without a message that this rank needs")
	case ended && purpose == content:
		wrong("called another one than this rank, which has ended its own")
	case ended && purpose == question:
		_, _ = c.begin(c.collectiveContext(), data{}, from, m.tag^question^answer) // it fails at the end of the world
	case !ended && !running && purpose == question && w.closed:
		w.fail(&RankError{w.rank, fmt.Errorf("%w: others wait for it in a collective operation", ErrDied)})
	default:
		return purpose != content
	}
	return true
}

// ask has ranks asked for what collective operations have waited for since an earlier call. Those that have not called
// the operation yet are asked again.
func (w *World) ask() {
	for _, r := range w.matcher.receives() {
		if c := r.comm; r.context == c.collectiveContext() {
			if r.waited {
				_, _ = c.begin(r.context, data{}, r.source, c.tag|question) // as above
			}
			r.waited = true
		}
	}
}

// send begins to send numbers, which must not change before the operation has ended.
func (o *collective) send(numbers data, to int) {
	if o.err == nil {
		o.sends = append(o.sends, o.comm.isend(o.comm.collectiveContext(), numbers, to, o.comm.tag))
	}
}

// receive waits for numbers.
func (o *collective) receive(numbers data, from int) {
	if o.err != nil {
		return
	}
	status, err := o.comm.irecv(o.comm.collectiveContext(), numbers, from, o.comm.tag).Wait()
	if errors.Is(err, ErrTruncated) || err == nil && status.Count != numbers.count() {
		err = fmt.Errorf("%w: %d from rank %d, but %d here", ErrLength, status.Count, from, numbers.count())
	}
	o.err = err
}

// exchange sends numbers, receives others, and waits for both.
func (o *collective) exchange(out data, to int, in data, from int) {
	o.send(out, to)
	o.receive(in, from)
	if o.err == nil {
		_, o.err = Waitall(o.sends...)
		o.sends = o.sends[:0]
	}
}

func (c *Comm) checkRoot(root int) error {
	if root < 0 || root >= c.Size() {
		return badArgument("the root is %d; it must be 0 to %d", root, c.Size()-1)
	}
	return nil
}

// checkLength checks the length of a slice with some numbers for each of some ranks.
func checkLength(name string, length, each, ranks int) error {
	if length != each*ranks {
		return badArgument("%s has %d numbers; it must have %d for each of %d ranks", name, length, each, ranks)
	}
	return nil
}

func checkOperation(missing bool) error {
	if missing {
		return badArgument("the operation is nil")
	}
	return nil
}

// part returns the part of a rank in a slice of equal parts.
func part[T Number](all []T, rank, size int) []T {
	length := len(all) / size
	return all[rank*length:][:length]
}

// kindOf returns the kind of a type of numbers.
func kindOf[T Number]() elementKind { return dataOf[T](nil).kind }

// keptScratch is how many bytes of scratch a communicator keeps between operations.
const keptScratch = 16 << 20

// scratch returns memory for n numbers, with any contents. The communicator keeps it, since memory that is used again is
// registered already.
func scratch[T Number](c *Comm, n int) []T {
	words := (n*int(unsafe.Sizeof(*new(T))) + 7) / 8
	memory := c.scratch
	if len(memory) < words {
		if memory = make([]uint64, words); 8*words <= keptScratch {
			c.scratch = memory
		}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), n)
}

// Barrier waits until all ranks have called it.
func Barrier(c *Comm) error {
	return c.collectively("Barrier", 0, 0, nil, func(o *collective) {
		// A rank hears from the one before it, and then knows of as many ranks as the distance is; so it doubles.
		size, none := c.Size(), dataOf([]byte(nil))
		for distance := 1; distance < size; distance *= 2 {
			o.exchange(none, (c.Rank()+distance)%size, none, (c.Rank()-distance+size)%size)
		}
	})
}

// Bcast copies the root's numbers to all ranks.
func Bcast[T Number](c *Comm, numbers []T, root int) error {
	return c.collectively("Bcast", root, kindOf[T](), c.checkRoot(root), func(o *collective) { o.bcast(dataOf(numbers), root) })
}

// bcast sends along a binomial tree: a rank gets the numbers from the one at its position without the lowest bit.
func (o *collective) bcast(numbers data, root int) {
	size, bit := o.comm.Size(), 1
	position := (o.comm.Rank() - root + size) % size
	for bit < size && position&bit == 0 {
		bit *= 2
	}
	if position > 0 {
		o.receive(numbers, (position-bit+root)%size)
	}
	for bit /= 2; bit > 0; bit /= 2 {
		if position+bit < size {
			o.send(numbers, (position+bit+root)%size)
		}
	}
}

// Sum, Min and Max are operations for Reduce.
func Sum[T Number](a, b T) T { return a + b }
func Min[T Real](a, b T) T   { return min(a, b) }
func Max[T Real](a, b T) T   { return max(a, b) }

// Reduce combines the first numbers of all ranks, the second numbers, and so on, and stores the results on the root.
// Other ranks may pass nil for result, but not for send.
//
// The operation must be associative; it does not need to be commutative. Operands are combined in the order of the
// ranks, whatever the root is, so that results of floating-point numbers are the same each time. If the operation panics,
// or ends its goroutine, the world fails on all ranks.
func Reduce[T Number](c *Comm, send, result []T, operation func(a, b T) T, root int) error {
	err := cmp.Or(c.checkRoot(root), checkOperation(operation == nil))
	if err == nil && c.Rank() == root {
		err = checkLength("result", len(result), len(send), 1)
	}
	return c.collectively("Reduce", root, kindOf[T](), err, func(o *collective) {
		partial := reduce(o, send, operation)
		switch {
		case c.Rank() == root && root == 0:
			copy(result, partial)
		case c.Rank() == root:
			o.receive(dataOf(result), 0)
		case c.Rank() == 0:
			o.send(dataOf(partial), root)
		}
	})
}

// reduce combines along a binomial tree: each rank combines its numbers with those of the ranks after it. Rank 0 has
// the result.
func reduce[T Number](o *collective, send []T, operation func(a, b T) T) (partial []T) {
	c, n := o.comm, len(send)
	memory := scratch[T](c, 2*n)
	partial, other := memory[:n], memory[n:]
	copy(partial, send)
	for bit := 1; bit < c.Size(); bit *= 2 {
		if c.Rank()&bit != 0 {
			o.send(dataOf(partial), c.Rank()-bit)
			break
		}
		if c.Rank()+bit < c.Size() {
			if o.receive(dataOf(other), c.Rank()+bit); o.err != nil {
				break
			}
			for i := range partial {
				partial[i] = operation(partial[i], other[i])
			}
		}
	}
	return partial
}

// Allreduce is a Reduce whose result all ranks get. It is the same on all.
func Allreduce[T Number](c *Comm, send, result []T, operation func(a, b T) T) error {
	err := cmp.Or(checkOperation(operation == nil), checkLength("result", len(result), len(send), 1))
	return c.collectively("Allreduce", 0, kindOf[T](), err, func(o *collective) {
		partial := reduce(o, send, operation)
		if c.Rank() == 0 {
			copy(result, partial)
		}
		o.bcast(dataOf(result), 0)
	})
}

// Gather collects the numbers of all ranks on the root, in the order of the ranks. Other ranks may pass nil for all.
func Gather[T Number](c *Comm, send, all []T, root int) error {
	err := c.checkRoot(root)
	if err == nil && c.Rank() == root {
		err = checkLength("all", len(all), len(send), c.Size())
	}
	return c.collectively("Gather", root, kindOf[T](), err, func(o *collective) {
		if c.Rank() != root {
			o.send(dataOf(send), root)
			return
		}
		copy(part(all, root, c.Size()), send)
		for rank := range c.Size() {
			if rank != root {
				o.receive(dataOf(part(all, rank, c.Size())), rank)
			}
		}
	})
}

// Allgather is a Gather whose result all ranks get.
func Allgather[T Number](c *Comm, send, all []T) error {
	size := c.Size()
	return c.collectively("Allgather", 0, kindOf[T](), checkLength("all", len(all), len(send), size), func(o *collective) {
		// The parts go around a ring: each rank sends on what it has received from the rank before it.
		copy(part(all, c.Rank(), size), send)
		for step := range size - 1 {
			o.exchange(dataOf(part(all, (c.Rank()-step+size)%size, size)), (c.Rank()+1)%size, dataOf(part(all, (c.Rank()-step-1+size)%size, size)), (c.Rank()-1+size)%size)
		}
	})
}

// Alltoall sends a part to each rank: rank i gets part i of each rank's send, in the order of the ranks.
func Alltoall[T Number](c *Comm, send, receive []T) error {
	size := c.Size()
	err := cmp.Or(checkLength("send", len(send), len(send)/size, size), checkLength("receive", len(receive), len(send)/size, size))
	return c.collectively("Alltoall", 0, kindOf[T](), err, func(o *collective) {
		if overlap(dataOf(send), dataOf(receive)) {
			copied := scratch[T](c, len(send))
			copy(copied, send)
			send = copied
		}
		copy(part(receive, c.Rank(), size), part(send, c.Rank(), size))
		// One partner at a time: soft-RoCE fails with hundreds of megabytes under way.
		for distance := 1; distance < size; distance++ {
			from, to := (c.Rank()-distance+size)%size, (c.Rank()+distance)%size
			o.exchange(dataOf(part(send, to, size)), to, dataOf(part(receive, from, size)), from)
		}
	})
}

// overlap reports whether two slices have memory in common.
func overlap(a, b data) bool {
	first, second := uintptr(unsafe.Pointer(unsafe.SliceData(a.bytes))), uintptr(unsafe.Pointer(unsafe.SliceData(b.bytes)))
	return first < second+uintptr(len(b.bytes)) && second < first+uintptr(len(a.bytes))
}
