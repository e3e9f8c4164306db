package udat_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// What refuses memory says what to do instead.
func TestMemoryErrorsNameTheRemedy(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		pz := active.PZ
		memory := make([]byte, 101)
		register := func(memory []byte, privileges udat.MemPriv) error {
			return second(udat.RegisterMemory(pz, memory, privileges))
		}
		lmr, err := udat.RegisterMemory(pz, memory[1:], udat.MemPrivRemoteRead)
		want(t, err)
		defer lmr.Free()
		segment, err := lmr.Segment(0, 100)
		want(t, err)
		remote, err := passive.Memory.RMRTriplet(0, 10)
		want(t, err)
		for _, c := range []struct {
			err    error
			remedy string
		}{
			{register(nil, udat.MemPrivAll), "it must have at least one byte"},
			{register(memory, 0), "they must be some of DAT_MEM_PRIV_LOCAL_READ_FLAG"},
			{register(memory, udat.MemPrivRemoteWrite), "add MemPrivLocalWrite"},
			{second(udat.AllocMemory(pz, 0, udat.MemPrivAll)), "must be positive"},
			{second(udat.AllocMemory(pz, math.MaxInt, udat.MemPrivAll)), "ask for less, or look at its limits"},
			{second(lmr.SegmentOf(memory)), "take a slice of LMR.Bytes, and note that append moves"},
			{second(mem.PeerByteAt(lmr, 0)), "as that of AllocMemory does"},
			{second(mem.PeerWordsAt(lmr, 0, 1)), "begin and end at multiples of 8"},
			{active.PostSend(one(passive.Segment(t, 0, 1)), 0, 0), "register its memory there"},
			{active.PostSend(one(segment), 0, 0), "register its memory with that"},
			{active.PostRDMAWrite(one(active.Segment(t, 0, 11)), 0, remote, 0), "shorten the segments, or ask the peer for more"},
			{new(udat.RMRTriplet).UnmarshalBinary(make([]byte, 56)), "cut off what is behind it"},
		} {
			if c.err == nil || !strings.Contains(c.err.Error(), c.remedy) {
				t.Errorf("the error does not say %q: %v", c.remedy, c.err)
			}
		}
	})
}
