//go:build linux

package mem_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// Messages that the program makes, sends once or several times, and drops, while the garbage
// collector runs and the cache evicts: the peer reads what is in them, and nothing of those before
// them.
func TestRegistrationCache(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(2))
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		cache, err := mem.CreateRegistrationCache(passive.PZ, mem.RegistrationCacheLimits{IdleBytes: 200_000, IdleRegions: 12})
		want(t, err)
		readers, err := mem.CreateRegistrationCache(active.PZ, mem.RegistrationCacheLimits{IdleRegions: 3})
		want(t, err)
		messages := make([][]byte, 6)
		for round := range 150 {
			i := rand.IntN(len(messages))
			if messages[i] == nil || rand.IntN(3) == 0 {
				messages[i] = make([]byte, 1+rand.IntN(20000))
			}
			message := messages[i][rand.IntN(len(messages[i])):]
			message = message[:1+rand.IntN(len(message))]
			fill(message, byte(round))
			registration, err := cache.Register(message, udat.MemPrivLocalRead|udat.MemPrivRemoteRead)
			want(t, err)
			remote, err := registration.RMRTriplet(0, len(message))
			want(t, err)

			copied := make([]byte, len(message))
			local, err := readers.Register(copied, udat.MemPrivLocalWrite)
			want(t, err)
			segment, err := local.Segment(0, len(copied))
			want(t, err)
			want(t, active.PostRDMARead(one(segment), uint64(round), remote, 0))
			wantSuccess(t, active.Request, uint64(round))
			if !bytes.Equal(copied, message) {
				t.Fatalf("the peer has read something else in round %d", round)
			}
			want(t, local.Release())
			want(t, registration.Release())
			if s := cache.Stats(); s.IdleBytes > 200_000 || s.IdleRegions > 12 || s.Regions != s.IdleRegions || s.Hits+s.Misses != uint64(round)+1 {
				t.Fatalf("in round %d the counters are %+v", round, s)
			}
		}
		if s := cache.Stats(); s.Hits == 0 || s.Evictions == 0 {
			t.Errorf("the counters are %+v", s)
		}
		if s := readers.Stats(); s.Hits > 0 || s.Regions != 3 {
			t.Errorf("of memory that is always new the counters are %+v", s)
		}
		want(t, cache.Free())
		want(t, readers.Free())
	})
}

// A slice inside memory that is registered is found, with any of the privileges; others are not.
func TestRegistrationCacheHits(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{})
		want(t, err)
		memory := make([]byte, 1000)
		const read, both = udat.MemPrivLocalRead, udat.MemPrivLocalRead | udat.MemPrivLocalWrite
		use := func(what string, slice []byte, privileges udat.MemPriv, hits, misses uint64, regions int) {
			t.Helper()
			before := cache.Stats()
			r, err := cache.Register(slice, privileges)
			want(t, err)
			whole, err := r.RMRTriplet(0, len(slice))
			want(t, err)
			if address := uint64(uintptr(unsafe.Pointer(&slice[0]))); whole.VirtualAddress != address {
				t.Errorf("%s: the address is 0x%x, want 0x%x", what, whole.VirtualAddress, address)
			}
			want(t, r.Release())
			if after := cache.Stats(); after.Hits-before.Hits != hits || after.Misses-before.Misses != misses || after.Regions != regions {
				t.Errorf("%s: %+v after %+v", what, after, before)
			}
		}
		use("new", memory[100:500], both, 0, 1, 1)
		use("the same", memory[100:500], both, 1, 0, 1)
		use("less", memory[101:499], read, 1, 0, 1)
		use("more privileges", memory[101:102], udat.MemPrivAll, 0, 1, 2)
		use("beyond the end", memory[400:501], both, 0, 1, 3)
		use("all of it", memory, both, 0, 1, 2)
		use("a part", memory[999:], both, 1, 0, 2)
		if n, err := cache.Flush(); n != 2 || err != nil {
			t.Errorf("flushing freed %d regions, %v", n, err)
		}
		use("after flushing", memory[100:500], both, 0, 1, 1)
		want(t, cache.Forget(memory[499:500]))
		use("after forgetting", memory[100:500], both, 0, 1, 1)
		want(t, cache.Forget(memory[500:]))
		use("after forgetting others", memory[100:500], both, 1, 0, 1)

		// What is in use stays, and goes when it is released.
		r, err := cache.Register(memory, both)
		want(t, err)
		want(t, cache.Forget(memory[:1]), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		want(t, cache.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		want(t, pz.Free(), udat.ErrInvalidState, udat.InvalidStatePZInUse)
		want(t, second(r.Segment(0, 1000)))
		want(t, r.Release())
		if s := cache.Stats(); s.Regions != 0 {
			t.Errorf("forgotten memory stays registered: %+v", s)
		}
		want(t, r.Release(), udat.ErrClosed)
		want(t, second(r.Segment(0, 1)), udat.ErrClosed)
		want(t, second(r.RMRTriplet(0, 1)), udat.ErrClosed)
		want(t, cache.Free())
		want(t, cache.Free(), udat.ErrClosed)
		want(t, second(cache.Register(memory, both)), udat.ErrClosed)
		want(t, cache.Forget(memory), udat.ErrClosed)
		want(t, pz.Free())
	})
}

func TestRegistrationCacheLimits(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{Bytes: 1000, Regions: 3})
		want(t, err)
		memory := make([]byte, 5000)
		var held []*mem.Registration
		hold := func(from, to int) error {
			r, err := cache.Register(memory[from:to], udat.MemPrivLocalRead)
			if err == nil {
				held = append(held, r)
			}
			return err
		}
		want(t, hold(0, 400))
		want(t, hold(400, 800))
		err = hold(800, 1001)
		want(t, err, udat.ErrInsufficientResources, udat.ResourceMemoryRegion)
		text := "201 bytes do not fit beside the 800 bytes in 2 regions that are in use: release registrations, or raise the limits of 1000 bytes and 3 regions"
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say what to do: %v", err)
		}
		want(t, hold(800, 900))
		want(t, hold(900, 901), udat.ErrInsufficientResources)
		want(t, hold(850, 860)) // is there
		for _, r := range held {
			want(t, r.Release())
		}
		held = nil
		want(t, hold(2000, 3000)) // makes room
		if s := cache.Stats(); s.Regions != 1 || s.Evictions != 3 || s.Refusals != 2 {
			t.Errorf("the counters are %+v", s)
		}
		want(t, held[0].Release())
		want(t, hold(0, 1001), udat.ErrInsufficientResources)
		want(t, cache.Free())

		// None stays that nobody uses.
		cache, err = mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{IdleRegions: -1})
		want(t, err)
		held = nil
		want(t, hold(0, 5000))
		want(t, held[0].Release())
		if s := cache.Stats(); s.Regions != 0 {
			t.Errorf("the counters are %+v", s)
		}
		want(t, cache.Free())
	})
}

func TestRegistrationCacheArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		for _, limits := range []mem.RegistrationCacheLimits{{Bytes: -1}, {Regions: -1}} {
			want(t, second(mem.CreateRegistrationCache(pz, limits)), udat.ErrInvalidParameter)
		}
		memory := make([]byte, 10)
		for _, c := range []*mem.RegistrationCache{nil, {}} {
			want(t, second(c.Register(memory, udat.MemPrivAll)), udat.ErrInvalidHandle)
			want(t, c.Forget(memory), udat.ErrInvalidHandle)
			want(t, second(c.Flush()), udat.ErrInvalidHandle)
			want(t, c.Free(), udat.ErrInvalidHandle)
			if c.Stats() != (mem.RegistrationCacheStats{}) {
				t.Error("a cache that is none has counters")
			}
		}
		for _, r := range []*mem.Registration{nil, {}} {
			want(t, second(r.Segment(0, 0)), udat.ErrInvalidHandle)
			want(t, second(r.RMRTriplet(0, 0)), udat.ErrInvalidHandle)
			want(t, r.Release(), udat.ErrInvalidHandle)
		}
		cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{})
		want(t, err)
		want(t, second(cache.Register(nil, udat.MemPrivAll)), udat.ErrInvalidParameter, udat.InvalidArg4)
		want(t, second(cache.Register(memory, 0)), udat.ErrInvalidParameter, udat.InvalidArg6)
		for _, privileges := range []udat.MemPriv{udat.MemPrivRemoteWrite, udat.MemPrivIBRemoteAtomic} {
			want(t, second(cache.Register(memory, privileges)), udat.ErrInvalidParameter, udat.InvalidArg6)
		}
		want(t, cache.Forget(nil), udat.ErrInvalidParameter, udat.InvalidArg4)
		readOnly, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		want(t, err)
		want(t, second(cache.Register(readOnly, udat.MemPrivAll)), device.ProblemReadOnlyMemory)
		if s := cache.Stats(); s.Regions != 0 || s.Bytes != 0 {
			t.Errorf("the counters are %+v", s)
		}
		r, err := cache.Register(memory, udat.MemPrivAll)
		want(t, err)
		for _, piece := range [][2]int{{-1, 1}, {0, -1}, {0, 11}, {10, 1}, {11, 0}} {
			want(t, second(r.Segment(piece[0], piece[1])), udat.ErrInvalidParameter)
			want(t, second(r.RMRTriplet(piece[0], piece[1])), udat.ErrInvalidParameter)
		}
		// An adapter takes along what is registered on it.
		want(t, ia.Close(udat.CloseAbrupt))
		want(t, second(r.Segment(0, 1)), udat.ErrClosed)
		want(t, second(cache.Register(memory, udat.MemPrivAll)), udat.ErrClosed)
		want(t, r.Release())
		want(t, second(cache.Register(memory, udat.MemPrivAll)), udat.ErrClosed)
		want(t, cache.Free())
		want(t, syscall.Munmap(readOnly))
	})
}

func BenchmarkRegistrationCache(b *testing.B) {
	for _, name := range udattest.Names(b) {
		ia := udattest.Open(b, name)
		pz, err := udat.CreatePZ(ia)
		if err != nil {
			b.Fatal(err)
		}
		memory := make([]byte, 1<<20)
		b.Run(name+"/in=cache", func(b *testing.B) {
			cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := cache.Register(memory, udat.MemPrivAll)
				if err != nil {
					b.Fatal(err)
				}
				r.Release()
			}
			if err := cache.Free(); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(name+"/in=RegisterMemory", func(b *testing.B) {
			for b.Loop() {
				lmr, err := udat.RegisterMemory(pz, memory, udat.MemPrivAll)
				if err := errors.Join(err, lmr.Free()); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := pz.Free(); err != nil {
			b.Fatal(err)
		}
	}
}
