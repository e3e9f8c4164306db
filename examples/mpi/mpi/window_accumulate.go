package mpi

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"
)

// Accumulate combines each of the numbers with one of the target's. Several ranks may accumulate at the same time.
// The target's process does the work while its program waits or computes; any goroutine may call the operation. If the
// operation panics, the next Fence, or Flush or Unlock of the target, fails on the rank that has called Accumulate. The
// numbers may change as soon as Accumulate returns.
func (w *Window[T]) Accumulate(numbers []T, target, index int) error {
	return w.core.accumulate(dataOf(numbers).bytes, target, offsetOf[T](index))
}

// FetchAndOp combines a number with one of the target's, as Accumulate does, and returns the one that was there before.
// No other Accumulate, FetchAndOp or CompareAndSwap of the target's memory comes between.
func (w *Window[T]) FetchAndOp(number T, target, index int) (before T, err error) {
	err = w.core.exchange(combining, dataOf([]T{number}).bytes, dataOf(unsafe.Slice(&before, 1)).bytes, target, offsetOf[T](index))
	return before, err
}

// CompareAndSwap replaces one of the target's numbers if it equals old, and returns the one that was there before. No
// other Accumulate, FetchAndOp or CompareAndSwap of the target's memory comes between. The window needs no operation.
func (w *Window[T]) CompareAndSwap(old, replacement T, target, index int) (before T, err error) {
	err = w.core.exchange(swapping, dataOf([]T{old, replacement}).bytes, dataOf(unsafe.Slice(&before, 1)).bytes, target, offsetOf[T](index))
	return before, err
}

// change is what is done with numbers in a window.
type change uint64

const (
	combining change = iota
	swapping
)

const (
	// accumulatePrefix is the size of the offset and the change. It keeps the numbers aligned.
	accumulatePrefix = 16
	// mostAccumulated is how many bytes of numbers a message has. It is a multiple of the size of each kind of
	// number.
	mostAccumulated = (eagerLimit - accumulatePrefix) &^ 15
	// mostUnanswered bounds how many accumulations a target has to store.
	mostUnanswered = 16
	// mostBefore is the size of the largest number.
	mostBefore = 16
)

// accumulation is numbers that a rank has sent to change those in the window.
type accumulation struct {
	from    int // rank
	offset  int
	change  change
	numbers []byte
}

// reply is what the target says of an accumulation.
type reply struct {
	number uint64
	before []byte // receives the number that was there; nil if nobody asks
	came   bool
	err    error
}

func (win *window) accumulate(numbers []byte, rank, offset int) error {
	win.enter()
	defer win.leave()
	if win.combine == nil {
		return errNoOperation
	}
	if _, err := win.begin(rank, offset, len(numbers)); err != nil {
		return err
	}
	for part := range slices.Chunk(numbers, mostAccumulated) {
		if err := win.apply(rank, offset, combining, part, &reply{}); err != nil {
			return err
		}
		offset += len(part)
	}
	return nil
}

var errNoOperation = badArgument("the window was made without an operation")

// exchange changes one number and waits for the answer.
func (win *window) exchange(change change, numbers, before []byte, rank, offset int) error {
	w := win.comm.world
	if rank == win.comm.rank {
		defer w.rest() // the program may exchange in a loop, until other ranks have done so
	}
	win.enter()
	defer win.leave()
	if change == combining && win.combine == nil {
		return errNoOperation
	}
	if _, err := win.begin(rank, offset, len(before)); err != nil {
		return err
	}
	r := &reply{before: before}
	if err := win.apply(rank, offset, change, numbers, r); err != nil {
		return err
	}
	if rank == win.comm.rank {
		w.glance()
	}
	if err := w.await(func() bool { return r.came }); err != nil {
		return err
	}
	return r.err
}

// apply has the target change its memory. For this rank itself, that is done when apply returns.
func (win *window) apply(rank, offset int, change change, numbers []byte, r *reply) error {
	w, t := win.comm.world, &win.targets[rank]
	if err := w.await(func() bool { return len(t.unanswered) < mostUnanswered }); err != nil {
		return err
	}
	r.number = t.begin()
	t.unanswered = append(t.unanswered, r)
	if rank == win.comm.rank {
		win.given = append(win.given, accumulation{rank, offset, change, aligned(numbers)})
		win.advance()
		return w.await(func() bool { return r.came })
	}
	message := make([]byte, accumulatePrefix, accumulatePrefix+len(numbers))
	*(*uint64)(unsafe.Pointer(&message[0])) = uint64(offset)
	*(*uint64)(unsafe.Pointer(&message[8])) = uint64(change)
	return win.tell(rank, accumulateTag, append(message, numbers...))
}

// aligned returns a copy that is aligned for any numbers.
func aligned(b []byte) []byte {
	copied := dataOf(make([]uint64, (len(b)+7)/8)).bytes[:len(b)]
	copy(copied, b)
	return copied
}

// accept checks an accumulation of another rank, and has advance make the change.
func (win *window) accept(from int, message []byte) error {
	if len(message) < accumulatePrefix {
		return fmt.Errorf("%w: an accumulation of %d bytes", errMalformed, len(message))
	}
	message = aligned(message)
	offset, change := *(*uint64)(unsafe.Pointer(&message[0])), change(*(*uint64)(unsafe.Pointer(&message[8])))
	numbers := message[accumulatePrefix:]
	length := len(numbers)
	switch {
	case change == swapping && length == 2*win.element.size():
		length /= 2
	case change != combining:
		return fmt.Errorf("%w: %d bytes for change %d", errMalformed, length, change)
	}
	if offset > uint64(len(win.memory)) || uint64(length) > uint64(len(win.memory))-offset {
		return fmt.Errorf("%w: an accumulation beyond the end", errMalformed)
	}
	w := win.comm.world
	win.given = append(win.given, accumulation{from, int(offset), change, numbers})
	w.due = append(w.due, win)
	w.stir()
	return nil
}

// advance makes the changes that were given, one at a time, and answers. It unlocks mu meanwhile.
func (win *window) advance() {
	w := win.comm.world
	if win.busy {
		return
	}
	win.busy = true
	var g accumulation
	working := false
	defer func() {
		win.busy = false
		w.stir()
		if working {
			win.answer(g, nil, errGoexit)
			win.advance()
		}
	}()
	for len(win.given) > 0 && w.err == nil {
		g, win.given = win.given[0], win.given[1:]
		there := win.memory[g.offset:]
		before := slices.Clone(there[:min(len(g.numbers), win.element.size())])
		working = true
		err := win.work(g, there)
		working = false
		win.answer(g, before, err)
	}
}

// work makes one change.
func (win *window) work(g accumulation, there []byte) error {
	switch {
	case g.change == swapping:
		win.swap(there, g.numbers)
		return nil
	case win.combine == nil:
		return badArgument("the window of rank %d was made without an operation", win.comm.rank)
	}
	return win.comm.world.call(func() { win.combine(there[:len(g.numbers)], g.numbers) })
}

// answer tells the rank that has sent an accumulation what was there, and what went wrong.
func (win *window) answer(g accumulation, before []byte, err error) {
	if g.from == win.comm.rank {
		win.answered(g.from, before, err)
		return
	}
	message := make([]byte, mostBefore)
	copy(message, before)
	_ = win.tell(g.from, accumulatedTag, append(message, why(err)...)) // it fails at the end of the world
}

// readAnswer reads what another rank has answered.
func (win *window) readAnswer(from int, message []byte) error {
	if len(win.targets[from].unanswered) == 0 || len(message) < mostBefore {
		return fmt.Errorf("%w: an answer to an accumulation", errMalformed)
	}
	var err error
	if text := message[mostBefore:]; len(text) > 0 {
		err = fmt.Errorf("%w: rank %d: %s", ErrElsewhere, from, text)
	}
	win.answered(from, message, err)
	return nil
}

// answered records the answer to the earliest accumulation that has none.
func (win *window) answered(from int, before []byte, err error) {
	t := &win.targets[from]
	r := t.unanswered[0]
	t.unanswered = t.unanswered[1:]
	r.came, r.err = true, err
	t.end(r.number)
	copy(r.before, before)
	if r.before == nil {
		win.failed = cmp.Or(win.failed, err)
	}
	win.comm.world.stir()
}
