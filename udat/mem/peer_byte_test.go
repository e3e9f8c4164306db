package mem_test

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// awaitByte spins until the peer has written the value.
func awaitByte(t *testing.T, b mem.PeerByte, value byte) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < udattest.Patience; {
		arrived, err := b.SpinUntil(value, 100*time.Microsecond)
		want(t, err)
		if arrived {
			return
		}
	}
	t.Fatalf("the byte is %d, and %d did not come within %v", b.Load(), value, udattest.Patience)
}

// writeThenByte writes to the peer's memory and, by a write of its own, to its last byte.
func writeThenByte(t *testing.T, e *udattest.Endpoint, source udat.Segment, last udat.Segment, target *udat.LMR, offset int) {
	t.Helper()
	var batch []udat.Post
	for _, segment := range []udat.Segment{source, last} {
		if segment.Len() == 0 {
			continue
		}
		remote, err := target.RMRTriplet(offset, segment.Len())
		want(t, err)
		batch = append(batch, udat.Post{Operation: udat.DTORDMAWrite, Segments: []udat.Segment{segment}, Cookie: 1, Remote: remote, Flags: udat.CompletionSuppress})
		offset += segment.Len()
	}
	batch[len(batch)-1].Flags = udat.CompletionDefault
	_, err := e.PostBatch(batch)
	want(t, err)
}

// What the peer wrote before the byte is there when the byte is, in memory of both kinds, at any
// place and of any length.
func TestPeerByte(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		registered, err := udat.RegisterMemory(passive.PZ, make([]byte, 20000), udat.MemPrivAll)
		want(t, err)
		for _, target := range []*udat.LMR{passive.Memory, registered} {
			source := active.Memory.Bytes()
			memory := target.Bytes()
			value := byte(0)
			for _, length := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 33, 64, 255, 256, 4095, 4096, 4097, 9000} {
				for _, offset := range []int{0, 1, 2, 3, 5} {
					value++
					fill(source[:length], value+1)
					source[length-1] = value
					end := offset + length - 1
					last, err := mem.PeerByteAt(target, end)
					want(t, err)
					last.Store(value - 1)
					if memory[end] != value-1 || last.Load() != value-1 {
						t.Fatalf("byte %d is %d, %d was stored", end, memory[end], value-1)
					}
					writeThenByte(t, active, active.Segment(t, 0, length-1), active.Segment(t, length-1, 1), target, offset)
					awaitByte(t, last, value)
					if !bytes.Equal(memory[offset:offset+length], source[:length]) {
						t.Fatalf("the last of %d bytes at %d has come before the others", length, offset)
					}
					wantSuccess(t, active.Request, 1)
				}
			}
			if arrived, err := mustByte(t, target, 0).SpinUntil(value+100, 2*time.Millisecond); arrived || err != nil {
				t.Errorf("a value that nobody wrote: %v, %v", arrived, err)
			}
		}
		want(t, registered.Free())
	})
}

func mustByte(t *testing.T, lmr *udat.LMR, offset int) mem.PeerByte {
	t.Helper()
	b, err := mem.PeerByteAt(lmr, offset)
	want(t, err)
	return b
}

// Both sides write and poll by turns, from goroutines of their own. The bytes before the last are
// read and written in plain ways, which the race detector must find right.
func TestPeerByteRoundTrips(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const size, rounds = 40, 100
		ctx := udattest.Context(t)
		side := func(mine, peer *udattest.Endpoint, first bool) {
			in, out := mine.Memory.Bytes()[:size], mine.Memory.Bytes()[size:2*size]
			last := mustByte(t, mine.Memory, size-1)
			body, end := mine.Segment(t, size, size-1), mine.Segment(t, 2*size-1, 1)
			expected := make([]byte, size)
			for i := range rounds {
				count := byte(i + 1)
				write := func() {
					fill(out, count)
					out[size-1] = count
					writeThenByte(t, mine, body, end, peer.Memory, 0)
				}
				if first {
					write()
				}
				awaitByte(t, last, count)
				fill(expected, count)
				expected[size-1] = count
				if !bytes.Equal(in, expected) {
					t.Errorf("write %d arrived as %x", i, in)
				}
				if !first {
					write()
				}
				completion, err := mine.Request.Wait(ctx)
				want(t, err)
				want(t, completion.Err())
			}
		}
		var both sync.WaitGroup
		both.Add(2)
		go func() { defer both.Done(); side(active, passive, true) }()
		go func() { defer both.Done(); side(passive, active, false) }()
		both.Wait()
	})
}

func TestPeerByteArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		memory := make([]byte, 64)
		odd, err := udat.RegisterMemory(pz, memory[1:62], udat.MemPrivAll)
		want(t, err)
		for offset, refused := range map[int]bool{0: true, 2: true, 3: false, 58: false, 59: true, 60: true, 61: true, -1: true} {
			if _, err := mem.PeerByteAt(odd, offset); refused {
				want(t, err, udat.ErrInvalidParameter, udat.InvalidArg2)
			} else {
				want(t, err)
			}
		}
		want(t, odd.Free())
		// Of whole pages, each byte can be polled.
		short, err := udat.AllocMemory(pz, 5, udat.MemPrivAll)
		want(t, err)
		b := mustByte(t, short, 4)
		for _, budget := range []time.Duration{-1, time.Second + 1} {
			want(t, second(b.SpinUntil(0, budget)), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		if arrived, err := b.SpinUntil(0, 0); !arrived || err != nil {
			t.Errorf("a byte that is there: %v, %v", arrived, err)
		}
		if arrived, err := b.SpinUntil(1, 0); arrived || err != nil {
			t.Errorf("a byte that is not there, without a budget: %v, %v", arrived, err)
		}
		want(t, short.Free())
		want(t, second(mem.PeerByteAt(short, 4)), udat.ErrClosed)
		want(t, second(b.SpinUntil(0, time.Millisecond)), udat.ErrClosed, udat.InvalidHandleLMR)
		var none mem.PeerByte
		none.Store(1)
		if none.Load() != 0 {
			t.Error("a byte of nothing was set")
		}
		want(t, second(none.SpinUntil(0, 0)), udat.ErrInvalidHandle)
	})
}

// A goroutine that spins again and again lets others run, however short each of its waits is.
func TestPeerByteTurns(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		lmr, err := udat.AllocMemory(pz, 4096, udat.MemPrivAll)
		want(t, err)
		defer lmr.Free()
		b := mustByte(t, lmr, 0)
		var wanted atomic.Uint32 // the value that the reader waits for
		var over atomic.Bool
		var writing sync.WaitGroup
		writing.Add(1)
		go func() {
			defer writing.Done()
			for !over.Load() {
				value := byte(wanted.Load())
				// Long enough for the reader to look at the clock.
				for begin := time.Now(); time.Since(begin) < 20*time.Microsecond; {
				}
				b.Store(value)
				runtime.Gosched()
			}
		}()
		before, turned := mem.LastYield(), false
		for begin := time.Now(); !turned && time.Since(begin) < udattest.Patience; turned = mem.LastYield() != before {
			value := wanted.Add(1)
			arrived, err := b.SpinUntil(byte(value), time.Second)
			want(t, err)
			if !arrived {
				t.Fatalf("the byte is %d, and %d did not come within %v", b.Load(), byte(value), time.Second)
			}
		}
		over.Store(true)
		writing.Wait()
		if !turned {
			t.Error("the goroutine that spins never lets others run")
		}
	})
}
