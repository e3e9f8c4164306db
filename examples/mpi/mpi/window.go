package mpi

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/goudat/goudat/udat"
)

// Window is memory of each rank of a communicator. All ranks may read and write all of it, without the help of the
// rank that has it: Put and Get are RDMA operations. They are complete after Fence on all ranks, or after Flush on the
// rank that has called it. Between two fences, no two ranks may use the same numbers unless all of them only read, or only
// call FetchAdd.
//
// Any goroutine may call the methods, except Fence and Free. All ranks must call these two, in the same order as the
// communicator's collective operations. Free must not be called beside other methods.
type Window[T Number] struct {
	// Local is this rank's memory. It is outside of Go's heap: the program must not touch it after Free, which sets Local to
	// nil.
	Local []T
	core  *window
}

// CreateWindow creates a window. This rank's part has the given number of numbers, which are 0. All ranks of c must
// call it; the number may differ between ranks.
func CreateWindow[T Number](c *Comm, numbers int) (*Window[T], error) {
	size := int(unsafe.Sizeof(*new(T)))
	if numbers < 0 || numbers > math.MaxUint32/size {
		return nil, badArgument("a window of %d numbers; it must have 0 to %d", numbers, math.MaxUint32/size)
	}
	core, err := c.createWindow(numbers*size, kindOf[T](), func(there, given []byte) {
		*(*T)(unsafe.Pointer(&there[0])) += *(*T)(unsafe.Pointer(&given[0]))
	})
	if err != nil {
		return nil, err
	}
	return &Window[T]{Local: unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(core.memory))), numbers), core: core}, nil
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
// Flush of the target.
func (w *Window[T]) Put(numbers []T, target, index int) error {
	return w.core.put(dataOf(numbers).bytes, target, offsetOf[T](index))
}

// Get reads numbers from the target's memory, beginning at an index. They have arrived after the next Fence, or Flush of
// the target.
func (w *Window[T]) Get(numbers []T, target, index int) error {
	return w.core.get(dataOf(numbers).bytes, target, offsetOf[T](index))
}

// FetchAdd adds to one of the target's numbers, and returns what was there before. No other FetchAdd of the target's
// memory comes between. The target's process does the work while its program waits or computes: atomic operations of
// adapters are an extension for InfiniBand, which not every adapter has.
func (w *Window[T]) FetchAdd(number T, target, index int) (before T, err error) {
	err = w.core.fetchAdd(dataOf([]T{number}).bytes, dataOf(unsafe.Slice(&before, 1)).bytes, target, offsetOf[T](index))
	return before, err
}

// Fence waits until all operations of all ranks on the window are complete. All ranks must call it.
func (w *Window[T]) Fence() error { return w.core.fence() }

// Flush waits until all operations of this rank on the target's memory are complete that have begun before.
func (w *Window[T]) Flush(target int) error { return w.core.flushOne(target) }

// Free does what Fence does, and frees the window. Later calls fail with ErrFreed.
func (w *Window[T]) Free() error {
	err := w.core.free()
	w.Local = nil
	return err
}

// window is a Window of bytes. The world's mu guards it.
type window struct {
	comm    *Comm // used by this window only
	element elementKind
	lmr     *udat.LMR
	memory  []byte
	targets []target // by rank
	add     func(there, given []byte)
	freed   bool
}

// target is the memory of a rank, and this rank's operations on it.
type target struct {
	memory         udat.RMRTriplet
	length         int
	written        uint32 // the peer's posted at the last Put
	former         uint32 // the peer's former at the last Put
	writing        bool   // there was a Put since the last flush
	begun, settled uint64 // gets, which end in the order in which they begin
	failed         error  // of a get, which the next flush reports
	fetches        []*fetch
}

// fetch is a FetchAdd that waits for its answer.
type fetch struct {
	before []byte
	came   bool
}

// windowFailed is the length that a rank reports if it could not create its window.
const windowFailed = math.MaxUint64

// createWindow allocates the memory, and tells the other ranks about it.
func (c *Comm) createWindow(length int, element elementKind, add func(there, given []byte)) (*window, error) {
	own, err := c.Dup()
	if err != nil {
		return nil, err
	}
	win := &window{comm: own, element: element, targets: make([]target, c.Size()), add: add}
	triplet, failed := win.allocate(length)
	mine := []uint64{uint64(length), uint64(element), 0, 0}
	if failed != nil {
		mine[0] = windowFailed
	}
	b, _ := triplet.AppendBinary(nil) // has no errors
	copy(dataOf(mine[2:]).bytes, b)
	all := make([]uint64, len(mine)*c.Size())
	win.listen() // another rank may be faster
	if err := Allgather(own, mine, all); err != nil {
		return nil, errors.Join(err, win.release())
	}
	for rank := range win.targets {
		theirs, t := part(all, rank, c.Size()), &win.targets[rank]
		switch {
		case failed != nil:
		case theirs[0] == windowFailed:
			failed = fmt.Errorf("mpi: rank %d could not create its window", rank)
		case theirs[1] != uint64(element):
			failed = fmt.Errorf("%w: rank %d has a window of another kind of numbers", ErrMismatch, rank)
		default:
			t.length, failed = int(theirs[0]), t.memory.UnmarshalBinary(dataOf(theirs[2:]).bytes)
		}
	}
	if failed != nil {
		return nil, errors.Join(failed, win.release())
	}
	return win, nil
}

// allocate allocates this rank's memory. It is page aligned and outside of Go's heap, because peers write it.
func (win *window) allocate(length int) (triplet udat.RMRTriplet, err error) {
	w := win.comm.world
	if w.ia == nil {
		win.memory = dataOf(make([]uint64, (length+7)/8)).bytes[:length]
		return triplet, nil
	}
	if win.lmr, err = udat.AllocMemory(w.pz, max(length, 1), udat.MemPrivAll); err != nil {
		return triplet, err
	}
	win.memory = win.lmr.Bytes()[:length:length]
	return win.lmr.RMRTriplet(0, max(length, 1))
}

// release frees the memory.
func (win *window) release() error {
	win.comm.forget()
	w := win.comm.world
	w.mu.Lock()
	gone := w.closed // with all that it had
	w.mu.Unlock()
	if win.lmr == nil || gone {
		return nil
	}
	return win.lmr.Free()
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

// reach checks an operation, waits until the peer is connected, and returns the peer and the remote memory. The peer is
// nil for this rank itself, and if there is nothing to do.
func (win *window) reach(rank, offset, length int) (*peer, udat.RMRTriplet, error) {
	w := win.comm.world
	if err := win.check(rank, offset, length); err != nil || length == 0 || rank == win.comm.Rank() {
		return nil, udat.RMRTriplet{}, err
	}
	remote := win.targets[rank].memory
	remote.VirtualAddress += uint64(offset)
	p := w.peers[rank]
	return p, remote, w.await(p.ready)
}

func (win *window) put(numbers []byte, rank, offset int) error {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	p, to, err := win.reach(rank, offset, len(numbers))
	if err != nil {
		return err
	}
	if p == nil {
		copy(win.memory[offset:], numbers)
		return nil
	}
	t := &win.targets[rank]
	err = p.putPieces(numbers, to)
	t.written, t.former, t.writing = p.posted, p.former, true
	return err
}

// windowWrite is an RDMA write into a window.
type windowWrite struct {
	count  uint32        // posted at this write
	region *registration // to be released when it is done; nil for none
}

// putPieces writes numbers in pieces.
func (p *peer) putPieces(numbers []byte, to udat.RMRTriplet) error {
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
		segment, err := region.Segment(at, n)
		if err != nil {
			return err
		}
		flags, done := p.signal(), windowWrite{count: p.posted}
		if at+n == len(numbers) {
			flags, done.region = p.mark(), region
		}
		p.writes = append(p.writes, done)
		to.SegmentLength = uint32(n)
		if err := p.ep.PostRDMAWrite([]udat.Segment{segment}, cookie(p, opWrite, p.posted), to, flags); err != nil {
			return err
		}
		to.VirtualAddress += pieceSize
	}
	return nil
}

// written releases the memory of writes that are done.
func (p *peer) written() {
	for len(p.writes) > 0 && !later(p.writes[0].count, p.completed) {
		if err := p.writes[0].region.release(); err != nil {
			p.world.fail(err)
		}
		p.writes = p.writes[1:]
	}
}

// mostOpen bounds how many gets are under way, so that one in the middle of a stream of them ends.
const mostOpen = 64

func (win *window) get(numbers []byte, rank, offset int) error {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	p, from, err := win.reach(rank, offset, len(numbers))
	if err != nil {
		return err
	}
	if p == nil {
		copy(numbers, win.memory[offset:])
		return nil
	}
	t := &win.targets[rank]
	if err := w.await(func() bool { return p.ready() && t.begun-t.settled < mostOpen }); err != nil {
		return err
	}
	t.begun++
	if err := p.fetch(numbers, from, func(err error) {
		t.settled++
		t.failed = errors.Join(t.failed, err)
		w.stir()
	}); err != nil {
		t.begun--
		return err
	}
	return nil
}

// Tags of the messages of a window.
const (
	fetchTag   = iota // has the offset and the number to add
	fetchedTag        // has the number that was there before
)

func (win *window) fetchAdd(number, before []byte, rank, offset int) error {
	w := win.comm.world
	if rank == win.comm.Rank() {
		defer w.rest() // the program may call it in a loop, until other ranks have done so
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := win.check(rank, offset, len(number)); err != nil {
		return err
	}
	if rank == win.comm.Rank() {
		copy(before, win.memory[offset:])
		win.add(win.memory[offset:], number)
		w.glance()
		return nil
	}
	f, t := &fetch{before: before}, &win.targets[rank]
	t.fetches = append(t.fetches, f)
	message := binary.NativeEndian.AppendUint64(nil, uint64(offset))
	if err := win.tell(rank, fetchTag, append(message, number...)); err != nil {
		return err
	}
	return w.await(func() bool { return f.came })
}

// tell sends a message of the window to another rank.
func (win *window) tell(rank, tag int, message []byte) error {
	_, err := win.comm.begin(win.comm.userContext(), dataOf(message), rank, tag)
	return err
}

// listen has the messages of the window handled on arrival, instead of by receives. Whoever makes progress does that, with
// mu locked.
func (win *window) listen() {
	w := win.comm.world
	handle := func(m *message, payload []byte) {
		if err := win.hear(m.source, m.tag, payload); err != nil {
			w.fail(&RankError{m.source, err})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers[win.comm.userContext()] = func(m *message) {
		if m.from == nil {
			handle(m, m.payload)
			return
		}
		// The peer had no room to send it, and has offered it.
		memory := make([]byte, m.length)
		m.from.fetchOffer(m, memory, func(err error) {
			if err == nil {
				handle(m, memory)
			}
		})
	}
	for _, m := range w.matcher.messages(win.comm.userContext()) { // that were faster
		w.matcher.forget(m)
		w.release(m)
		w.handlers[m.context](m)
	}
}

// hear handles a message of the window.
func (win *window) hear(from, tag int, message []byte) error {
	t, size := &win.targets[from], win.element.size()
	switch {
	case tag == fetchTag && len(message) == 8+size:
		offset := binary.NativeEndian.Uint64(message)
		if offset%uint64(size) != 0 || offset >= uint64(len(win.memory)) {
			return fmt.Errorf("%w: a fetch beyond the end", errMalformed)
		}
		there := win.memory[offset:][:size]
		before := append([]byte(nil), there...)
		given := make([]uint64, 2) // aligned
		copy(dataOf(given).bytes, message[8:])
		win.add(there, dataOf(given).bytes)
		_ = win.tell(from, fetchedTag, before) // it fails at the end of the world
	case tag == fetchedTag && len(message) == size && len(t.fetches) > 0:
		copy(t.fetches[0].before, message)
		t.fetches[0].came = true
		t.fetches = t.fetches[1:]
		win.comm.world.stir()
	default:
		return fmt.Errorf("%w: %d bytes with tag %d for a window", errMalformed, len(message), tag)
	}
	return nil
}

// flush waits until this rank's operations on another rank's memory are complete that have begun before. The caller
// holds mu.
func (win *window) flush(rank int) error {
	w, t := win.comm.world, &win.targets[rank]
	last := t.begun
	if t.writing {
		written, former := t.written, t.former
		p := w.peers[rank]
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
		err, t.failed = t.failed, nil
	}
	return err
}

func (win *window) flushOne(rank int) error {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := win.check(rank, 0, 0); err != nil {
		return err
	}
	return win.flush(rank)
}

// fence flushes, and waits for the other ranks, which wait for this one even if it has an error to report.
func (win *window) fence() error {
	var err error
	for rank := range win.targets {
		if err = cmp.Or(err, win.flushOne(rank)); errors.Is(err, ErrFreed) {
			return err
		}
	}
	failed := Barrier(win.comm)
	return cmp.Or(err, failed)
}

func (win *window) free() error {
	err := win.fence()
	if errors.Is(err, ErrFreed) {
		return err
	}
	win.comm.world.mu.Lock()
	win.freed = true
	win.comm.world.mu.Unlock()
	return errors.Join(err, win.release())
}
