//go:build linux

package udat_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMemoryQuery(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		zone, err := pz.Query()
		want(t, err)
		if zone.IA != ia {
			t.Errorf("the zone has the parameters %+v", zone)
		}
		slice := make([]byte, 1000, 5000)
		const readOnly = udat.MemPrivLocalRead | udat.MemPrivRemoteRead
		registered, err := udat.RegisterMemory(pz, slice, readOnly)
		want(t, err)
		defer registered.Free()
		allocated, err := udat.AllocMemory(pz, 5000, udat.MemPrivAll)
		want(t, err)
		defer allocated.Free()
		for _, c := range []struct {
			lmr        *udat.LMR
			memory     []byte
			privileges udat.MemPriv
		}{{registered, slice, readOnly}, {allocated, allocated.Bytes(), udat.MemPrivAll}} {
			param, err := c.lmr.Query()
			want(t, err)
			remote, err := c.lmr.RMRTriplet(0, 1)
			want(t, err)
			address := uint64(uintptr(unsafe.Pointer(&c.memory[0])))
			if param.IA != ia || param.PZ != pz || param.Address != address || param.Length != len(c.memory) ||
				param.Privileges != c.privileges || param.RMRContext != remote.RMRContext || param.LMRContext == 0 {
				t.Errorf("the region of %d bytes at 0x%x has the parameters %+v", len(c.memory), address, param)
			}
			if b := c.lmr.Bytes(); &b[0] != &c.memory[0] || len(b) != len(c.memory) || cap(b) != len(b) {
				t.Errorf("the region gives %d bytes with the capacity %d", len(b), cap(b))
			}
		}
		want(t, registered.Free())
		want(t, second(registered.Query()), udat.ErrClosed, udat.InvalidHandleLMR)
		want(t, allocated.Free())
		want(t, pz.Free())
		want(t, second(pz.Query()), udat.ErrClosed, udat.InvalidHandlePZ)
		for _, lmr := range []*udat.LMR{nil, {}} {
			want(t, second(lmr.Query()), udat.ErrInvalidHandle)
		}
	})
}

// Memory that the program has mapped itself can be registered too, within what
// the mapping allows.
func TestMappedMemory(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		text := bytes.Repeat([]byte("read only "), 500)
		file := t.TempDir() + "/text"
		want(t, os.WriteFile(file, text, 0o600))
		f, err := os.Open(file)
		want(t, err)
		defer f.Close()
		memory, err := syscall.Mmap(int(f.Fd()), 0, len(text), syscall.PROT_READ, syscall.MAP_PRIVATE)
		want(t, err)
		defer syscall.Munmap(memory)
		_, err = udat.RegisterMemory(passive.PZ, memory, udat.MemPrivAll)
		want(t, err, udat.ErrInsufficientResources)
		want(t, err, device.ProblemReadOnlyMemory)
		if err == nil || !strings.Contains(err.Error(), "written") {
			t.Errorf("the error does not explain itself: %v", err)
		}
		lmr, err := udat.RegisterMemory(passive.PZ, memory, udat.MemPrivLocalRead|udat.MemPrivRemoteRead)
		want(t, err)
		defer lmr.Free()
		remote, err := lmr.RMRTriplet(0, len(text))
		want(t, err)
		want(t, active.PostRDMARead(one(active.Segment(t, 0, len(text))), 1, remote, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		if !bytes.Equal(active.Memory.Bytes()[:len(text)], text) {
			t.Error("the peer read something else")
		}
	})
}

const hugePage = 2 << 20

func TestHugeMemory(t *testing.T) {
	const pages = 3
	udattest.Names(t)
	if refusedWithoutHugePages(t) {
		return
	}
	reserveHugePages(t, pages)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		want(t, second(udat.AllocHugeMemory(nil, 100, hugePage, udat.MemPrivAll)), udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		active, passive := udattest.Pair(t, ia, nil)
		const size = pages*hugePage - 1000
		lmr, err := udat.AllocHugeMemory(passive.PZ, size, hugePage, udat.MemPrivAll)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(lmr.Bytes()); n != size {
			t.Errorf("asked for %d bytes, got %d", size, n)
		}
		if p := pageSize(t, &lmr.Bytes()[0]); p != hugePage {
			t.Errorf("the memory has pages of %d bytes", p)
		}
		// A piece over the border of two pages.
		const offset, length = hugePage - 5000, 20000
		remote, err := lmr.RMRTriplet(offset, length)
		want(t, err)
		fill(active.Memory.Bytes()[:length], 5)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, length)), 1, remote, 0))
		wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		if !bytes.Equal(lmr.Bytes()[offset:offset+length], active.Memory.Bytes()[:length]) {
			t.Error("the write arrived changed")
		}
		segment, err := lmr.Segment(size-length, length)
		want(t, err)
		want(t, active.PostRecv(one(active.Segment(t, 20000, length)), 2, 0))
		fill(lmr.Bytes()[size-length:], 6)
		want(t, passive.PostSend(one(segment), 3, 0))
		wantCompletion(t, active.Recv, 2, udat.DTOSuccess)
		if !bytes.Equal(lmr.Bytes()[size-length:], active.Memory.Bytes()[20000:20000+length]) {
			t.Error("the message arrived changed")
		}
		wantCompletion(t, passive.Request, 3, udat.DTOSuccess)
		free := hugePagesFree(t)
		want(t, lmr.Free())
		if n := hugePagesFree(t); n != free+pages {
			t.Errorf("freeing %d huge pages gave %d back", pages, n-free)
		}
	})
}

func TestHugeMemoryRefused(t *testing.T) {
	if refusedWithoutHugePages(t) {
		return
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		free := hugePagesFree(t)
		_, err = udat.AllocHugeMemory(pz, (free+1)*hugePage, hugePage, udat.MemPrivAll)
		want(t, err, udat.ErrInsufficientResources, udat.ResourceMemory, syscall.ENOMEM)
		text := fmt.Sprintf("%d huge pages of 2097152 bytes are needed, and not as many are free: reserve them in /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", free+1)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not explain itself: %v", err)
		}
		for _, size := range []int{0, -1, -hugePage, 1, 4096, hugePage + 1, 3 << 20, 4 << 20, 1 << 50, 1 << 62} {
			_, err := udat.AllocHugeMemory(pz, 100, size, udat.MemPrivAll)
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
			if err == nil || !strings.Contains(err.Error(), "2097152") {
				t.Errorf("the error does not say what is possible: %v", err)
			}
		}
		for _, size := range []int{0, -1} {
			_, err = udat.AllocHugeMemory(pz, size, hugePage, udat.MemPrivAll)
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg4)
		}
		const most = int(^uint(0) >> 1)
		want(t, second(udat.AllocHugeMemory(pz, most, hugePage, udat.MemPrivAll)), udat.ErrInsufficientResources)
		want(t, second(udat.AllocMemory(pz, most, udat.MemPrivAll)), udat.ErrInsufficientResources, udat.ResourceMemory)
	})
}

// refusedWithoutHugePages checks, where the kernel has no huge pages at all, that the
// error says so.
func refusedWithoutHugePages(t *testing.T) bool {
	t.Helper()
	if sizes, err := filepath.Glob("/sys/kernel/mm/hugepages/*"); err != nil || len(sizes) > 0 {
		return false
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		_, err = udat.AllocHugeMemory(pz, 100, hugePage, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
		if err == nil || !strings.Contains(err.Error(), "the kernel has no huge pages") {
			t.Errorf("the error does not explain itself: %v", err)
		}
	})
	return true
}

// reserveHugePages reserves huge pages for the test, as root can do.
func reserveHugePages(t *testing.T, pages int) {
	t.Helper()
	const file = "/proc/sys/vm/nr_hugepages"
	if hugePagesFree(t) >= pages {
		return
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(before)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(n+pages)), 0); err != nil {
		t.Fatalf("%d huge pages must be reserved for this test: %v", pages, err)
	}
	t.Cleanup(func() { want(t, os.WriteFile(file, before, 0)) })
	if free := hugePagesFree(t); free < pages {
		t.Fatalf("the kernel has no room for %d huge pages, only for %d", pages, free)
	}
}

func hugePagesFree(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pageSize returns the size of the pages of the mapping that begins at p.
func pageSize(t *testing.T, p *byte) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, mapping, found := strings.Cut(string(maps), fmt.Sprintf("%x-", uintptr(unsafe.Pointer(p))))
	_, mapping, hasSize := strings.Cut(mapping, "KernelPageSize:")
	var kilobytes int
	if _, err := fmt.Sscan(mapping, &kilobytes); err != nil || !found || !hasSize {
		t.Fatalf("there is no mapping at %p: %v", p, err)
	}
	return kilobytes << 10
}

// Slices whose only reference is their registration live, and stay where they
// are, while the garbage collector runs all the time.
func TestGarbageCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	stop := make(chan struct{})
	var allocating sync.WaitGroup
	defer allocating.Wait()
	defer close(stop)
	for range 2 {
		allocating.Add(1)
		go func() {
			defer allocating.Done()
			garbage := bytes.Repeat([]byte{0xee}, 20000)
			var kept [64][]byte
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					kept[i%len(kept)] = bytes.Clone(garbage[:1+rand.IntN(len(garbage))])
					runtime.Gosched() // the messages need the processor, too
				}
			}
		}()
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		before := udat.Pins()
		active, passive := udattest.Pair(t, ia, nil)
		var regions []slice
		for i := range 120 {
			if len(regions) < 40 && rand.IntN(3) > 0 {
				regions = append(regions, newSlice(t, passive.PZ, uint64(i)))
			}
			if len(regions) == 0 {
				continue
			}
			k := rand.IntN(len(regions))
			regions[k].exchange(t, active, passive)
			if rand.IntN(4) == 0 {
				want(t, regions[k].lmr.Free())
				regions[k] = regions[len(regions)-1]
				regions = regions[:len(regions)-1]
			}
		}
		for _, r := range regions {
			r.exchange(t, active, passive)
			want(t, r.lmr.Free())
		}
		if diff := cmp.Diff(before, udat.Pins()); diff != "" {
			t.Errorf("pins before (-) and after (+): %s", diff)
		}
	})
}

// slice is a registered slice to which the test has no reference.
type slice struct {
	lmr    *udat.LMR
	length int
	seed   uint64
}

func newSlice(t *testing.T, pz *udat.PZ, seed uint64) slice {
	t.Helper()
	memory := make([]byte, 1+rand.IntN(10000))
	fillRandom(memory, seed)
	lmr, err := udat.RegisterMemory(pz, memory, udat.MemPrivAll)
	if err != nil {
		t.Fatal(err)
	}
	return slice{lmr, len(memory), seed}
}

func fillRandom(b []byte, seed uint64) {
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
}

// exchange reads what the slice should have, writes something else, and
// receives the first into it again.
func (s *slice) exchange(t *testing.T, active, passive *udattest.Endpoint) {
	t.Helper()
	remote, err := s.lmr.RMRTriplet(0, s.length)
	want(t, err)
	local := active.Segment(t, 0, s.length)
	memory := active.Memory.Bytes()[:s.length]
	want(t, active.PostRDMARead(one(local), 1, remote, 0))
	wantCompletion(t, active.Request, 1, udat.DTOSuccess)
	original := make([]byte, s.length)
	fillRandom(original, s.seed)
	if !bytes.Equal(memory, original) {
		t.Fatal("a registered slice has changed")
	}
	clear(memory)
	want(t, active.PostRDMAWrite(one(local), 2, remote, 0))
	wantCompletion(t, active.Request, 2, udat.DTOSuccess)
	copy(memory, original)
	segment, err := s.lmr.Segment(0, s.length)
	want(t, err)
	want(t, passive.PostRecv(one(segment), 3, 0))
	want(t, active.PostSend(one(local), 4, 0))
	wantCompletion(t, passive.Recv, 3, udat.DTOSuccess)
	wantCompletion(t, active.Request, 4, udat.DTOSuccess)
	if !bytes.Equal(s.lmr.Bytes(), original) {
		t.Fatal("a message arrived changed in a registered slice")
	}
}

// One may look at memory outside the Go heap although the region is freed meanwhile: the pages stay until nobody can
// reach the region, and no longer.
func TestPages(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		unmapped, restore := udat.CountUnmapped()
		defer restore()
		const size = 1 << 16
		alloc := func() *udat.LMR {
			lmr, err := udat.AllocMemory(pz, size-5, udat.MemPrivAll)
			want(t, err)
			return lmr
		}
		unseen := alloc()
		want(t, unseen.Free())
		if unmapped() != 1 || unseen.Pages() != nil {
			t.Errorf("%d regions of memory that nobody looks at went back to the system, and the first has %d bytes of pages", unmapped(), len(unseen.Pages()))
		}

		lmr := alloc()
		pages := lmr.Pages()
		if len(pages) != size || &pages[0] != &lmr.Bytes()[0] {
			t.Fatalf("there are %d bytes of pages at %p, and memory at %p", len(pages), &pages[0], &lmr.Bytes()[0])
		}
		pages[size-1] = 1
		want(t, lmr.Free())
		runtime.GC()
		if unmapped() != 1 || pages[size-1] != 1 {
			t.Error("memory that can be reached went back to the system")
		}
		runtime.KeepAlive(lmr)
		lmr = nil
		for begin := time.Now(); unmapped() == 1 && time.Since(begin) < udattest.Patience; {
			runtime.GC()
		}
		if unmapped() != 2 {
			t.Error("the memory did not go back to the system")
		}

		registered, err := udat.RegisterMemory(pz, make([]byte, 64), udat.MemPrivAll)
		want(t, err)
		if registered.Pages() != nil || (*udat.LMR)(nil).Pages() != nil {
			t.Error("memory of Go has pages of its own")
		}
		want(t, registered.Free())
	})
}
