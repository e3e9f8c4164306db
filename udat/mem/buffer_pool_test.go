package mem_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// Messages between buffers of two pools, at random and while the garbage collector runs: what is
// sent from a buffer arrives in the buffer that the completion's cookie leads to.
func TestBufferPool(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const size = 1000
		config := mem.BufferPoolConfig{BufferSize: size, MaxBuffers: 24, SlabBuffers: 5}
		from, err := mem.CreateBufferPool(active.PZ, config)
		want(t, err)
		into, err := mem.CreateBufferPool(passive.PZ, config)
		want(t, err)
		var kept [][]byte
		for round := range 40 {
			var sent [][]byte
			n := 1 + rand.IntN(8)
			for range n {
				b, err := into.Get()
				want(t, err)
				segment, err := b.Segment(0, size)
				want(t, err)
				want(t, passive.PostRecv(one(segment), b.Cookie(), 0))
			}
			for i := range n {
				b, err := from.Get()
				want(t, err)
				fill(b.Bytes(), byte(round+i))
				sent = append(sent, bytes.Clone(b.Bytes()))
				segment, err := b.Segment(0, size)
				want(t, err)
				want(t, active.PostSend(one(segment), b.Cookie(), 0))
			}
			for i := range n {
				event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
				want(t, event.Err())
				b, err := into.Find(event.Cookie)
				want(t, err)
				if !bytes.Equal(b.Bytes(), sent[i]) {
					t.Fatalf("message %d of round %d arrived changed", i, round)
				}
				kept = append(kept, b.Bytes())
				want(t, b.Release())
				want(t, second(into.Find(event.Cookie)), udat.ErrClosed)
				event = udattest.Expect(t, active.Request, udat.EventDTOCompletion)
				want(t, event.Err())
				b, err = from.Find(event.Cookie)
				want(t, err)
				want(t, b.Release())
			}
			switch {
			case round%8 == 0:
				want(t, second(into.Trim(rand.IntN(10))))
				runtime.GC()
			case round == 37:
				// The kept slices are memory still, whatever became of it.
				want(t, into.Free())
				into, err = mem.CreateBufferPool(passive.PZ, config)
				want(t, err)
			}
		}
		for _, b := range kept {
			clear(b)
		}
		if s := from.Stats(); s.InUse != 0 || s.Gets < 40 || s.MostInUse > 8 || s.Buffers%5 != 0 || s.Regions != s.Buffers/5 {
			t.Errorf("the counters are %+v", s)
		}
		want(t, from.Free())
		want(t, into.Free())
	})
}

func TestBufferPoolLimits(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		p, err := mem.CreateBufferPool(pz, mem.BufferPoolConfig{BufferSize: 100, MaxBuffers: 7, SlabBuffers: 3, Privileges: udat.MemPrivAll})
		want(t, err)
		var out []mem.Buffer
		seen := map[*byte]bool{}
		for range 7 {
			b, err := p.Get()
			want(t, err)
			memory := b.Bytes()
			if len(memory) != 100 || cap(memory) != 100 || uintptr(unsafe.Pointer(&memory[0]))%64 != 0 || seen[&memory[0]] {
				t.Fatalf("a buffer of %d bytes, %d with its capacity, at %p", len(memory), cap(memory), &memory[0])
			}
			seen[&memory[0]] = true
			fill(memory, byte(len(out)))
			out = append(out, b)
		}
		for i, b := range out {
			expected := make([]byte, 100)
			fill(expected, byte(i))
			if !bytes.Equal(b.Bytes(), expected) {
				t.Errorf("buffer %d shares memory", i)
			}
		}
		_, err = p.Get()
		want(t, err, udat.ErrInsufficientResources, udat.ResourceMemory)
		if err == nil || !strings.Contains(err.Error(), "release some, or make a pool with a larger MaxBuffers") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if expected := (mem.BufferPoolStats{Gets: 7, Refusals: 1, InUse: 7, MostInUse: 7, Buffers: 7, Regions: 3}); p.Stats() != expected {
			t.Errorf("the counters are %+v, want %+v", p.Stats(), expected)
		}
		b := out[0]
		for _, piece := range [][2]int{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {101, 0}} {
			want(t, second(b.Segment(piece[0], piece[1])), udat.ErrInvalidParameter)
			want(t, second(b.RMRTriplet(piece[0], piece[1])), udat.ErrInvalidParameter)
		}
		want(t, second(b.PeerByte(100)), udat.ErrInvalidParameter)
		want(t, second(b.PeerWords(0, 104)), udat.ErrInvalidParameter)
		words, err := b.PeerWords(8, 16)
		want(t, err)
		if b.Bytes()[8] = 1; words.Len() != 2 || words.Load(0) == 0 {
			t.Error("the words of a buffer are others")
		}
		last, err := b.PeerByte(99)
		want(t, err)
		last.Store(77)
		if b.Bytes()[99] != 77 {
			t.Error("the last byte is another one")
		}
		remote, err := b.RMRTriplet(10, 20)
		want(t, err)
		if address := uint64(uintptr(unsafe.Pointer(&b.Bytes()[10]))); remote.VirtualAddress != address || remote.SegmentLength != 20 {
			t.Errorf("the triplet is %+v, the address 0x%x", remote, address)
		}

		want(t, p.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		want(t, pz.Free(), udat.ErrInvalidState)
		for _, b := range out {
			want(t, b.Release())
		}
		want(t, b.Release(), udat.ErrClosed)
		want(t, second(b.Segment(0, 1)), udat.ErrClosed)
		want(t, second(b.RMRTriplet(0, 1)), udat.ErrClosed)
		want(t, second(b.PeerByte(0)), udat.ErrClosed)
		want(t, second(b.PeerWords(0, 8)), udat.ErrClosed)
		if b.Bytes() != nil {
			t.Error("a released buffer has memory")
		}
		// The same buffer in other hands is not the old one.
		var again []mem.Buffer
		for range 7 {
			b, err := p.Get()
			want(t, err)
			again = append(again, b)
		}
		want(t, b.Release(), udat.ErrClosed)
		for _, b := range again {
			want(t, b.Release())
		}
		if freed, err := p.Trim(0); freed != 7 || err != nil {
			t.Errorf("%d buffers were freed, %v", freed, err)
		}
		want(t, pz.Free())
		want(t, second(p.Get()), udat.ErrClosed)
		want(t, p.Free())
		want(t, p.Free(), udat.ErrClosed)
	})
}

func TestBufferPoolArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		for _, config := range []mem.BufferPoolConfig{
			{}, {BufferSize: 1}, {MaxBuffers: 1}, {BufferSize: -1, MaxBuffers: 1}, {BufferSize: 1, MaxBuffers: -1}, {BufferSize: 1 << 32, MaxBuffers: 1},
			{BufferSize: 1, MaxBuffers: 1, SlabBuffers: -1}, {BufferSize: 1 << 31, MaxBuffers: 2, SlabBuffers: 2},
			{BufferSize: 1, MaxBuffers: 1, Privileges: 1 << 20}, {BufferSize: 1, MaxBuffers: 1, Privileges: udat.MemPrivRemoteWrite},
		} {
			want(t, second(mem.CreateBufferPool(pz, config)), udat.ErrInvalidParameter)
		}
		for _, p := range []*mem.BufferPool{nil, {}} {
			want(t, second(p.Get()), udat.ErrInvalidHandle)
			want(t, second(p.Find(1)), udat.ErrInvalidHandle)
			want(t, second(p.Trim(0)), udat.ErrInvalidHandle)
			want(t, p.Free(), udat.ErrInvalidHandle)
			if p.Stats() != (mem.BufferPoolStats{}) {
				t.Error("a pool that is none has counters")
			}
		}
		var none mem.Buffer
		want(t, none.Release(), udat.ErrClosed)
		want(t, second(none.Segment(0, 0)), udat.ErrClosed)
		if none.Bytes() != nil || none.Cookie() != 0 {
			t.Error("a zero buffer has content")
		}
		// An adapter takes along what is registered on it.
		p, err := mem.CreateBufferPool(pz, mem.BufferPoolConfig{BufferSize: 10, MaxBuffers: 100})
		want(t, err)
		b, err := p.Get()
		want(t, err)
		want(t, ia.Close(udat.CloseAbrupt))
		want(t, second(b.Segment(0, 1)), udat.ErrClosed)
		clear(b.Bytes())
		want(t, second(p.Get()), udat.ErrClosed)
		want(t, b.Release())
		want(t, p.Free())
	})
}

func BenchmarkBufferPool(b *testing.B) {
	for _, name := range udattest.Names(b) {
		b.Run(name, func(b *testing.B) {
			ia := udattest.Open(b, name)
			pz, err := udat.CreatePZ(ia)
			if err != nil {
				b.Fatal(err)
			}
			p, err := mem.CreateBufferPool(pz, mem.BufferPoolConfig{BufferSize: 4096, MaxBuffers: 64})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				buffer, err := p.Get()
				if err != nil {
					b.Fatal(err)
				}
				buffer.Release()
			}
			if err := errors.Join(p.Free(), pz.Free()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
