package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// test runs the tests in turn, on an established connection.
func (n *node) test(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n.exchangePlaces(ctx)
	for _, test := range []struct {
		name, capability string
		run              func(context.Context)
	}{
		{"RDMA_WRITE_WITH_IMMEDIATE_DATA", "", n.writeImmediate},
		{"CMP_SWAP", "DAT_IB_CMP_AND_SWAP", n.compareAndSwap},
		{"FETCH_ADD", "DAT_IB_FETCH_AND_ADD", n.fetchAndAdd},
	} {
		if test.capability != "" && n.provider.ProviderSpecificAttr[test.capability] != "TRUE" {
			say("\n %s test - skipped: the provider says that the adapter cannot do it", test.name)
			continue
		}
		say("")
		if err := testprogram.Attempt(func() { test.run(ctx) }); err != nil {
			check(fmt.Errorf("%s: %w", test.name, err))
		}
		say("\n %s test - PASSED", test.name)
	}
}

// What each side writes, and the immediate value.
const (
	clientText, clientImmediate = "Client written data", 0x7777
	serverText, serverImmediate = "Server data", 0x1111
)

// writeImmediate writes the peer's memory with immediate data, while the peer does the same here.
func (n *node) writeImmediate(ctx context.Context) {
	text, value, theirText, theirValue := serverText, uint32(serverImmediate), clientText, uint32(clientImmediate)
	if !n.server() {
		text, value, theirText, theirValue = theirText, theirValue, text, value
	}
	copy(n.out.Bytes(), text)
	const cookie = 0x9999
	check(n.ep.PostRDMAWriteImmed([]udat.Segment{must(n.out.Segment(0, n.size))}, cookie, n.remote, value, udat.CompletionDefault))
	must(n.collect(ctx, n.request, cookie, n.size))
	event := must(n.collect(ctx, n.recv, immediateReceive, n.size))
	if event.Operation != udat.DTOIBRecvImmed || event.Immediate != theirValue {
		check(fmt.Errorf("%v with immediate data %#x, want %v with %#x", event.Operation, event.Immediate, udat.DTOIBRecvImmed, theirValue))
	}
	say("immediate data %#x from the %s", event.Immediate, n.peer())
	if b := n.in.Bytes(); !bytes.HasPrefix(b, []byte(theirText+"\x00")) {
		check(fmt.Errorf("there is %q where the %s should have written %q", b[:min(len(b), 32)], n.peer(), theirText))
	}
	say("the %s wrote %q", n.peer(), theirText)
}

// The values of the words, in order. The C program sets them when it reaches a step, and sleeps in between so that its peer
// sees them. This program polls instead: it continues as soon as the peer's word, or its own, has the expected value.
const (
	serverReady = 0x12345 // the client's compare finds this
	clientReady = 0x54321 // the server's compare finds this, and does not match
	swapped     = 0x98765

	serverStart, serverAdds = 0x10, 0x100
	clientStart, clientAdds = 0x100, 0x10
)

// compareAndSwap makes the client's swap succeed, and the server's fail.
func (n *node) compareAndSwap(ctx context.Context) {
	if !n.server() {
		atomic.StoreUint64(n.word(), clientReady)
		n.untilOld(ctx, n.swapIf(serverReady, swapped), serverReady)
		say("the compare found %#x in the server's word and swapped it for %#x", serverReady, swapped)
		return
	}
	atomic.StoreUint64(n.word(), serverReady)
	const no, never = 0x654321, 0x6789a
	n.untilOld(ctx, n.swapIf(no, never), clientReady)
	say("the compare found %#x in the client's word, and must not swap it", clientReady)
	n.awaitWord(ctx, swapped)
	say("the client swapped this side's word for %#x", swapped)
}

// fetchAndAdd makes each side add to the other's word twice.
func (n *node) fetchAndAdd(ctx context.Context) {
	start, adds, theirStart, theirAdds := uint64(serverStart), uint64(serverAdds), uint64(clientStart), uint64(clientAdds)
	if !n.server() {
		start, adds, theirStart, theirAdds = theirStart, theirAdds, start, adds
	}
	before := atomic.LoadUint64(n.word())
	if !n.server() {
		// The server sets its word once it has compared the client's.
		n.untilOld(ctx, n.read(), theirStart)
	}
	// The C program adds one second after it has set its own word. Its addition must not get lost.
	if was := atomic.AddUint64(n.word(), start-before) - (start - before); was != before && was != before+theirAdds {
		check(fmt.Errorf("the word is %#x, which the %s should have left at %#x", was, n.peer(), before))
	}
	if n.server() {
		n.untilOld(ctx, n.read(), theirStart)
	}
	for i := range uint64(2) {
		old, want := n.do(ctx, n.add(adds)), theirStart+i*adds
		if old != want {
			check(fmt.Errorf("%v found %#x in the %s's word, want %#x", udat.DTOIBFetchAdd, old, n.peer(), want))
		}
		say("%v found %#x in the %s's word", udat.DTOIBFetchAdd, old, n.peer())
	}
	n.awaitWord(ctx, start+2*theirAdds)
	say("the %s added to this side's word, which is %#x", n.peer(), atomic.LoadUint64(n.word()))
	if !n.server() {
		// The server's last addition is here before the server knows, and no event reports that. The client must not leave yet.
		n.do(ctx, n.read())
		check(testprogram.UntilPeerHears(ctx))
	}
}

// Atomic operations work on a word of 8 bytes: the first bytes of the memory that the peer may write. A region's memory
// starts at a page, so the word is aligned.
const wordSize = 8

func (n *node) word() *uint64 {
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(n.in.Bytes())))
}

// awaitWord waits until the peer has changed this side's word to value.
func (n *node) awaitWord(ctx context.Context, value uint64) {
	what := fmt.Sprintf("the %s to make the word here %#x", n.peer(), value)
	n.until(ctx, what, func() bool { return atomic.LoadUint64(n.word()) == value })
}

// remoteWord is an operation on the peer's word, which stores the old value.
type remoteWord struct {
	operation udat.DTO
	post      func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error
}

func (n *node) swapIf(compare, swap uint64) remoteWord {
	return remoteWord{udat.DTOIBCmpSwap, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostCmpAndSwap(compare, swap, old, cookie, remote, udat.CompletionDefault)
	}}
}

func (n *node) add(value uint64) remoteWord {
	return remoteWord{udat.DTOIBFetchAdd, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostFetchAndAdd(value, old, cookie, remote, udat.CompletionDefault)
	}}
}

func (n *node) read() remoteWord {
	return remoteWord{udat.DTORDMARead, func(old udat.Segment, cookie uint64, remote udat.RMRTriplet) error {
		return n.ep.PostRDMARead([]udat.Segment{old}, cookie, remote, udat.CompletionDefault)
	}}
}

// do performs an operation, and returns the old value.
func (n *node) do(ctx context.Context, w remoteWord) uint64 {
	const cookie = 0x8888
	remote := n.remote
	remote.SegmentLength = wordSize
	check(w.post(must(n.old.Segment(0, wordSize)), cookie, remote))
	if event := must(n.collect(ctx, n.request, cookie, wordSize)); event.Operation != w.operation {
		check(fmt.Errorf("%v completed, want %v", event.Operation, w.operation))
	}
	return binary.NativeEndian.Uint64(n.old.Bytes())
}

// untilOld repeats an operation until the word has the old value that the peer sets when it is ready. Until then the operation
// must change nothing.
func (n *node) untilOld(ctx context.Context, w remoteWord, value uint64) {
	what := fmt.Sprintf("the %s to set its word to %#x", n.peer(), value)
	n.until(ctx, what, func() bool { return n.do(ctx, w) == value })
}
