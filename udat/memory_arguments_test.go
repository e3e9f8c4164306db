package udat_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// What refuses memory says which argument is wrong, and what to do instead.
func TestMemoryArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		pz := active.PZ
		memory := make([]byte, 101)
		register := func(memory []byte, privileges udat.MemPriv) error {
			return second(udat.RegisterMemory(pz, memory, privileges))
		}
		lmr := must(udat.RegisterMemory(pz, memory[1:], udat.MemPrivRemoteRead))
		defer lmr.Free()
		segment := must(lmr.Segment(0, 100))
		remote := must(passive.Memory.RMRTriplet(0, 10))
		for _, c := range []struct {
			err    error
			is     error
			remedy string
		}{
			{register(nil, udat.MemPrivAll), udat.InvalidArg4, "it must have at least one byte"},
			{register(memory, 0), udat.InvalidArg6, "they must be some of DAT_MEM_PRIV_LOCAL_READ_FLAG"},
			{register(memory, 0x1000), udat.InvalidArg6, "they must be some of DAT_MEM_PRIV_LOCAL_READ_FLAG"},
			{register(memory, udat.MemPrivRemoteWrite), udat.InvalidArg6, "add MemPrivLocalWrite"},
			{second(udat.AllocMemory(pz, 0, udat.MemPrivAll)), udat.InvalidArg4, "must be positive"},
			{second(udat.AllocMemory(pz, math.MaxInt, udat.MemPrivAll)), udat.ResourceMemory, "ask for less, or look at its limits"},
			{second(lmr.SegmentOf(memory)), udat.InvalidArg2, "take a slice of LMR.Bytes, and note that append moves"},
			{second(mem.PeerByteAt(lmr, 0)), udat.ErrInvalidParameter, "as that of AllocMemory does"},
			{second(mem.PeerWordsAt(lmr, 0, 1)), udat.ErrInvalidParameter, "begin and end at multiples of 8"},
			{active.PostSend(one(passive.Segment(t, 0, 1)), 0, 0), udat.ErrProtectionViolation, "register its memory there"},
			{active.PostSend(one(segment), 0, 0), udat.PrivilegesRead, "register its memory with that"},
			{active.PostRDMAWrite(one(active.Segment(t, 0, 11)), 0, remote, 0), udat.InvalidArg5, "shorten the segments, or ask the peer for more"},
			{new(udat.RMRTriplet).UnmarshalBinary(make([]byte, 56)), udat.ErrInvalidParameter, "cut off what is behind it"},
		} {
			want(t, c.err, c.is)
			if c.err == nil || !strings.Contains(c.err.Error(), c.remedy) {
				t.Errorf("the error does not say %q: %v", c.remedy, c.err)
			}
		}
		for _, piece := range [][2]int{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {101, 0}, {1 << 62, 1 << 62}} {
			want(t, second(lmr.Segment(piece[0], piece[1])), udat.ErrInvalidParameter)
			want(t, second(lmr.RMRTriplet(piece[0], piece[1])), udat.ErrInvalidParameter)
		}
	})
}
