package mem_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// Each word can be polled until the peer has written it, and has the bytes that the peer has
// posted.
func TestPeerWords(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		memory := make([]uint64, 64)
		registered, err := udat.RegisterMemory(passive.PZ, unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), 8*len(memory)), udat.MemPrivAll)
		want(t, err)
		for _, target := range []*udat.LMR{passive.Memory, registered} {
			const offset = 16
			words, err := mem.PeerWordsAt(target, offset, 8*20)
			want(t, err)
			if words.Len() != 20 {
				t.Fatalf("there are %d words", words.Len())
			}
			clear(target.Bytes()[:offset+8*words.Len()])
			for i := range words.Len() {
				bytes := active.Memory.Bytes()[:8]
				fill(bytes, byte(i+1))
				remote, err := target.RMRTriplet(offset+8*i, 8)
				want(t, err)
				want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 8)), 1, remote, udat.CompletionDefault))
				expected := binary.NativeEndian.Uint64(bytes)
				for begin := time.Now(); words.Load(i) != expected; {
					if time.Since(begin) > udattest.Patience {
						t.Fatalf("word %d is %x, and %x did not come", i, words.Load(i), expected)
					}
					runtime.Gosched()
				}
				wantSuccess(t, active.Request, 1)
			}
		}
		want(t, registered.Free())
	})
}

func TestPeerWordsArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		lmr, err := udat.AllocMemory(pz, 64, udat.MemPrivAll)
		want(t, err)
		for _, piece := range [][2]int{{-8, 8}, {0, -8}, {0, 72}, {64, 8}, {72, 0}, {4, 8}, {8, 12}, {1, 0}} {
			want(t, second(mem.PeerWordsAt(lmr, piece[0], piece[1])), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		none, err := mem.PeerWordsAt(lmr, 64, 0)
		want(t, err)
		if none.Len() != 0 || (mem.PeerWords{}).Len() != 0 {
			t.Error("nothing has words")
		}
		words, err := mem.PeerWordsAt(lmr, 0, 64)
		want(t, err)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a word behind the last was read")
				}
			}()
			words.Load(8)
		}()
		want(t, lmr.Free())
		want(t, second(mem.PeerWordsAt(lmr, 0, 64)), udat.ErrClosed)
	})
}
