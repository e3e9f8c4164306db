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

// Window is memory of each rank. All ranks may read and write all of it, without the help of the rank that has it: Put and
// Get are RDMA operations. They are complete after Fence on all ranks, or after Flush on the rank that has called it.
// Between two fences, no two ranks may use the same numbers unless all of them only read, or only call FetchAdd.
//
// Any goroutine may call the methods, except Fence and Free. All ranks must call these two, in the same order as the
// communicator's collective operations. Free must not be called beside other methods.
type Window[T Number] struct {
	// Local is this rank's memory. It is outside of Go's heap: the program must not touch it after Free, which sets Local to
	// nil.
	Local []T
	window
}

// window is what does not depend on the kind of numbers. The world's mu guards it.
type window struct {
	comm    *Comm // used by this window only
	size    int   // of a number, in bytes
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

// CreateWindow creates a window. This rank's part has the given number of numbers, which are 0. All ranks must call it; the
// number may differ between ranks. A process without a launcher cannot have one.
func CreateWindow[T Number](c *Comm, numbers int) (*Window[T], error) {
	size := int(unsafe.Sizeof(*new(T)))
	if w := c.world; numbers < 0 || numbers > math.MaxUint32/size || w.ia == nil {
		return nil, badArgument("a window of %d numbers; it must have 0 to %d, and needs an adapter", numbers, math.MaxUint32/size)
	}
	own, err := c.Dup()
	if err != nil {
		return nil, err
	}
	win := &Window[T]{window: window{comm: own, size: size, targets: make([]target, c.Size())}}
	win.add = func(there, given []byte) { *(*T)(unsafe.Pointer(&there[0])) += *(*T)(unsafe.Pointer(&given[0])) }
	if err := win.exchange(numbers*size, kindOf[T]()); err != nil {
		return nil, errors.Join(err, win.release())
	}
	win.Local = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(win.memory))), numbers)
	return win, nil
}

// exchange allocates the memory, and tells the other ranks about it.
func (win *window) exchange(length int, element elementKind) (err error) {
	// It is page aligned and outside of Go's heap, because peers write it.
	if win.lmr, err = udat.AllocMemory(win.comm.world.pz, max(length, 1), udat.MemPrivAll); err != nil {
		return err
	}
	win.memory = win.lmr.Bytes()[:length:length]
	triplet, err := win.lmr.RMRTriplet(0, max(length, 1))
	if err != nil {
		return err
	}
	mine := []uint64{uint64(length), uint64(element), 0, 0}
	b, _ := triplet.AppendBinary(nil) // has no errors
	copy(dataOf(mine[2:]).bytes, b)
	all := make([]uint64, len(mine)*win.comm.Size())
	win.listen() // once all ranks have told of their memory, they may use this rank's
	if err := Allgather(win.comm, mine, all); err != nil {
		return err
	}
	for rank := range win.targets {
		theirs, t := part(all, rank, win.comm.Size()), &win.targets[rank]
		if theirs[1] != uint64(element) {
			return fmt.Errorf("%w: rank %d has a window of another kind of numbers", ErrMismatch, rank)
		}
		t.length = int(theirs[0])
		if err := t.memory.UnmarshalBinary(dataOf(theirs[2:]).bytes); err != nil {
			return err
		}
	}
	return nil
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

// reach checks an operation, and waits until the peer is connected. It returns nil for this rank itself, and if there is
// nothing to do. The caller holds mu.
func (win *window) reach(rank, index, length int) (*peer, error) {
	w := win.comm.world
	switch {
	case win.freed:
		return nil, ErrFreed
	case rank < 0 || rank >= len(win.targets):
		return nil, badArgument("the target is %d; it must be 0 to %d", rank, len(win.targets)-1)
	case index < 0 || length > win.targets[rank].length || index > (win.targets[rank].length-length)/win.size:
		return nil, badArgument("%d numbers from index %d on, but rank %d has %d", length/win.size, index, rank, win.targets[rank].length/win.size)
	case w.err != nil || length == 0 || rank == w.rank:
		return nil, w.err
	}
	return w.peers[rank], w.await(w.peers[rank].ready)
}

// at returns the memory of a rank, beginning at an index.
func (win *window) at(rank, index int) udat.RMRTriplet {
	remote := win.targets[rank].memory
	remote.VirtualAddress += uint64(index * win.size)
	return remote
}

// Put writes numbers to the target's memory, beginning at an index. They must not change until the next Fence, or
// Flush of the target.
func (win *Window[T]) Put(numbers []T, target, index int) error {
	w, t := win.comm.world, dataOf(numbers).bytes
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := win.reach(target, index, len(t))
	if err != nil {
		return err
	}
	if p == nil {
		copy(win.Local[min(index, len(win.Local)):], numbers)
		return nil
	}
	return win.put(p, t, target, win.at(target, index))
}

// windowWrite is an RDMA write into a window.
type windowWrite struct {
	count  uint32        // posted at this write
	region *registration // to be released when it is done; nil for none
}

// put writes numbers in pieces.
func (win *window) put(p *peer, numbers []byte, rank int, to udat.RMRTriplet) error {
	w, t := p.world, &win.targets[rank]
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
		t.written, t.former, t.writing = p.posted, p.former, true
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

// Get reads numbers from the target's memory, beginning at an index. They have arrived after the next Fence, or Flush of
// the target.
func (win *Window[T]) Get(numbers []T, target, index int) error {
	w, memory := win.comm.world, dataOf(numbers).bytes
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := win.reach(target, index, len(memory))
	if err != nil {
		return err
	}
	if p == nil {
		copy(numbers, win.Local[min(index, len(win.Local)):])
		return nil
	}
	t := &win.targets[target]
	if err := w.await(func() bool { return p.ready() && t.begun-t.settled < mostOpen }); err != nil {
		return err
	}
	t.begun++
	if err := p.fetch(memory, win.at(target, index), func(err error) {
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
	fetchTag   = iota // has the index and the number to add
	fetchedTag        // has the number that was there before
)

// FetchAdd adds to one of the target's numbers, and returns what was there before. No other FetchAdd of the target's
// memory comes between. The target's process does the work while its program waits or computes: atomic operations of
// adapters are an extension for InfiniBand, which not every adapter has.
func (win *Window[T]) FetchAdd(number T, target, index int) (before T, err error) {
	w := win.comm.world
	if target == w.rank {
		// The program may call it in a loop, until other ranks have done so.
		defer w.glance(func() bool { return false })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := win.reach(target, index, win.size); err != nil {
		return before, err
	}
	if target == w.rank {
		before = win.Local[index]
		win.Local[index] += number
		return before, nil
	}
	f, t := &fetch{before: dataOf(unsafe.Slice(&before, 1)).bytes}, &win.targets[target]
	t.fetches = append(t.fetches, f)
	message := binary.NativeEndian.AppendUint64(nil, uint64(index))
	if err := win.tell(target, fetchTag, append(message, dataOf([]T{number}).bytes...)); err != nil {
		return before, err
	}
	return before, w.await(func() bool { return f.came })
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
	hear := func(m *message, payload []byte) {
		if err := win.hear(m.source, m.tag, payload); err != nil {
			w.fail(&RankError{m.source, err})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers[win.comm.userContext()] = func(m *message) {
		if m.from == nil {
			hear(m, m.payload)
			return
		}
		// The peer had no room to send it, and has offered it.
		memory := make([]byte, m.length)
		m.from.fetchOffer(m, memory, func(err error) {
			if err == nil {
				hear(m, memory)
			}
		})
	}
}

// hear handles a message of the window.
func (win *window) hear(from, tag int, message []byte) error {
	t := &win.targets[from]
	switch {
	case tag == fetchTag && len(message) == 8+win.size:
		index := binary.NativeEndian.Uint64(message)
		if index >= uint64(len(win.memory)/win.size) {
			return fmt.Errorf("%w: a fetch of number %d", errMalformed, index)
		}
		there := win.memory[int(index)*win.size:][:win.size]
		before := append([]byte(nil), there...)
		given := make([]uint64, 2) // aligned
		copy(dataOf(given).bytes, message[8:])
		win.add(there, dataOf(given).bytes)
		_ = win.tell(from, fetchedTag, before) // it fails at the end of the world
	case tag == fetchedTag && len(message) == win.size && len(t.fetches) > 0:
		copy(t.fetches[0].before, message)
		t.fetches[0].came = true
		t.fetches = t.fetches[1:]
		win.comm.world.stir()
	default:
		return fmt.Errorf("%w: %d bytes with tag %d for a window", errMalformed, len(message), tag)
	}
	return nil
}

// Flush waits until all operations of this rank on the target's memory are complete that have begun before.
func (win *window) Flush(target int) error {
	w := win.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := win.reach(target, 0, 0); err != nil {
		return err
	}
	t := &win.targets[target]
	last := t.begun
	if t.writing {
		written, former, p := t.written, t.former, w.peers[target]
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

// Fence waits until all operations of all ranks on the window are complete. All ranks must call it. Other ranks wait for
// this one even if it has an error to report.
func (win *window) Fence() (err error) {
	for rank := range win.targets {
		if err = cmp.Or(err, win.Flush(rank)); errors.Is(err, ErrFreed) {
			return err
		}
	}
	failed := Barrier(win.comm)
	return cmp.Or(err, failed)
}

// Free does what Fence does, and frees the window. Later calls fail with ErrFreed.
func (win *Window[T]) Free() error {
	w, err := win.comm.world, win.Fence()
	if errors.Is(err, ErrFreed) {
		return err
	}
	w.mu.Lock()
	win.freed, win.Local = true, nil
	w.mu.Unlock()
	freed := win.release()
	return cmp.Or(err, freed)
}
