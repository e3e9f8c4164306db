package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/goudat/goudat/udat"
)

// Atomic operations work on a word of 8 bytes: the first bytes of the memory that the peer may write. A region's memory
// starts at a page, so the word is aligned.
const wordSize = 8

func (n *node) word() *uint64 {
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(n.in.Bytes())))
}

func (n *node) load() uint64 { return atomic.LoadUint64(n.word()) }

func (n *node) store(value uint64) { atomic.StoreUint64(n.word(), value) }

// change adds to this side's word and returns its old value.
func (n *node) change(by uint64) (was uint64) { return atomic.AddUint64(n.word(), by) - by }

// awaitWord waits until the peer has changed this side's word to value.
func (n *node) awaitWord(ctx context.Context, value uint64) error {
	what := fmt.Sprintf("the %s to make the word here %#x", n.peer(), value)
	return n.until(ctx, what, func() (bool, error) { return n.load() == value, nil })
}

// remoteWord is an operation on the peer's word. It returns the old value.
type remoteWord struct {
	cookie    uint64
	operation udat.DTO
	post      func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error
}

func (n *node) swapIf(compare, swap uint64) remoteWord {
	return remoteWord{3333, udat.DTOIBCmpSwap, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostCmpAndSwap(compare, swap, old, cookie, remote, udat.CompletionDefault)
	}}
}

func (n *node) add(value uint64) remoteWord {
	return remoteWord{0x7777, udat.DTOIBFetchAdd, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostFetchAndAdd(value, old, cookie, remote, udat.CompletionDefault)
	}}
}

func (n *node) read() remoteWord {
	return remoteWord{0x8888, udat.DTORDMARead, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostRDMARead([]udat.Segment{old}, cookie, remote, udat.CompletionDefault)
	}}
}

func (n *node) do(ctx context.Context, w remoteWord) (old uint64, err error) {
	segment, err := n.old.Segment(0, wordSize)
	if err != nil {
		return 0, err
	}
	remote := n.remote
	remote.SegmentLength = wordSize
	if err := w.post(segment, w.cookie, remote); err != nil {
		return 0, err
	}
	event, err := n.collect(ctx, n.request, w.cookie, wordSize)
	if err != nil {
		return 0, err
	}
	if event.Operation != w.operation {
		return 0, fmt.Errorf("%v completed, want %v", event.Operation, w.operation)
	}
	return binary.NativeEndian.Uint64(n.old.Bytes()), nil
}

// untilOld repeats an operation until the word has the old value that the peer sets when it is ready. Until then the
// operation must change nothing.
func (n *node) untilOld(ctx context.Context, w remoteWord, value uint64) error {
	what := fmt.Sprintf("the %s to set its word to %#x", n.peer(), value)
	return n.until(ctx, what, func() (bool, error) {
		old, err := n.do(ctx, w)
		return old == value, err
	})
}

// want performs an operation whose old value is known.
func (n *node) want(ctx context.Context, w remoteWord, want uint64) error {
	old, err := n.do(ctx, w)
	if err != nil {
		return err
	}
	if old != want {
		return fmt.Errorf("%v found %#x in the %s's word, want %#x", w.operation, old, n.peer(), want)
	}
	say("%v found %#x in the %s's word", w.operation, old, n.peer())
	return nil
}
