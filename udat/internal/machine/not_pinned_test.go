//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/goudat/goudat/udat/internal/problem"
)

func TestMappingProblem(t *testing.T) {
	const maps = `10000-12000 r--p 00000000 08:01 131 /usr/bin/program
12000-14000 rw-p 00002000 08:01 131 /usr/bin/program
14000-15000 ---p 00000000 00:00 0
20000-30000 rw-p 00000000 00:00 0 [heap]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
`
	const read, write = "", "to write"
	for _, c := range []struct {
		address, size uint64
		writing       string
		want          error
		words         string
	}{
		{0x10000, 0x2000, read, nil, ""},
		{0x10000, 0x4000, read, nil, ""},
		{0x12000, 0x2000, write, nil, ""},
		{0x20001, 0xffff, write, nil, ""},
		{0x10010, 1, write, problem.ReadOnlyMemory, "from byte 0 on"},
		{0x11000, 0x2000, write, problem.ReadOnlyMemory, "0x11000"},
		{0x12000, 0x2001, read, problem.UnreadableMemory, "from byte 8192 on"},
		{0x15000, 1, read, problem.UnmappedMemory, "0x15000"},
		{0x20000, 0x10001, read, problem.UnmappedMemory, "byte 65536 "},
		{0x1000, 0x10000, read, problem.UnmappedMemory, "0x1000,"},
		{0xffffffffffff0000, 0x1000, read, problem.UnmappedMemory, "0xffffffffffff0000"},
	} {
		err := mappingProblem(maps, c.address, c.size, c.writing)
		switch {
		case c.want == nil && err != nil, c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%d bytes at 0x%x with the privileges %q: %v, want %v", c.size, c.address, c.writing, err, c.want)
		case err != nil && !strings.Contains(err.Error(), c.words):
			t.Errorf("%d bytes at 0x%x with the privileges %q: %q does not say %q", c.size, c.address, c.writing, err, c.words)
		}
	}
	for _, maps := range []string{"", "nonsense\n", "x-y rw-p\n"} {
		if err := mappingProblem(maps, 0x10000, 1, read); err != nil { // nothing is known
			t.Errorf("of %q: %v", maps, err)
		}
	}
}

// Memory of files whose end lies before that of the mapping, and of a shared mapping that the
// kernel does not pin.
func TestMemoryOfFiles(t *testing.T) {
	page := os.Getpagesize()
	name := t.TempDir() + "/memory of a file"
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	truncate := func(size int) {
		t.Helper()
		if err := file.Truncate(int64(size)); err != nil {
			t.Fatal(err)
		}
	}
	mapping := func(flags int) []byte {
		t.Helper()
		memory, err := syscall.Mmap(int(file.Fd()), 0, 10*page, syscall.PROT_READ|syscall.PROT_WRITE, flags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Munmap(memory) })
		return memory
	}
	truncate(10 * page)
	shared, private := mapping(syscall.MAP_SHARED), mapping(syscall.MAP_PRIVATE)
	truncate(2*page + 1)
	atEnd := fmt.Sprintf("from byte %d on", 3*page-100)
	for _, c := range []struct {
		name   string
		memory []byte
		want   error
		words  string
	}{
		{"the last page of the file", private[:3*page], nil, ""},
		{"whole pages of a shared mapping", shared[:2*page], problem.UnpinnableFile, name},
		{"shared", shared[100:], problem.FileEnd, atEnd},
		{"private", private[100:], problem.FileEnd, atEnd},
		{"the last byte", shared[3*page:][:1], problem.FileEnd, "from byte 0 on"},
		{"no file", make([]byte, page), nil, ""},
	} {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		err = fileProblem(string(maps), uint64(uintptr(unsafe.Pointer(&c.memory[0]))), uint64(len(c.memory)))
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %v and %q", c.name, err, c.want, c.words)
		}
	}
	// Such memory may be refused for want of room, too.
	address := uint64(uintptr(unsafe.Pointer(&shared[0])))
	for noRoom, want := range map[bool]problem.Problem{false: problem.UnpinnableFile, true: problem.NoRoom} {
		if err := WhyNotPinned(address, uint64(page), "", noRoom); !errors.Is(err, want) {
			t.Errorf("without room: %v: %v, want %v", noRoom, err, want)
		}
	}
}
