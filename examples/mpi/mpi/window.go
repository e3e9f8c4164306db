package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/goudat/goudat/udat"
)

// Window is memory of each rank of a communicator. All ranks may read and write all of it, without the help of the
// rank that has it: Put and Get are RDMA operations. They are complete after Fence on all ranks, or after Flush or
// Unlock on the rank that has called it. Between two fences, no two ranks may use the same numbers unless all of them
// only read, or only accumulate, or hold locks.
//
// Any goroutine may call the methods, except Fence and Free. All ranks must call these two, in the same order as the
// communicator's collective operations.
type Window[T Number] struct {
	// Local is this rank's memory. It is outside of Go's heap: the program must not touch it after Free, which sets Local to
	// nil.
	Local []T
	core  *window
}

// CreateWindow creates a window. This rank's part has the given number of numbers, which are 0. All ranks of c must
// call it; the number may differ between ranks. Accumulate calls combine with the number in the window and the one
// that it was passed; nil is for windows without Accumulate. See Reduce for what the function must not do.
func CreateWindow[T Number](c *Comm, numbers int, combine func(there, given T) T) (*Window[T], error) {
	size := int(unsafe.Sizeof(*new(T)))
	var err error
	if numbers < 0 || numbers > math.MaxUint32/size {
		err = badArgument("a window of %d numbers; it must have 0 to %d", numbers, math.MaxUint32/size)
		numbers = 0
	}
	core, err := c.createWindow(numbers*size, kindOf[T](), err)
	if err != nil {
		return nil, err
	}
	if combine != nil {
		core.combine = func(there, given []byte) {
			a, b := numbersOf[T](there), numbersOf[T](given)
			for i := range a {
				a[i] = combine(a[i], b[i])
			}
		}
	}
	core.swap = func(there, given []byte) {
		if a, b := numbersOf[T](there), numbersOf[T](given); a[0] == b[0] {
			a[0] = b[1]
		}
	}
	core.ready()
	return &Window[T]{Local: numbersOf[T](core.memory), core: core}, nil
}

// numbersOf is the reverse of dataOf. The memory must be aligned for the numbers.
func numbersOf[T Number](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// offsetOf returns the offset of a number in bytes. It is negative for an index that no window has.
func offsetOf[T Number](index int) int {
	size := int(unsafe.Sizeof(*new(T)))
	if index < 0 || index > math.MaxUint32/size {
		return -size
	}
	return index * size
}

// Put writes numbers to the target's memory, beginning at an index. They must not change until the next Fence, or
// Flush or Unlock of the target.
func (w *Window[T]) Put(numbers []T, target, index int) error {
	return w.core.put(dataOf(numbers).bytes, target, offsetOf[T](index))
}

// Get reads numbers from the target's memory, beginning at an index. They have arrived after the next Fence, or Flush
// or Unlock of the target.
func (w *Window[T]) Get(numbers []T, target, index int) error {
	return w.core.get(dataOf(numbers).bytes, target, offsetOf[T](index))
}

// Fence waits until all operations of all ranks on the window are complete. All ranks must call it. If operations of
// this rank have failed, Fence returns their errors on this rank only.
func (w *Window[T]) Fence() error { return w.core.fence() }

// Flush waits until all operations of this rank on the target's memory are complete.
func (w *Window[T]) Flush(target int) error { return w.core.flushOne(target) }

// Lock waits for the lock of the target's memory. While a rank holds it with Exclusive, no other rank holds it;
// several ranks can hold it with Shared. Ranks get it in the order of their requests.
func (w *Window[T]) Lock(target int, mode LockMode) error { return w.core.lock(target, mode) }

// Unlock flushes, and releases the lock.
func (w *Window[T]) Unlock(target int) error { return w.core.unlock(target) }

// Free does what Fence does, and frees the window, even if it returns an error. Calls of other goroutines that begin
// meanwhile fail with ErrFreed.
func (w *Window[T]) Free() error {
	err := w.core.free()
	w.Local = nil
	return err
}

// LockMode says whether several ranks can hold a lock at the same time.
type LockMode int

const (
	Shared LockMode = iota
	Exclusive
)

func (m LockMode) String() string {
	switch m {
	case Shared:
		return "Shared"
	case Exclusive:
		return "Exclusive"
	}
	return fmt.Sprintf("LockMode(%d)", int(m))
}

// window is a Window of bytes. The world's mu guards it.
type window struct {
	comm    *Comm // used by this window only
	element elementKind
	lmr     *udat.LMR
	memory  []byte
	targets []target // by rank
	combine func(there, given []byte)
	swap    func(there, given []byte) // for CompareAndSwap: given is what to compare with, and the new number
	given   []accumulation            // that are to be combined, the earliest first
	busy    bool                      // advance is running
	lockers lockers
	early   []func() // messages that arrived before the window was ready
	isReady bool
	calls   int // under way, which Free waits for
	freed   bool
	failed  error // error of a Get or an Accumulate, which the next flush reports
}

// target is the memory of a rank, and this rank's operations on it.
type target struct {
	memory     udat.RMRTriplet
	length     int
	written    uint32              // the peer's posted at the last Put
	former     uint32              // the peer's former at the last Put
	writing    bool                // there was a Put since the last flush
	begun      uint64              // gets and accumulations, which have numbers from 1 on
	settled    uint64              // those up to this number have ended
	over       map[uint64]struct{} // the others that have ended
	unanswered []*reply            // of accumulations, the earliest first
	asked      bool                // the lock was requested
	locked     bool
}

// windowFailed is the length that a rank reports if it could not create its window.
const windowFailed = math.MaxUint64

// createWindow allocates the memory, and tells the other ranks about it.
func (c *Comm) createWindow(length int, element elementKind, failed error) (*window, error) {
	own, err := c.Dup()
	if err != nil {
		return nil, err
	}
	win := &window{comm: own, element: element, targets: make([]target, c.Size())}
	if failed == nil {
		failed = win.allocate(length)
	}
	var triplet udat.RMRTriplet
	if failed == nil && win.lmr != nil && length > 0 {
		triplet, failed = win.lmr.RMRTriplet(0, length)
	}
	mine := []uint64{uint64(length), uint64(element), 0, 0}
	if failed != nil {
		mine[0] = windowFailed
	}
	b, _ := triplet.AppendBinary(nil) // has no errors
	copy(dataOf(mine[2:]).bytes, b)
	all := make([]uint64, len(mine)*c.Size())
	own.world.handle(own, win.handle)
	if err := Allgather(own, mine, all); err != nil {
		return nil, errors.Join(err, win.release())
	}
	for rank := range win.targets {
		theirs := part(all, rank, c.Size())
		switch {
		case failed != nil:
		case theirs[0] == windowFailed:
			failed = ErrElsewhere
		case theirs[1] != uint64(element):
			failed = fmt.Errorf("%w: rank %d has a window of another kind of numbers", ErrMismatch, rank)
		}
		t := &win.targets[rank]
		t.length = int(theirs[0])
		if err := t.memory.UnmarshalBinary(dataOf(theirs[2:]).bytes); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return nil, errors.Join(failed, win.release())
	}
	return win, nil
}

// allocate allocates this rank's memory. It is page aligned and outside of Go's heap, because peers write it.
func (win *window) allocate(length int) error {
	w := win.comm.world
	if w.ia == nil {
		win.memory = dataOf(make([]uint64, (length+7)/8)).bytes[:length]
		return nil
	}
	var err error
	win.lmr, err = udat.AllocMemory(w.pz, max(length, 1), udat.MemPrivAll)
	if err != nil {
		return err
	}
	win.memory = win.lmr.Bytes()[:length:length]
	return nil
}

// ready begins to handle messages of other ranks.
func (win *window) ready() {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	win.isReady = true
	for _, do := range win.early {
		do()
	}
	win.early = nil
}

// release frees the memory, once no operation of the program works on it.
func (win *window) release() error {
	win.comm.forget()
	w := win.comm.world
	w.mu.Lock()
	for win.busy {
		w.changed.Wait()
	}
	gone := w.closed // with all that it had
	w.mu.Unlock()
	if win.lmr == nil || gone {
		return nil
	}
	return win.lmr.Free()
}

// enter begins a call: it locks mu.
func (win *window) enter() {
	win.comm.world.mu.Lock()
	win.calls++
}

// leave ends a call.
func (win *window) leave() {
	if win.calls--; win.calls == 0 && win.freed {
		win.comm.world.stir()
	}
	win.comm.world.mu.Unlock()
}

// check returns what is wrong with an operation. The caller holds mu.
func (win *window) check(rank, offset, length int) error {
	switch w := win.comm.world; {
	case win.freed:
		return ErrFreed
	case rank < 0 || rank >= len(win.targets):
		return badArgument("the target is %d; it must be 0 to %d", rank, len(win.targets)-1)
	case offset < 0 || length > win.targets[rank].length || offset > win.targets[rank].length-length:
		size := win.element.size()
		return badArgument("%d numbers from index %d on, but rank %d has %d", length/size, offset/size, rank, win.targets[rank].length/size)
	case w.err != nil:
		return w.err
	}
	return nil
}

// reach waits until the peer is connected, and returns it. It returns nil for this rank itself.
func (win *window) reach(rank int) (*peer, error) {
	w := win.comm.world
	if rank == win.comm.rank {
		return nil, nil
	}
	p := w.peers[win.comm.group[rank]]
	return p, w.await(p.ready)
}

// begin checks an operation, and returns the peer, or nil for this rank itself.
func (win *window) begin(rank, offset, length int) (*peer, error) {
	if err := win.check(rank, offset, length); err != nil || length == 0 {
		return nil, err
	}
	return win.reach(rank)
}

func (win *window) put(numbers []byte, rank, offset int) error {
	win.enter()
	defer win.leave()
	p, err := win.begin(rank, offset, len(numbers))
	if err != nil {
		return err
	}
	if p == nil {
		if len(numbers) > 0 {
			copy(win.memory[offset:], numbers)
		}
		return nil
	}
	t := &win.targets[rank]
	to := t.memory
	to.VirtualAddress += uint64(offset)
	if len(numbers) <= slotSize {
		err = p.putCopy(numbers, to)
	} else {
		err = p.putLong(numbers, to)
	}
	t.written, t.former, t.writing = p.posted, p.former, true
	return err
}

// putCopy copies numbers to a staging slot and writes them from there.
func (p *peer) putCopy(numbers []byte, to udat.RMRTriplet) error {
	w := p.world
	if err := w.await(func() bool {
		ready := p.ready() && p.room(1) && len(w.staging.free) > 0
		w.blocked = w.blocked || !ready
		return ready
	}); err != nil {
		return err
	}
	slot := w.staging.take()
	copy(w.staging.bytes(slot), numbers)
	segment, err := w.staging.segment(slot, len(numbers))
	if err != nil {
		return err
	}
	return p.postWrite(segment, to, windowWrite{slot: slot})
}

// putLong writes numbers in pieces, without a copy.
func (p *peer) putLong(numbers []byte, to udat.RMRTriplet) error {
	w := p.world
	region, err := w.register(numbers)
	if err != nil {
		return err
	}
	for at := 0; at < len(numbers); at += pieceSize {
		if err := w.await(func() bool {
			ready := p.ready() && p.room(1)
			w.blocked = w.blocked || !ready
			return ready
		}); err != nil {
			return errors.Join(err, region.release())
		}
		n := min(pieceSize, len(numbers)-at)
		segment, err := region.segment(at, n)
		if err != nil {
			return err
		}
		done := windowWrite{slot: -1}
		if at+n == len(numbers) {
			done.region = region
		}
		if err := p.postWrite(segment, to, done); err != nil {
			return err
		}
		to.VirtualAddress += pieceSize
	}
	return nil
}

func (win *window) get(numbers []byte, rank, offset int) error {
	w := win.comm.world
	win.enter()
	defer win.leave()
	p, err := win.begin(rank, offset, len(numbers))
	if err != nil {
		return err
	}
	if p == nil {
		if len(numbers) > 0 {
			copy(numbers, win.memory[offset:])
		}
		return nil
	}
	t := &win.targets[rank]
	from := t.memory
	from.VirtualAddress += uint64(offset)
	if err := w.await(func() bool { return t.begun-t.settled < mostOpen }); err != nil {
		return err
	}
	number := t.begin()
	if err := p.fetch(numbers, from, func(err error) {
		t.end(number)
		win.failed = cmp.Or(win.failed, err)
		w.stir()
	}); err != nil {
		t.end(number)
		return err
	}
	return nil
}

// Tags of the messages of a window.
const (
	// accumulateTag has the offset in the target's memory, what to do, and then the numbers. accumulatedTag is the answer:
	// the number that was there, and what went wrong.
	accumulateTag = iota
	accumulatedTag
	lockSharedTag
	lockExclusiveTag
	lockedTag
	unlockTag
)

// tell sends a message of the window to another rank.
func (win *window) tell(rank, tag int, message []byte) error {
	_, err := win.comm.begin(nil, win.comm.userContext(), dataOf(message), rank, tag)
	return err
}

// handle handles a message of the window.
func (win *window) handle(from, tag int, message []byte) {
	if !win.isReady {
		message = append([]byte(nil), message...)
		win.early = append(win.early, func() { win.handle(from, tag, message) })
		return
	}
	w := win.comm.world
	t := &win.targets[from]
	switch tag {
	case accumulateTag:
		if err := win.accept(from, message); err != nil {
			w.fail(&RankError{win.comm.group[from], err})
		}
	case accumulatedTag:
		if err := win.readAnswer(from, message); err != nil {
			w.fail(&RankError{win.comm.group[from], err})
		}
	case lockSharedTag:
		win.grant(win.lockers.ask(from, Shared))
	case lockExclusiveTag:
		win.grant(win.lockers.ask(from, Exclusive))
	case lockedTag:
		t.locked = true
		w.stir()
	case unlockTag:
		win.grant(win.lockers.leave(from))
	}
}

// grant tells ranks that they hold this rank's lock.
func (win *window) grant(ranks []int) {
	for _, rank := range ranks {
		if rank == win.comm.rank {
			win.targets[rank].locked = true
			win.comm.world.stir()
			continue
		}
		_ = win.tell(rank, lockedTag, nil) // it fails at the end of the world
	}
}

func (win *window) lock(rank int, mode LockMode) error {
	w := win.comm.world
	win.enter()
	defer win.leave()
	if mode != Shared && mode != Exclusive {
		return badArgument("the mode is %v; it must be Shared or Exclusive", mode)
	}
	if err := win.check(rank, 0, 0); err != nil {
		return err
	}
	t := &win.targets[rank]
	if t.asked {
		return badArgument("this rank already holds or waits for the lock of rank %d", rank)
	}
	t.asked = true
	tag := lockSharedTag
	if mode == Exclusive {
		tag = lockExclusiveTag
	}
	if rank == win.comm.rank {
		win.handle(rank, tag, nil)
	} else if err := win.tell(rank, tag, nil); err != nil {
		return err
	}
	if err := w.await(func() bool { return t.locked || win.freed }); err != nil || t.locked {
		return err
	}
	return ErrFreed
}

func (win *window) unlock(rank int) error {
	win.enter()
	defer win.leave()
	if err := win.check(rank, 0, 0); err != nil {
		return err
	}
	t := &win.targets[rank]
	if !t.locked {
		return badArgument("this rank does not hold the lock of rank %d", rank)
	}
	err := win.flush(rank)
	t.asked, t.locked = false, false
	if rank == win.comm.rank {
		win.handle(rank, unlockTag, nil)
		return err
	}
	return errors.Join(err, win.tell(rank, unlockTag, nil))
}

// begin counts a get or an accumulation.
func (t *target) begin() (number uint64) {
	t.begun++
	return t.begun
}

// end notes that one has ended. They may end in any order.
func (t *target) end(number uint64) {
	if t.over == nil {
		t.over = map[uint64]struct{}{}
	}
	t.over[number] = struct{}{}
	for {
		if _, ok := t.over[t.settled+1]; !ok {
			return
		}
		t.settled++
		delete(t.over, t.settled)
	}
}

// mostOpen bounds how many gets and accumulations are under way, so that one in the middle of a stream of them ends.
const mostOpen = 64

// flush waits until this rank's operations on another rank's memory are complete that have begun before. The caller
// holds mu.
func (win *window) flush(rank int) error {
	w, t := win.comm.world, &win.targets[rank]
	last := t.begun
	if t.writing {
		written, former := t.written, t.former
		p := w.peers[win.comm.group[rank]]
		// The last write may complete without an event, or before it has arrived.
		if err := w.await(func() bool {
			if former != p.former || !later(written, p.delivered) {
				return true // a connection ends only after all writes are done
			}
			w.blocked = true
			if later(written, p.answer) {
				if err := p.confirm(); err != nil {
					p.lose(err)
				}
			}
			return false
		}); err != nil {
			return err
		}
		t.writing = t.written != written || t.former != former
	}
	err := w.await(func() bool { return t.settled >= last })
	if err == nil {
		err, win.failed = win.failed, nil
	}
	return err
}

func (win *window) flushOne(rank int) error {
	win.enter()
	defer win.leave()
	if err := win.check(rank, 0, 0); err != nil {
		return err
	}
	return win.flush(rank)
}

// fence flushes, and waits for the other ranks, which wait for this one even if it has nothing but an error to report.
func (win *window) fence() error {
	err := win.settle()
	if errors.Is(err, ErrFreed) {
		return err
	}
	return win.meet(err)
}

// settle flushes all ranks.
func (win *window) settle() error {
	win.enter()
	defer win.leave()
	if err := win.check(0, 0, 0); err != nil {
		return err
	}
	return win.flushAll()
}

// meet waits for the other ranks, and returns its error and that of what this rank has done before.
func (win *window) meet(err error) error {
	if failed := Barrier(win.comm); !errors.Is(err, failed) { // the end of the world may be the reason for both
		err = errors.Join(err, failed)
	}
	return err
}

// flushAll flushes all ranks, also after an error. The caller holds mu.
func (win *window) flushAll() (err error) {
	w := win.comm.world
	for rank := range win.targets {
		failed := win.flush(rank)
		if w.err != nil {
			return w.err
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (win *window) free() error {
	err := win.retire()
	if errors.Is(err, ErrFreed) {
		return err
	}
	return errors.Join(win.meet(err), win.release())
}

// retire has calls that begin from now on fail, and completes the others.
func (win *window) retire() error {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if win.freed {
		return ErrFreed
	}
	win.freed = true
	w.stir()
	w.waitUntil(func() bool { return win.calls == 0 })
	return win.flushAll()
}
