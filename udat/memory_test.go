//go:build linux

package udat_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/pages"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// Memory that the program has mapped itself can be registered too, within what
// the mapping allows.
func TestMappedMemory(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		text := bytes.Repeat([]byte("read only "), 500)
		file := t.TempDir() + "/text"
		want(t, os.WriteFile(file, text, 0o600))
		f := must(os.Open(file))
		defer f.Close()
		memory := must(syscall.Mmap(int(f.Fd()), 0, len(text), syscall.PROT_READ, syscall.MAP_PRIVATE))
		t.Cleanup(func() { syscall.Munmap(memory) })
		_, err := udat.RegisterMemory(passive.PZ, memory, udat.MemPrivAll)
		want(t, err, udat.ErrInsufficientResources, device.ProblemReadOnlyMemory)
		if errors.Is(err, udat.ResourceMemoryRegion) {
			t.Errorf("there is room for the region: %v", err)
		}
		if err == nil || !strings.Contains(err.Error(), "written") {
			t.Errorf("the error does not explain itself: %v", err)
		}
		lmr := untilEnd(t, must(udat.RegisterMemory(passive.PZ, memory, udat.MemPrivLocalRead|udat.MemPrivRemoteRead)))
		remote := must(lmr.RMRTriplet(0, len(text)))
		want(t, active.PostRDMARead(one(active.Segment(t, 0, len(text))), 1, remote, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		if !bytes.Equal(active.Memory.Bytes()[:len(text)], text) {
			t.Error("the peer read something else")
		}
	})
}

const hugePage = 2 << 20

func TestMemoryQuery(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz := untilEnd(t, must(udat.CreatePZ(ia)))
		if zone, err := pz.Query(); err != nil || zone.IA != ia {
			t.Errorf("the zone has the parameters %+v, %v", zone, err)
		}
		slice := make([]byte, 1000, 5000)
		const readOnly = udat.MemPrivLocalRead | udat.MemPrivRemoteRead
		registered := untilEnd(t, must(udat.RegisterMemory(pz, slice, readOnly)))
		allocated := untilEnd(t, must(udat.AllocMemory(pz, 5000, udat.MemPrivAll)))
		for _, c := range []struct {
			lmr        *udat.LMR
			memory     []byte
			privileges udat.MemPriv
		}{{registered, slice, readOnly}, {allocated, allocated.Bytes(), udat.MemPrivAll}} {
			param := must(c.lmr.Query())
			remote := must(c.lmr.RMRTriplet(0, 1))
			if param.LMRContext == 0 {
				t.Error("the region has no key")
			}
			expected := udat.LMRParam{IA: ia, PZ: pz, Address: uint64(uintptr(unsafe.Pointer(&c.memory[0]))), Length: len(c.memory),
				Privileges: c.privileges, LMRContext: param.LMRContext, RMRContext: remote.RMRContext}
			if b := c.lmr.Bytes(); param != expected || &b[0] != &c.memory[0] || len(b) != len(c.memory) || cap(b) != len(b) {
				t.Errorf("the region has the parameters %+v, want %+v, and gives %d bytes with the capacity %d", param, expected, len(b), cap(b))
			}
		}
	})
}

func TestHugeMemory(t *testing.T) {
	const file = "/proc/sys/vm/nr_hugepages"
	before, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		udattest.ForEachIA(t, refuseHugePages)
		return
	}
	want(t, err)
	const pages = 3
	want(t, os.WriteFile(file, fmt.Appendf(nil, "%d", pages+hugePages(t, "nr")), 0))
	defer func() { want(t, os.WriteFile(file, before, 0)) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const size = pages*hugePage - 1000
		free := hugePages(t, "free")
		lmr := must(udat.AllocHugeMemory(passive.PZ, size, hugePage, udat.MemPrivAll))
		// A piece over the border of two pages.
		const offset, length = hugePage - 5000, 20000
		remote := must(lmr.RMRTriplet(offset, length))
		fill(active.Memory.Bytes()[:length], 5)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, length)), 1, remote, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		if len(lmr.Bytes()) != size || !bytes.Equal(lmr.Bytes()[offset:offset+length], active.Memory.Bytes()[:length]) {
			t.Error("the write arrived changed")
		}
		if n := hugePages(t, "free"); n != free-pages {
			t.Errorf("%d pages are taken, want %d", free-n, pages)
		}
		want(t, lmr.Free())
		if n := hugePages(t, "free"); n != free {
			t.Errorf("freeing %d huge pages gave %d back", pages, n-free+pages)
		}
		refuseHugePages(t, ia)
	})
}

// refuseHugePages asks for more than there are, and for sizes that there are not.
func refuseHugePages(t *testing.T, ia *udat.IA) {
	pz := untilEnd(t, must(udat.CreatePZ(ia)))
	for _, c := range []struct {
		size, page int
		is         error
		text       string
	}{
		{100, 4096, udat.InvalidArg3, "2097152"},
		{100, -1, udat.InvalidArg3, "2097152"},
		{100, 3 << 20, udat.InvalidArg3, "2097152"},
		{100, 1 << 62, udat.InvalidArg3, "2097152"},
		{0, hugePage, udat.InvalidArg4, "positive"},
		{math.MaxInt, hugePage, syscall.ENOMEM, "huge pages of 2097152 bytes are needed, and not as many are free: reserve them in /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"},
	} {
		if _, err := os.Stat(hugePageFolder); err != nil && c.size == 100 {
			c.is, c.text = udat.InvalidArg3, "the kernel has no huge pages"
		}
		_, err := udat.AllocHugeMemory(pz, c.size, c.page, udat.MemPrivAll)
		want(t, err, c.is)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("the error does not say %q: %v", c.text, err)
		}
	}
}

const hugePageFolder = "/sys/kernel/mm/hugepages/hugepages-2048kB"

// hugePages returns how many there are, "nr", or how many are "free".
func hugePages(t *testing.T, what string) (n int) {
	t.Helper()
	must(fmt.Sscan(string(must(os.ReadFile(hugePageFolder+"/"+what+"_hugepages"))), &n))
	return n
}

// Slices whose only reference is their registration live, and stay where they
// are, while the garbage collector runs all the time.
func TestGarbageCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var kept [64][]byte
	stop := beside(func() error {
		kept[rand.IntN(len(kept))] = bytes.Repeat([]byte{0xee}, 1+rand.IntN(20000))
		runtime.Gosched() // the messages need the processor, too
		return nil
	})
	defer func() { <-stop() }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		before := udat.Pins()
		active, passive := udattest.Pair(t, ia, nil)
		regions := make([]*udat.LMR, 40)
		expected := make([]byte, 10000)
		for i := range 3 * len(regions) {
			at := i % len(regions)
			if lmr := regions[at]; lmr != nil {
				remote := must(lmr.RMRTriplet(0, len(lmr.Bytes())))
				want(t, active.PostRDMARead(one(active.Segment(t, 0, len(lmr.Bytes()))), 1, remote, 0))
				wantCompletion(t, active.Request, 1, udat.DTOSuccess)
				fillRandom(expected, uint64(at))
				if !bytes.Equal(active.Memory.Bytes()[:len(lmr.Bytes())], expected[:len(lmr.Bytes())]) {
					t.Fatal("a registered slice has changed")
				}
				want(t, lmr.Free())
			}
			memory := make([]byte, 1+rand.IntN(len(expected)))
			fillRandom(expected, uint64(at))
			copy(memory, expected)
			regions[at] = must(udat.RegisterMemory(passive.PZ, memory, udat.MemPrivAll))
			if pins := udat.Pins() - before; pins != min(i+1, len(regions)) {
				t.Fatalf("there are %d pins", pins)
			}
		}
		for _, lmr := range regions {
			want(t, lmr.Free())
		}
		if pins := udat.Pins() - before; pins != 0 {
			t.Errorf("%d pins are left", pins)
		}
	})
}

func fillRandom(b []byte, seed uint64) {
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
}

// One may look at memory outside the Go heap although the region is freed meanwhile: the pages stay
// until nobody can reach the region, and no longer.
func TestPages(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz := untilEnd(t, must(udat.CreatePZ(ia)))
		unmapped, restore := udat.CountUnmapped()
		defer restore()
		const size = 1 << 16
		unseen, lmr := must(udat.AllocMemory(pz, size-5, udat.MemPrivAll)), must(udat.AllocMemory(pz, size-5, udat.MemPrivAll))
		want(t, unseen.Free())
		if unmapped() != 1 || pages.Of(unseen) != nil {
			t.Errorf("%d regions that nobody looks at went back to the system, %d bytes are left", unmapped(), len(pages.Of(unseen)))
		}

		mapped := pages.Of(lmr)
		if len(mapped) != size || &mapped[0] != &lmr.Bytes()[0] {
			t.Fatalf("there are %d bytes of pages at %p, and memory at %p", len(mapped), &mapped[0], &lmr.Bytes()[0])
		}
		mapped[size-1] = 1
		want(t, lmr.Free())
		runtime.GC()
		if unmapped() != 1 || mapped[size-1] != 1 {
			t.Error("memory that can be reached went back to the system")
		}
		runtime.KeepAlive(lmr)
		lmr = nil
		await(t, "the end of the memory", func() bool { runtime.GC(); return unmapped() == 2 })

		registered := must(udat.RegisterMemory(pz, make([]byte, 64), udat.MemPrivAll))
		if pages.Of(registered) != nil || pages.Of((*udat.LMR)(nil)) != nil {
			t.Error("memory of Go has pages of its own")
		}
		want(t, registered.Free())
	})
}

// The memory of freed regions goes back at once, but for a little where there are many endpoints,
// which a free does not look at each time. All of it has gone back when the adapter is closed.
func TestFreeMemoryBesideManyEndpoints(t *testing.T) {
	unmapped, restore := udat.CountUnmapped()
	defer restore()
	for _, name := range udattest.Names(t) {
		before := unmapped()
		ia := must(udat.Open(name))
		pz := must(udat.CreatePZ(ia))
		free := func(size int) { want(t, must(udat.AllocMemory(pz, size, udat.MemPrivAll)).Free()) }
		wantUnmapped := func(n int) {
			t.Helper()
			if got := unmapped() - before; got != n {
				t.Errorf("%s: %d regions went back to the system, want %d", name, got, n)
			}
		}
		free(1)
		wantUnmapped(1)
		for range 40 {
			must(udat.CreateEP(ia, pz, nil, nil, nil, nil))
		}
		free(1)
		free(1)
		wantUnmapped(1)
		free(1)
		wantUnmapped(4)
		free(1)
		free(1 << 20)
		wantUnmapped(6)
		free(1)
		want(t, ia.Close(udat.CloseAbrupt))
		wantUnmapped(7)
	}
}

// What refuses memory says which argument is wrong, and what to do instead.
func TestMemoryArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		pz := active.PZ
		memory := make([]byte, 101)
		register := func(memory []byte, privileges udat.MemPriv) error {
			return second(udat.RegisterMemory(pz, memory, privileges))
		}
		lmr := untilEnd(t, must(udat.RegisterMemory(pz, memory[1:], udat.MemPrivRemoteRead)))
		segment := must(lmr.Segment(0, 100))
		remote := must(passive.Memory.RMRTriplet(0, 10))
		for _, c := range []struct {
			err    error
			is     error
			remedy string
		}{
			{register(nil, udat.MemPrivAll), udat.InvalidArg4, "it must have at least one byte"},
			{register(memory, 0), udat.InvalidArg6, "they must be some of MemPrivLocalRead"},
			{register(memory, 0x1000), udat.InvalidArg6, "they must be some of MemPrivLocalRead"},
			{register(memory, udat.MemPrivRemoteWrite), udat.InvalidArg6, "add MemPrivLocalWrite"},
			{register(memory, udat.MemPrivLocalRead|udat.MemPrivIBRemoteAtomic), udat.InvalidArg6, "add MemPrivLocalWrite"},
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

// Memory can be freed that operations use. They fail, and their connection ends.
func TestFreeLMRInUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		into := must(udat.AllocMemory(passive.PZ, 4096, udat.MemPrivAll))
		segment := must(into.Segment(0, 8))
		want(t, passive.PostRecv(one(segment), 1, 0))
		want(t, into.Free())
		want(t, passive.PostRecv(one(segment), 2, 0), udat.ErrClosed)
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 3, 0))
		if event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion); event.Cookie != 1 || event.Err() == nil || event.Status == udat.DTOErrFlushed {
			t.Errorf("the receive completes as %+v", event)
		}
		for _, e := range []*udattest.Endpoint{active, passive} {
			if n := udattest.Wait(t, e.Connect).Number; n != udat.EventConnectionDisconnected && n != udat.EventConnectionBroken {
				t.Errorf("the connection ends with %v", n)
			}
		}
	})
}

func TestSyncRDMA(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		other := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		segments := []udat.Segment{e.Segment(t, 0, 8), e.Segment(t, 100, 0)}
		for name, sync := range map[string]func(*udat.IA, []udat.Segment) error{
			"read": (*udat.IA).SyncRDMARead, "write": (*udat.IA).SyncRDMAWrite,
		} {
			t.Run(name, func(t *testing.T) {
				want(t, sync(ia, segments))
				want(t, sync(ia, nil))
				want(t, sync(nil, nil), udat.ErrInvalidHandle, udat.InvalidHandleIA)
				want(t, sync(other.IA, segments), udat.ErrInvalidHandle, udat.InvalidHandleLMR)
			})
		}
		want(t, e.Memory.Free())
		want(t, ia.SyncRDMARead(segments), udat.ErrClosed)
	})
}

// The memory of freed regions goes back while an endpoint posts all the time, and needs no garbage
// collector for that.
func TestFreeGivesBackWhilePosting(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unmapped, restore := udat.CountUnmapped()
		defer restore()
		if os.Getenv("UDAT_ASSERT") == "" { // with assertions, posts allocate, and would fill the memory
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
		}
		active, passive := udattest.Pair(t, ia, nil)
		remote := must(passive.Memory.RMRTriplet(0, 8))
		batch := slices.Repeat([]udat.Post{{Operation: udat.DTORDMAWrite, Segments: one(active.Segment(t, 0, 8)), Remote: remote}}, 16)
		events := make([]udat.Event, len(batch))
		stop := beside(func() error {
			if _, err := active.PostBatch(batch); err != nil && !errors.Is(err, udat.ErrInsufficientResources) {
				return err
			}
			_, err := active.Request.Poll(events)
			return err
		})
		const regions = 200
		for range regions {
			want(t, must(udat.AllocMemory(active.PZ, 1<<20, udat.MemPrivLocalRead)).Free())
		}
		if n := unmapped(); n != regions {
			t.Errorf("the memory of %d regions has gone back, want %d", n, regions)
		}
		want(t, receive(t, stop()))
	})
}

// Memory that is freed while a post is in the library, which copies short messages, stays where it
// is until that has returned.
func TestFreeMemoryWhilePosting(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unmapped, restore := udat.CountUnmapped()
		defer restore()
		active, _ := udattest.Pair(t, ia, nil)
		region := must(udat.AllocMemory(active.PZ, 1<<20, udat.MemPrivLocalRead)) // more than is kept
		segment := one(must(region.Segment(0, 8)))
		returned := udat.HoldChange(active.EP) // this one posts nothing, and may take long
		defer returned()
		returns(t, must(udat.AllocMemory(active.PZ, 1<<20, udat.MemPrivLocalRead)).Free)
		returned()
		returned = udat.HoldPost(active.EP)
		freed := make(chan error, 1)
		go func() { freed <- region.Free() }()
		select {
		case err := <-freed:
			t.Error("Free returns beside the post")
			freed <- err
		case <-time.After(50 * time.Millisecond): // a Free that does not wait takes some µs
		}
		if n := unmapped(); n != 1 {
			t.Error("the memory has gone beside the post")
		}
		returned()
		want(t, receive(t, freed))
		if n := unmapped(); n != 2 {
			t.Errorf("the memory of %d regions has gone back after the post, want 2", n)
		}
		want(t, active.PostSend(segment, 1, 0), udat.ErrClosed)
	})
}
